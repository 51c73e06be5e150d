//! How programs are spoken to; a file for each protocol.

pub mod cgi;
pub(crate) mod ring;
