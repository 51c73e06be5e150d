//! Messages from the front, put together from the bytes of a conversation.

use hostler_ring::worker::Conversation;
use hostler_wire::work::{self, ToWorker};
use std::io;

/// Longest message of the front; it is trusted, but a broken stream should not eat the memory.
const MOST: usize = 64 << 20;
/// Bytes asked for at once, at first and once there was that much.
const CHUNK: (usize, usize) = (4 << 10, 64 << 10);

/// Why there is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMessage {
    /// The request was abandoned.
    Abandoned,
    /// The input is not a message.
    Malformed,
    /// A signal handler ran; ask again.
    Interrupted,
}

/// The bytes that have come and were not yet used.
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Incoming {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; CHUNK.0], start: 0, end: 0 }
    }

    /// Forgets what is left of the request before.
    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// The next message's kind and length, waiting for its head. To be followed by [`Self::body`] or
    /// [`Self::take`].
    pub(crate) fn head(&mut self, from: &mut Conversation) -> Result<(u8, usize), NoMessage> {
        self.have(work::HEAD, from)?;
        let mut head = [0; work::HEAD];
        head.copy_from_slice(&self.bytes[self.start..self.start + work::HEAD]);
        let (kind, length) = work::read_head(head).map_err(|_| NoMessage::Malformed)?;
        if length > MOST {
            return Err(NoMessage::Malformed);
        }
        // A body's bytes are not kept as a message.
        if kind != ToWorker::BODY {
            // The head stays until all is there, so that an interrupted wait can be taken up again.
            self.have(work::HEAD + length, from)?;
        }
        self.start += work::HEAD;
        Ok((kind, length))
    }

    /// The message whose head was read.
    pub(crate) fn body(&mut self, length: usize) -> &[u8] {
        let body = &self.bytes[self.start..self.start + length];
        self.start += length;
        body
    }

    /// Some bytes of a message that need not be there whole; 0: nobody waits for the answer any more.
    pub(crate) fn take(&mut self, into: &mut [u8], from: &mut Conversation) -> Result<usize, NoMessage> {
        if self.start == self.end {
            // Straight to where they go.
            return from.read_some(into).map_err(interrupted);
        }
        let count = into.len().min(self.end - self.start);
        into[..count].copy_from_slice(&self.bytes[self.start..self.start + count]);
        self.start += count;
        Ok(count)
    }

    fn have(&mut self, count: usize, from: &mut Conversation) -> Result<(), NoMessage> {
        while self.end - self.start < count {
            if self.start + count > self.bytes.len() {
                self.bytes.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
                self.bytes.resize(count.max(self.bytes.len()), 0);
            }
            match from.read_some(&mut self.bytes[self.end..]) {
                Ok(0) => return Err(NoMessage::Abandoned),
                Ok(more) => self.end += more,
                Err(e) => return Err(interrupted(e)),
            }
            if self.end == self.bytes.len() {
                self.bytes.resize(self.end.max(CHUNK.1), 0);
            }
        }
        Ok(())
    }
}

fn interrupted(_: io::Error) -> NoMessage {
    NoMessage::Interrupted
}
