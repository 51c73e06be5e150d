//! A request for a warm worker, encoded.

use crate::backend::{OnAbandon, Request, TimeLimit};
use hostler_wire::work::{ToWorker, read_head, request_flag};
use std::sync::Arc;

/// A request for a worker.
#[derive(Debug)]
pub struct Work {
    /// The submitting thread of the front: its number, below that given to [`Pool::new`](super::Pool::new).
    pub thread: u32,
    /// Number of the configuration that the request names, and the encoded message `ToWorker::Define` with it.
    pub directory: (u32, Arc<[u8]>),
    /// The encoded message `ToWorker::Request`, perhaps behind others.
    pub request: Vec<u8>,
    /// The longest time the worker may neither read nor write when it is its turn; then it is killed (504).
    pub timeout: TimeLimit,
    /// The treatment of the request when its client leaves.
    pub on_abandon: OnAbandon,
}

impl Work {
    /// Returns whether messages with the request's body follow the request, without being asked for.
    pub(super) fn has_body(&self) -> bool {
        let mut messages = &*self.request;
        while let Some((head, rest)) = messages.split_first_chunk() {
            match read_head(*head) {
                Ok((ToWorker::REQUEST, _)) => {
                    // The flags are the first field of the message.
                    let flags = rest.first_chunk().map_or(0, |flags| u32::from_le_bytes(*flags));
                    return flags & (request_flag::BODY | request_flag::BODY_ASKED) == request_flag::BODY;
                }
                Ok((_, length)) => messages = rest.get(length..).unwrap_or_default(),
                Err(_) => return false,
            }
        }
        false
    }
}

impl Request for Work {
    fn thread(&self) -> u32 {
        self.thread
    }

    fn configuration(&self) -> Option<u32> {
        Some(self.directory.0)
    }

    fn is_whole(&self) -> bool {
        !self.has_body()
    }

    fn on_abandon(&self) -> OnAbandon {
        self.on_abandon
    }

    fn again(&mut self) -> Self {
        let request = std::mem::take(&mut self.request);
        Self { request, directory: self.directory.clone(), ..*self }
    }
}
