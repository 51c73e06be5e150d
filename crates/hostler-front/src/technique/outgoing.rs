//! A request as a backend is sent it, decided in one place for all protocols: how long its body is, and which of its fields go
//! on. Protocols encode these values, and decide nothing of the kind themselves.
//!
//! The body's length comes from the body alone. Fields that speak of it can be changed by clients (`Connection:
//! Content-Length`), by the configuration and by programs, and a length that is not the body's lets the rest of it pass for
//! another request.

use crate::request::Request;
use bytes::Bytes;
use hostler_gateway::backend::body::BodyLength;
use hostler_http1::framing::{decimal, has_token, is_hop_by_hop};

/// Returns the length of the request's body, or of the rest of it.
pub(crate) fn body_length(request: &Request) -> BodyLength {
    BodyLength::of(request.target.body.length())
}

/// Returns whether the client has said that its request has a body of no bytes.
pub(crate) fn says_zero(request: &Request) -> bool {
    request.target.headers_in.find("Content-Length").and_then(|value| decimal(value)) == Some(0)
}

/// The fields of a request that another server gets. Those about the message's framing and its target are never among
/// them: this server writes them.
pub(crate) struct EndToEnd<'a> {
    request: &'a Request,
    /// The names that the client has said to be about its connection only.
    named: Option<Bytes>,
}

impl<'a> EndToEnd<'a> {
    pub(crate) fn of(request: &'a Request) -> Self {
        Self { request, named: request.target.headers_in.joined(b"Connection") }
    }

    /// Returns whether a field is sent on.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        !is_hop_by_hop(name) && !is_written(name) && (!self.is_named(name) || self.is_kept(name))
    }

    /// Returns whether the client has said of a field that it is about this connection only (RFC 9110 §7.6.1).
    pub(crate) fn is_named(&self, name: &[u8]) -> bool {
        self.named.as_ref().is_some_and(|named| has_token(named, name))
    }

    /// Returns whether the field stays whatever `Connection` says: the user was told from it.
    fn is_kept(&self, name: &[u8]) -> bool {
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        self.request.user.is_some() && (is(b"Authorization") || is(b"Cookie"))
    }
}

/// Returns whether this server writes the field itself: where the request goes, and how long its body is.
fn is_written(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 3] = [b"Host", b"Expect", b"Content-Length"];
    NAMES.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// Returns whether a servlet container gets this field of a request. AJP has no client connection that `Connection`
/// could describe, so a container gets all fields except those that it must not trust twice, as CGI programs do.
pub(crate) fn container_has(name: &[u8]) -> bool {
    !is_hop_by_hop(name)
        && ![&b"Proxy-Authorization"[..], b"Expect"].iter().any(|one| name.eq_ignore_ascii_case(one))
}
