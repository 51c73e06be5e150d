//! The progress of a response on its way to the client.

use crate::io::body::BodyError;

/// The sent part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivery {
    /// Bytes of head and body on the wire (`%O`).
    pub(crate) total: u64,
    /// Bytes of the body without transfer coding (`%B`).
    pub(crate) body: u64,
    /// Content-Length, where it was told or, after HEAD, would have been.
    pub(crate) length: Option<u64>,
}

/// Why a connection can't go on.
#[derive(Debug)]
pub(crate) enum SendError {
    /// The client closed it, or it broke.
    Gone,
    /// Nothing moved for too long.
    Timeout,
    /// The body broke off after the head was sent.
    Body(BodyError),
}
