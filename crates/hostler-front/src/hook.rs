//! A request's way through its phases, whoever serves it: mapping, handler, filters, errors, and the end.

pub(crate) mod error;
pub(crate) mod filter;
pub(crate) mod handler;
pub(crate) mod map;
pub(crate) mod reply;
pub(crate) mod serve;
