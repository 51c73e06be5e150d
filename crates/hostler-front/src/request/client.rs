//! The client's original request and its time: the same for all requests that result from it.

use crate::request::connection::Peer;
use crate::request::trailers::Trailers;
use bytes::Bytes;
use hostler_http1::head::{HTTP_09, Version};
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The original request. Redirects and sub-requests inherit it.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) peer: Rc<Peer>,
    pub(crate) received: SystemTime,
    pub(crate) started: Instant,
    /// The request line as sent.
    pub(crate) line: Bytes,
    pub(crate) version: Version,
    /// The request target as sent (`REQUEST_URI` is made of it).
    pub(crate) target: Bytes,
    /// Host the client asked for, lower case, without port.
    pub(crate) hostname: Option<Bytes>,
    /// It asks for a WebSocket in the way of HTTP/2 (RFC 8441).
    pub(crate) is_websocket: bool,
    /// Port in the Host field or the target.
    pub(crate) host_port: Option<u16>,
    /// The trailers after the bodies.
    pub(crate) trailers: Rc<Trailers>,
}

impl Client {
    /// A client that has said nothing yet.
    pub(crate) fn new(peer: &Rc<Peer>) -> Self {
        Self {
            peer: peer.clone(),
            received: SystemTime::now(),
            started: Instant::now(),
            line: Bytes::new(),
            version: HTTP_09,
            target: Bytes::new(),
            hostname: None,
            is_websocket: false,
            host_port: None,
            trailers: Rc::default(),
        }
    }

    /// When the request came, in seconds since 1970: "now" in all that is said of it.
    pub(crate) fn second(&self) -> i64 {
        self.received.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
    }
}
