//! A connection that has changed to another protocol: bytes go both ways as they come, until both sides are done.

use bytes::Bytes;
use hostler_gateway::upstream::{Connection, Upstream, Usage};
use std::sync::Arc;
use std::time::Duration;

/// The note of a request over HTTP/2 that asks for another protocol (RFC 8441): which one.
pub(crate) const EXTENDED: &str = "extended-connect";

/// The other server's end of it.
pub(crate) struct Tunnel {
    pub(crate) connection: Connection,
    /// What the server has said of the new protocol already.
    pub(crate) early: Bytes,
    pub(crate) upstream: Arc<Upstream>,
    /// It counts among what the server is at.
    _usage: Usage,
    /// How long both may be silent; `None`: for ever.
    pub(crate) timeout: Option<Duration>,
    /// When the server has said all the client's words reach nobody: it is over.
    pub(crate) ends_with_server: bool,
}

impl Tunnel {
    pub(crate) fn new(
        mut connection: Connection,
        of: (Arc<Upstream>, Usage),
        timeout: Option<Duration>,
    ) -> Self {
        let early = connection.take_input();
        Self { connection, early, upstream: of.0, _usage: of.1, timeout, ends_with_server: false }
    }
}
