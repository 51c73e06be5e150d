//! Messages between front and worker, inside the byte streams of a channel of shared memory.
//!
//! Each message has a head of eight bytes (kind, three zero bytes, length of what follows, little endian), then fields
//! ([`crate::codec`]). Workers in any language can read this: `docs/protocol.md`.
//!
//! An engine's messages beyond that, and the front's part for it, travel as [`ToWorker::Own`] and
//! [`FromWorker::Own`]; so do what is its own of a request's head and of a directory's configuration.
//!
//! The worker is a tenant's: everything from it is decoded from a private copy, bounded, and malformed messages end
//! that worker.

mod average;
mod directory;
mod reply;
mod request;

pub use crate::codec::{Decoder, Encoder, Fields, Malformed};
pub use average::MovingAverage;
pub use directory::Directory;
pub use reply::{FromWorker, HeadFlags, MOST_FIELDS, Outcome, ReplyHead, Severity, table};
pub use request::{FileFacts, RequestHead, ToWorker, protocol_name, request_flag};

/// Length of a message's head, in bytes.
pub const HEAD: usize = 8;
/// Longest message of a worker, in bytes, but for bodies, which may be cut anywhere. A longer one ends the worker.
pub const MAX_MESSAGE: usize = 2 << 20;

/// Writes a message's head.
pub fn put_head(out: &mut Vec<u8>, kind: u8, length: usize) {
    out.extend_from_slice(&[kind, 0, 0, 0]);
    out.extend_from_slice(&(length as u32).to_le_bytes());
}

/// Writes a message: its head, and what `body` writes.
pub fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Encoder<'_>)) {
    let start = out.len();
    put_head(out, kind, 0);
    body(&mut Encoder(out));
    let length = (out.len() - start - HEAD) as u32;
    out[start + 4..start + HEAD].copy_from_slice(&length.to_le_bytes());
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
