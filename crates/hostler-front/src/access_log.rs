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

/// A request answered from memory.
pub(crate) struct FastRecord<'a> {
    pub(crate) peer: &'a crate::connection::Peer,
    pub(crate) server: &'a hostler_config::Server,
    pub(crate) head: &'a crate::http1::head::Head,
    pub(crate) buffer: &'a [u8],
    pub(crate) received: std::time::SystemTime,
    pub(crate) elapsed: std::time::Duration,
    /// Bytes of the body.
    pub(crate) body: u64,
    /// Bytes of head and body.
    pub(crate) sent: u64,
    pub(crate) whole: bool,
}

/// Whether the virtual host has an access log.
pub(crate) fn is_wanted(thread: &Thread, server: &hostler_config::Server) -> bool {
    let _ = (thread, server);
    false
}

/// As [`write`], for an answer from memory.
pub(crate) fn write_fast(thread: &Thread, record: &FastRecord<'_>) {
    let _ = (thread, record);
}
