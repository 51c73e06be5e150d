//! The gateway between a request and the program that answers it: one way of naming errors for all techniques,
//! and under [`backend`] a thin file for each protocol in which programs are spoken to.
//!
//! It knows nothing of HTTP connections and parses no configuration; it names no programming language.

pub mod backend;
mod error;
mod lines;
pub mod lookup;
pub mod pool;
mod register;
pub mod supervisor;
pub mod upstream;

use error::signal_name;
pub use error::{Error, Kind, Origin, Severity};
pub use lines::RestOfLines;
pub use register::register;

/// Bytes that a program may write to a log for one request. What comes after is read, so that it does not block, and
/// dropped: a program must not be able to fill the server's disk by one request.
pub const LOGGED: usize = 4 << 20;
