//! The conformance suite: one table of cases, run against the packaged apache2 first and then
//! against Hostler with the same configuration file.
//!
//! `cases/<subject>.toml` holds a tree of files, a configuration and the cases; what it expects is
//! what Apache 2.4 answers, and a run with apache2 installed proves that. `differences.toml`
//! lists where Hostler answers otherwise on purpose. This crate links no server crate: it knows
//! both servers by their sockets and log files only.

mod asking;
mod backends;
pub mod check;
pub mod client;
pub mod differences;
pub mod digest;
pub mod run;
pub mod scripted;
pub mod server;
pub mod syntax;
pub mod table;
pub mod tree;
