//! Interim responses (RFC 9110 §15.2), such as 103 with links that a browser may already fetch.

use crate::values::status;
use hostler_http1::response::field;

/// A client that can be sent interim responses.
pub(crate) trait Early {
    /// Sends the [`head`] of an interim response. Never waits: what there is no room for is sent just before the final
    /// response.
    fn tell(&self, head: &[u8]);
}

/// Returns the head of an interim response in the form of HTTP/1.1.
pub(crate) fn head<'a>(code: u16, fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {code} {}\r\n", status::reason(code)).into_bytes();
    for (name, value) in fields {
        field(&mut head, name, value);
    }
    head.extend_from_slice(b"\r\n");
    head
}
