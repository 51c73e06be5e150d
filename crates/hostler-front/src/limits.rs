//! The limits on shared resources that clients and tenants may use: connections, requests, CPU time, memory.

pub(crate) mod aside;
pub(crate) mod budget;
pub(crate) mod clients;
pub(crate) mod kept;
pub(crate) mod listing;
mod long_match;
pub(crate) mod pieces;
pub(crate) mod unread;
pub(crate) mod watch;
