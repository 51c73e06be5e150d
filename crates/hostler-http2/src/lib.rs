//! Checks a client's HTTP/2 input before the h2 library reads it: the errors that RFC 9113 requires and that library
//! reports as others.
//!
//! - Frames of a wrong size end the connection with FRAME_SIZE_ERROR (§4.2, §6), not PROTOCOL_ERROR.
//! - A header block that cannot be decoded ends it with COMPRESSION_ERROR (§4.3).
//! - A field that no message may have (a name in capitals, a control character) ends its stream alone (§8.1.1).
//!
//! Everything else is passed on as it is, also what is wrong in other ways: h2 reports that itself. No I/O.

mod checker;
mod frame;
mod hpack;
mod huffman;

pub use checker::Checker;
pub use frame::{Fault, go_away};
