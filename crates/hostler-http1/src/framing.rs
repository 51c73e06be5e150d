//! The framing of a request's body and the persistence of its connection, from its fields (RFC 9112 §6.3, §9.3).
//!
//! Anything that two readers could take differently is refused.

use super::head::{HTTP_10, HTTP_11, Head, Version};

/// Fields about one connection, which are not handed on (RFC 9110 §7.6.1), beside those that `Connection` names.
const HOP_BY_HOP: [&[u8]; 7] =
    [b"connection", b"proxy-connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"];

/// Returns whether a field is about one connection, and not handed on.
#[must_use]
pub fn is_hop_by_hop(name: &[u8]) -> bool {
    HOP_BY_HOP.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// The length of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// This many bytes.
    Length(u64),
    /// It says itself where it ends ([`crate::chunked`]).
    Chunked,
}

/// Why a request's framing is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// RFC 9112 §6.3, 5.
    #[error("Content-Length is not a number, or there are several")]
    Length,
    /// RFC 9112 §6.3, 4.
    #[error("Transfer-Encoding doesn't end in chunked")]
    TransferEncoding,
    /// RFC 9112 §6.1: 501.
    #[error("Transfer-Encoding names a coding that is not known here")]
    UnknownCoding,
    /// RFC 9112 §5.2.
    #[error("Content-Length or Transfer-Encoding is folded over several lines")]
    Folded,
}

impl FramingError {
    /// The status that answers it.
    #[must_use]
    pub fn status(self) -> u16 {
        if self == Self::UnknownCoding { 501 } else { 400 }
    }
}

/// The body's framing, and whether the connection must close after it: both fields were there, or chunks in HTTP/1.0.
///
/// # Errors
/// Fields that contradict each other, or that others may read differently.
pub fn framing(head: &Head, buffer: &[u8]) -> Result<(Framing, bool), FramingError> {
    let mut length = None;
    let mut codings: Vec<&[u8]> = Vec::new();
    let mut encoded = false;
    for field in &head.fields {
        let name = field.name.of(buffer);
        let is_length = name.eq_ignore_ascii_case(b"content-length");
        if field.folded && (is_length || name.eq_ignore_ascii_case(b"transfer-encoding")) {
            return Err(FramingError::Folded);
        }
        if is_length {
            if length.is_some() {
                return Err(FramingError::Length);
            }
            length = Some(decimal(field.value.of(buffer)).ok_or(FramingError::Length)?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            encoded = true;
            codings.extend(field.value.of(buffer).split(|&b| b == b',').map(<[u8]>::trim_ascii));
        }
    }
    if !encoded {
        return Ok((length.map_or(Framing::None, Framing::Length), false));
    }
    // RFC 9112 §6.1: who speaks HTTP/1.0 may mean something else by what follows, so nothing may.
    let closes = length.is_some() || head.version < HTTP_11;
    match codings.as_slice() {
        [only] if only.eq_ignore_ascii_case(b"chunked") => Ok((Framing::Chunked, closes)),
        [.., last] if last.eq_ignore_ascii_case(b"chunked") => {
            let again = codings[..codings.len() - 1]
                .iter()
                .any(|c| c.is_empty() || c.eq_ignore_ascii_case(b"chunked"));
            Err(if again { FramingError::TransferEncoding } else { FramingError::UnknownCoding })
        }
        _ => Err(FramingError::TransferEncoding),
    }
}

/// `1*DIGIT` that fits 63 bits; nothing else (no sign, no blanks, no list).
#[must_use]
pub fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = std::str::from_utf8(text).ok()?.parse::<u64>().ok()?;
    i64::try_from(number).ok().map(|_| number)
}

/// Returns whether a comma-separated field value has this token (without case).
#[must_use]
pub fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|&b| b == b',').any(|t| t.trim_ascii().eq_ignore_ascii_case(token))
}

/// The persistence of the connection that the client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// It may stay open.
    pub persistent: bool,
    /// The client asked for it in words and is told so in words.
    pub explicit: bool,
}

impl KeepAlive {
    /// Reads it from a request with at most one `Connection` field; `None`: more than the fast paths handle.
    #[must_use]
    pub fn of_field(version: Version, connection: Option<&[u8]>) -> Option<Self> {
        let Some(value) = connection else {
            return Some(Self { persistent: version >= HTTP_11, explicit: false });
        };
        let keep = value.eq_ignore_ascii_case(b"keep-alive");
        let known = keep || value.eq_ignore_ascii_case(b"close");
        known.then_some(Self { persistent: keep, explicit: keep })
    }

