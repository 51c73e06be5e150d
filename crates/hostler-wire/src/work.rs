//! Messages between front and worker, inside the byte streams of a channel of shared memory.
//!
//! Each message has a head of eight bytes (kind, three zero bytes, length of what follows, little endian); fields
//! are `u8`, `u16`, `u32`, `u64` (little endian) and byte strings with a `u32` length before them. An absent string
//! has the length `u32::MAX`. Workers in any language can read this.
//!
//! The worker is a tenant's: everything from it is decoded from a private copy, bounded, and malformed messages end
//! that worker.

mod codec;
mod directory;
mod reply;
mod request;
mod usual;

pub use codec::{Decoder, Encoder, Fields, Malformed};
pub use directory::{Directory, Phase, PhaseSet, directory_flag};
pub use reply::{Changes, FromWorker, HeadFlags, Outcome, ReplyHead, Severity};
pub use request::{FileFacts, Nested, RequestHead, Role, ToWorker, request_flag};
pub use usual::Usual;

/// Length of a message's head, in bytes.
pub const HEAD: usize = 8;
/// Longest message of a worker, in bytes, but for bodies, which may be cut anywhere. A longer one ends the worker.
pub const MAX_MESSAGE: usize = 2 << 20;

/// Writes a message's head.
pub fn put_head(out: &mut Vec<u8>, kind: u8, length: usize) {
    out.extend_from_slice(&[kind, 0, 0, 0]);
    out.extend_from_slice(&(length as u32).to_le_bytes());
}

/// Kind and length that a head announces.
///
/// # Errors
/// [`Malformed`] unless the three bytes after the kind are zero.
pub fn read_head(bytes: [u8; HEAD]) -> Result<(u8, usize), Malformed> {
    match bytes {
        [kind, 0, 0, 0, a, b, c, d] => Ok((kind, u32::from_le_bytes([a, b, c, d]) as usize)),
        _ => Err(Malformed),
    }
}
