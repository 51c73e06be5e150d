//! What the client sent, and when: the same for all requests that come of it.

use crate::request::connection::Peer;
use bytes::Bytes;
use hostler_http1::head::{HTTP_09, Version};
use std::rc::Rc;
use std::time::{Instant, SystemTime};

/// Whose request it is, in its own words. Redirects and sub-requests have it from the request that they come of.
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
    /// Port in the Host field or the target.
    pub(crate) host_port: Option<u16>,
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
            host_port: None,
        }
    }
}
