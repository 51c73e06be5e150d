//! Access logs (mod_log_config).

use crate::http1::send::Sent;
use crate::reply::Reply;
use crate::thread::{Shared, Thread};
use std::rc::Rc;

/// What became of an answer.
pub(crate) struct Outcome {
    pub(crate) sent: Sent,
    /// Bytes of the request, head and body (`%I`).
    pub(crate) received: u64,
    /// The client went away before all was sent.
    pub(crate) aborted: bool,
    /// The connection stays open (`%X`).
    pub(crate) kept: bool,
}

/// Lines not yet written, by log.
pub(crate) struct Buffers {}

impl Buffers {
    pub(crate) fn new(shared: &Shared) -> Self {
        let _ = shared;
        Self {}
    }
}

/// Writes the lines of the virtual host's access logs.
pub(crate) fn write(thread: &Rc<Thread>, reply: &Reply, outcome: &Outcome) {
    let _ = (thread, reply, outcome);
}

/// Writes out what is buffered.
pub(crate) fn flush_all(thread: &Thread) {
    let _ = thread;
}
