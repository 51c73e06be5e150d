//! The directives: one module of Apache's per file. Which of them there are, and how one is found by its name, is
//! [`crate::modules`]'; nothing here knows that list.

pub mod access_compat;
pub mod actions;
pub mod alias;
pub mod auth;
pub mod authz;
pub mod autoindex;
pub mod cgi;
pub mod core;
pub mod dir;
pub mod env;
pub mod expires;
pub mod fcgid;
pub mod filter;
pub mod headers;
pub mod include;
pub mod log_config;
pub mod mime;
pub mod negotiation;
pub mod perl;
pub mod php;
pub mod pool;
pub mod proxy;
pub mod proxy_fcgi;
pub mod reach;
pub(crate) mod reading;
pub mod remoteip;
pub mod rewrite;
pub mod servlet;
pub mod setenvif;
pub mod speling;
pub mod ssl;
pub mod substitute;
pub mod usertrack;
pub mod vhost_alias;
