//! Answers ahead of the answer (RFC 9110 §15.2): what a connection can send of them while its request is being answered.

use bytes::Bytes;
use std::task::{Context, Poll};

/// A connection that knows such answers.
pub(crate) trait Early {
    /// Sends a head, of which it takes what has gone. That it can't is no reason to do anything: there will be an answer.
    fn poll_send(&self, context: &mut Context<'_>, head: &mut Bytes) -> Poll<()>;
}
