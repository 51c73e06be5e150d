//! Modules, as Apache has them: what they do in a request's phases, as handlers, and to answers. A module imports
//! those that it stands on, and never the way that leads to it.

pub(crate) mod actions;
pub(crate) mod alias;
pub(crate) mod auth;
pub(crate) mod autoindex;
pub(crate) mod buffer;
pub(crate) mod cgi;
pub(crate) mod core;
pub(crate) mod deflate;
pub(crate) mod dir;
pub(crate) mod env;
pub(crate) mod expires;
pub(crate) mod ext_filter;
pub(crate) mod fcgid;
pub(crate) mod filter;
pub(crate) mod headers;
pub(crate) mod include;
pub(crate) mod negotiation;
pub(crate) mod perl;
pub(crate) mod php;
pub(crate) mod proxy;
pub(crate) mod proxy_fcgi;
pub(crate) mod ratelimit;
pub(crate) mod remoteip;
pub(crate) mod rewrite;
pub(crate) mod servlet;
pub(crate) mod socket;
pub(crate) mod speling;
pub(crate) mod ssl;
pub(crate) mod status;
pub(crate) mod substitute;
pub(crate) mod unique_id;
pub(crate) mod usertrack;
pub(crate) mod vhost_alias;
pub(crate) mod wsgi;
