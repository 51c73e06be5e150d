//! Modules, as Apache has them: what they do in a request's phases, as handlers, and to answers. A module imports
//! those that it stands on, and never the way that leads to it.

pub(crate) mod actions;
pub(crate) mod alias;
pub(crate) mod auth;
pub(crate) mod autoindex;
pub(crate) mod cgi;
pub(crate) mod core;
pub(crate) mod deflate;
pub(crate) mod dir;
pub(crate) mod env;
pub(crate) mod expires;
pub(crate) mod headers;
pub(crate) mod include;
pub(crate) mod perl;
pub(crate) mod php;
pub(crate) mod ratelimit;
pub(crate) mod rewrite;
pub(crate) mod ssl;
pub(crate) mod status;
pub(crate) mod substitute;
