//! Questions to the sites' processes, and a memory of their answers.

pub(crate) mod connection;
pub(crate) mod files;
pub(crate) mod hub;
pub(crate) mod limits;
pub(crate) mod sites;
