//! WebSockets of clients over HTTP/2 (RFC 8441) at servers that speak HTTP/1.1: there the handshake has a key (RFC 6455 §4.1),
//! which a client over HTTP/2 does not send. So this server asks with one of its own, and looks at the answer to it.

use crate::request::Request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use sha1::{Digest as _, Sha1};

/// The text that a server appends to a key to prove that it has understood it.
const MARK: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The protocol that the request asks for, where it is of that kind.
pub(crate) fn asked(request: &Request) -> Option<&'static Bytes> {
    static WEBSOCKET: Bytes = Bytes::from_static(b"websocket");
    request.client.is_websocket.then_some(&WEBSOCKET)
}

/// The key for a request of that kind. It need not be secret, only other than the last one's.
pub(crate) fn key(request: &Request) -> Option<String> {
    asked(request)?;
    let (one, other) = (crate::values::random::number(), crate::values::random::number());
    Some(STANDARD.encode([one.to_ne_bytes(), other.to_ne_bytes()].concat()))
}

/// Returns whether a server that has changed the protocol has understood the key, if one was sent.
pub(crate) fn is_accepted(key: Option<&str>, accepted: Option<&[u8]>) -> bool {
    let expected = key.map(|key| STANDARD.encode(Sha1::digest([key.as_bytes(), MARK].concat())));
    expected.is_none_or(|expected| accepted.is_some_and(|said| said.trim_ascii() == expected.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_belongs_to_its_key() {
        // RFC 6455 §1.3.
        let key = Some("dGhlIHNhbXBsZSBub25jZQ==");
        assert!(is_accepted(key, Some(b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
        assert!(!is_accepted(key, Some(b"s3pPLMBiTxaQ9kYGzzhZRbK+xO0=")));
        assert!(!is_accepted(key, None));
        assert!(is_accepted(None, None));
    }
}
