//! What is asked of the sites' processes, and what is remembered of their answers.

pub(crate) mod connection;
pub(crate) mod files;
pub(crate) mod hub;
pub(crate) mod limits;
pub(crate) mod sites;
