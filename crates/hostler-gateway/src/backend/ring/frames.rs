//! A warm worker's channel of shared memory: messages out of the byte stream from the worker, and what there is no
//! room for kept until there is.
//!
//! Which worker, and what becomes of it, is the pool's. The worker is a tenant's: a message is taken from a private
//! copy, is bounded, and one that can't be ends the worker.

use bytes::{Buf as _, Bytes};
use hostler_ring::front::Channel;
use hostler_wire::work::{FromWorker, HEAD, MAX_MESSAGE, read_head};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// One message of a worker: [`FromWorker::decode`] tells what it says. Bodies may come in pieces that are cut
/// anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The message's kind.
    pub kind: u8,
    /// The part after its head.
    pub body: Bytes,
}

/// The worker's violation of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("it has overwritten its shared memory")]
    Memory,
    #[error("it sent a message that is malformed")]
    Malformed,
    #[error("it sent a message of {0} bytes")]
    TooLong(usize),
    #[error("what it and others of its pool have sent takes too much memory in the server")]
    TooMuch,
}

/// Bytes of what a pool's workers have said that may be kept: some pieces for each of very many long answers.
const MOST_KEPT: usize = 64 << 20;
/// Smaller buffers are not counted: a request has few of them.
const UNCOUNTED: usize = 32 << 10;

/// Bytes of what a pool's workers have said that are still kept, in messages, pieces of answers and what was made of
/// them.
#[derive(Debug, Default)]
pub(crate) struct BytesInUse(AtomicUsize);

/// A part of it.
#[derive(Debug)]
struct CountedPart {
    kept: Arc<BytesInUse>,
    bytes: Vec<u8>,
}

impl CountedPart {
    /// # Errors
    /// [`Violation::TooMuch`].
    fn of(bytes: Vec<u8>, kept: &Arc<BytesInUse>) -> Result<Self, Violation> {
        let before = kept.0.fetch_add(bytes.capacity(), Relaxed);
        let counted = Self { kept: kept.clone(), bytes };
        if before + counted.bytes.capacity() > MOST_KEPT { Err(Violation::TooMuch) } else { Ok(counted) }
    }
}

impl AsRef<[u8]> for CountedPart {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedPart {
    fn drop(&mut self) {
        self.kept.0.fetch_sub(self.bytes.capacity(), Relaxed);
    }
}

/// Bytes taken out of shared memory at once.
const PIECE: usize = 128 << 10;

/// Cuts the worker's bytes into messages.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    /// The bytes read and not yet cut into frames.
    pending: Bytes,
    /// The begin of a message, until it is there whole: what trickles in is not copied again and again.
    partial: Vec<u8>,
    /// Bytes that are left of a body.
    body: usize,
}

impl Cutter {
    /// The next message, from what has come so far and what is in the channel now; `None`: not there yet.
    pub(crate) fn next(
        &mut self,
        channel: &mut Channel,
        kept: &Arc<BytesInUse>,
    ) -> Result<Option<Frame>, Violation> {
        loop {
            if let Some(frame) = self.cut()? {
                return Ok(Some(frame));
            }
            if !self.fill(channel, kept)? {
                return Ok(None);
            }
        }
    }

    /// Reads on; whether there was anything.
    fn fill(&mut self, channel: &mut Channel, kept: &Arc<BytesInUse>) -> Result<bool, Violation> {
        let read = channel.read(&mut self.partial, PIECE).map_err(|_| Violation::Memory)?;
        if read == 0 {
            return Ok(false);
        }
        if !self.pending.is_empty() {
            self.partial.splice(0..0, std::mem::take(&mut self.pending));
        }
        let is_large = self.partial.capacity() >= UNCOUNTED;
        if self.has_whole() {
            let bytes = std::mem::take(&mut self.partial);
            self.pending =
                if is_large { Bytes::from_owner(CountedPart::of(bytes, kept)?) } else { bytes.into() };
        } else if is_large && kept.0.load(Relaxed) > MOST_KEPT - self.partial.capacity() {
            return Err(Violation::TooMuch);
        }
        Ok(true)
    }

    /// Returns whether something can be cut off what has been put aside, if only an error.
    fn has_whole(&self) -> bool {
        let Some(head) = self.partial.first_chunk::<HEAD>() else { return self.body > 0 };
        let is_part = |(kind, length)| {
            kind != FromWorker::BODY && length <= MAX_MESSAGE && self.partial.len() < HEAD + length
        };
        self.body > 0 || !read_head(*head).is_ok_and(is_part)
    }

    fn cut(&mut self) -> Result<Option<Frame>, Violation> {
        if self.body > 0 {
            let length = self.body.min(self.pending.len());
            self.body -= length;
            return Ok((length > 0).then(|| self.frame(FromWorker::BODY, length)));
        }
        let Some(head) = self.pending.first_chunk::<HEAD>() else { return Ok(None) };
        let (kind, length) = read_head(*head).map_err(|_| Violation::Malformed)?;
        if kind == FromWorker::BODY {
            self.pending.advance(HEAD);
            self.body = length;
            return if length == 0 { Ok(Some(self.frame(kind, 0))) } else { self.cut() };
        }
        if length > MAX_MESSAGE {
            return Err(Violation::TooLong(length));
        }
        if self.pending.len() < HEAD + length {
            return Ok(None);
        }
        self.pending.advance(HEAD);
        Ok(Some(self.frame(kind, length)))
    }

    fn frame(&mut self, kind: u8, length: usize) -> Frame {
        Frame { kind, body: self.pending.split_to(length) }
    }
}

/// The bytes for the worker that found no room.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    bytes: Vec<u8>,
    /// Bytes of it that have gone.
    gone: usize,
}

impl Unsent {
    /// A message of which `gone` bytes have been written already.
    pub(crate) fn rest(bytes: Vec<u8>, gone: usize) -> Self {
        if gone == bytes.len() { Self::default() } else { Self { bytes, gone } }
    }

    /// The buffer to append a message to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        // A worker that never reads all of it would have what has gone kept for ever.
        if self.gone > self.bytes.len() / 2 {
            self.bytes.drain(..self.gone);
            self.gone = 0;
        }
        &mut self.bytes
    }

    /// Adds what was to go after it.
    pub(crate) fn append(&mut self, more: &Self) {
        self.bytes.extend_from_slice(&more.bytes[more.gone..]);
    }

    /// Writes what there is room for; whether any went.
    pub(crate) fn flush(&mut self, channel: &mut Channel) -> bool {
        if self.is_empty() {
            return false;
        }
        let written = channel.write(&self.bytes[self.gone..]);
        self.gone += written;
        if self.is_empty() {
            // A large body's piece is not kept for the small ones that may follow.
            self.bytes.clear();
            self.bytes.shrink_to(64 << 10);
            self.gone = 0;
        }
        channel.want_room(!self.is_empty());
        written > 0
    }

    /// Bytes that are left.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.gone
    }

    /// Returns whether all has gone.
    pub(crate) fn is_empty(&self) -> bool {
        self.gone == self.bytes.len()
    }
}
