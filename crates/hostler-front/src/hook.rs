//! A request's way through its phases, whoever serves it: mapping, handler, filters, errors, and the end.

pub(crate) mod access;
pub(crate) mod alone;
pub(crate) mod conditional;
pub(crate) mod error;
pub(crate) mod filter;
pub(crate) mod follow;
pub(crate) mod handler;
pub(crate) mod host;
pub(crate) mod input;
pub(crate) mod lead;
pub(crate) mod phases;
pub(crate) mod plan;
pub(crate) mod registry;
pub(crate) mod reply;
pub(crate) mod sections;
pub(crate) mod serve;
pub(crate) mod walk;