    /// Returns what follows a response to a request without a body.
    #[must_use]
    pub fn after(self, stays: bool) -> After {
        match (stays, self.persistent) {
            (true, _) => After::Stay,
            (false, true) => After::Linger,
            (false, false) => After::Close,
        }
    }
}

/// The state of a connection after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It waits for the next request.
    Stay,
    /// The client has said that nothing will follow its request: there is nothing to wait for.
    Close,
    /// The client may have sent more: see the end of RFC 9112 §9.6.
    Linger,
}

/// Reads it from the request's `Connection` fields, or from its version if there are none (RFC 9112 §9.3).
#[must_use]
pub fn keep_alive(head: &Head, buffer: &[u8]) -> KeepAlive {
    let (mut close, mut keep) = (false, false);
    for field in head.fields.iter().filter(|f| f.name.of(buffer).eq_ignore_ascii_case(b"connection")) {
        let value = field.value.of(buffer);
        close |= has_token(value, b"close");
        keep |= has_token(value, b"keep-alive");
    }
    let persistent = !close && (head.version >= HTTP_11 || (head.version == HTTP_10 && keep));
    KeepAlive { persistent, explicit: persistent && keep }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::{Limits, parse};

    fn of(fields: &str) -> Result<(Framing, bool), FramingError> {
        let text = format!("POST / HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
        framing(&parse(text.as_bytes(), &Limits::default()).unwrap().unwrap(), text.as_bytes())
    }

    #[test]
    fn one_field_says_the_same_on_the_short_way() {
        for version in ["1.0", "1.1"] {
            for field in ["", "Connection: close\r\n", "Connection: Keep-Alive\r\n"] {
                let text = format!("GET / HTTP/{version}\r\nHost: x\r\n{field}\r\n");
                let head = parse(text.as_bytes(), &Limits::default()).unwrap().unwrap();
                let value = field.split(": ").nth(1).map(|value| value.trim().as_bytes());
                let short = KeepAlive::of_field(head.version, value);
                assert_eq!(short, Some(keep_alive(&head, text.as_bytes())), "{text}");
            }
        }
        assert_eq!(KeepAlive::of_field(HTTP_11, Some(b"close, TE")), None);
    }

    #[test]
    fn nothing_follows_chunks_in_http_1_0() {
        let text = "POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n";
        let head = parse(text.as_bytes(), &Limits::default()).unwrap().unwrap();
        assert_eq!(framing(&head, text.as_bytes()), Ok((Framing::Chunked, true)));
    }

    #[test]
    fn ordinary_bodies() {
        assert_eq!(of(""), Ok((Framing::None, false)));
        assert_eq!(of("Content-Length: 5\r\n"), Ok((Framing::Length(5), false)));
        assert_eq!(of("Transfer-Encoding: Chunked\r\n"), Ok((Framing::Chunked, false)));
    }

    #[test]
    fn a_length_is_digits_and_nothing_else() {
        for value in
            ["+5", "0x5", "5_0", "-1", "", "5, 5", "5 5", "18446744073709551616", "9223372036854775808"]
        {
            assert_eq!(of(&format!("Content-Length: {value}\r\n")), Err(FramingError::Length), "{value}");
        }
        assert_eq!(of("Content-Length: 5\r\nContent-Length: 6\r\n"), Err(FramingError::Length));
        assert_eq!(of("Content-Length: 5\r\nContent-Length: 5\r\n"), Err(FramingError::Length));
    }

    #[test]
    fn transfer_codings() {
        assert_eq!(of("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), Ok((Framing::Chunked, true)));
        for value in [",chunked", "chunked, chunked", "identity", "chunked, gzip", ""] {
            assert_eq!(
                of(&format!("Transfer-Encoding: {value}\r\n")),
                Err(FramingError::TransferEncoding),
                "{value}"
            );
        }
        assert_eq!(of("Transfer-Encoding: gzip, chunked\r\n"), Err(FramingError::UnknownCoding));
        assert!(of("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n").is_err());
        for folded in ["Transfer-Encoding:\r\n chunked", "Content-Length: 1\r\n 0"] {
            assert_eq!(of(&format!("{folded}\r\n")), Err(FramingError::Folded), "{folded}");
        }
    }
}
