//! The head of an answer: fields, and what is told about the connection.

use crate::head::is_token;
use std::borrow::Cow;

/// Writes a field. A value that could end the line early is made harmless, and a field whose name is none
/// (RFC 9110 §5.1) is left out (response splitting).
pub fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    if name.is_empty() || !name.iter().copied().all(is_token) {
        return;
    }
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    if value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
        out.extend(unfolded(value).iter().map(|&b| if matches!(b, b'\r' | b'\n' | 0) { b' ' } else { b }));
    } else {
        out.extend_from_slice(value);
    }
    out.extend_from_slice(b"\r\n");
}

/// A value without its folds: CR LF and the blanks behind it are one space (RFC 9112 §5.2).
fn unfolded(value: &[u8]) -> Cow<'_, [u8]> {
    let is_fold =
        |at: usize| value[at..].starts_with(b"\r\n") && matches!(value.get(at + 2), Some(b' ' | b'\t'));
    if !(0..value.len()).any(is_fold) {
        return Cow::Borrowed(value);
    }
    let (mut out, mut at) = (Vec::with_capacity(value.len()), 0);
    while at < value.len() {
        if is_fold(at) {
            out.push(b' ');
            at += 2 + value[at + 2..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        } else {
            out.push(value[at]);
            at += 1;
        }
    }
    Cow::Owned(out)
}

/// The fault of a response field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The name is not a token (RFC 9110 §5.1).
    Name,
    /// The value has a control character, and is no folded one (RFC 9110 §5.5).
    Value,
}

/// Returns whether a field can be sent as it is; [`field`] sends a folded value in one line.
///
/// # Errors
/// The fault in it.
pub fn check(name: &[u8], value: &[u8]) -> Result<(), Fault> {
    if name.is_empty() || !name.iter().copied().all(is_token) {
        return Err(Fault::Name);
    }
    let is_bad = |b: u8| b.is_ascii_control() && b != b'\t';
    if value.iter().copied().any(is_bad) && unfolded(value).iter().copied().any(is_bad) {
        return Err(Fault::Value);
    }
    Ok(())
}

/// The `Connection` field of a response (RFC 9112 §9.3, §9.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// It is closed.
    Close,
    /// Persistent, as the protocol has it.
    Keep,
    /// Persistent, and the client is told: (seconds, requests left or `None` for no limit).
    Tell(u64, Option<u32>),
}

/// Writes the Connection field, and Keep-Alive beside it.
pub fn connection(out: &mut Vec<u8>, connection: Connection) {
    match connection {
        Connection::Close => out.extend_from_slice(b"Connection: close\r\n"),
        Connection::Keep => {}
        Connection::Tell(timeout, left) => {
            let mut value = format!("timeout={timeout}");
            if let Some(left) = left {
                value.push_str(&format!(", max={left}"));
            }
            field(out, b"Keep-Alive", value.as_bytes());
            out.extend_from_slice(b"Connection: Keep-Alive\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_value_is_sent_in_one_line() {
        let mut out = Vec::new();
        field(&mut out, b"X", b"a\r\n \t b");
        assert_eq!(out, b"X: a b\r\n");
        assert_eq!(check(b"X", b"a\r\n b\tc"), Ok(()));
        for bad in [&b"a\r\nb"[..], b"a\nb", b"a\r b", b"\x01", b"\x7f", b"a\r\n"] {
            assert_eq!(check(b"X", bad), Err(Fault::Value), "{bad:?}");
        }
        assert_eq!(check(b"X?", b""), Err(Fault::Name));
    }

    #[test]
    fn no_value_ends_its_line_early() {
        let mut out = Vec::new();
        field(&mut out, b"X", b"a\r\nSet-Cookie: b");
        field(&mut out, b"bad name", b"left out");
        assert_eq!(out, b"X: a  Set-Cookie: b\r\n");
    }

    #[test]
    fn a_client_that_asks_in_words_is_told_in_words() {
        let told = |what| {
            let mut out = Vec::new();
            connection(&mut out, what);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(told(Connection::Keep), "");
        assert_eq!(told(Connection::Close), "Connection: close\r\n");
        let with_limit = told(Connection::Tell(5, Some(9)));
        assert_eq!(with_limit, "Keep-Alive: timeout=5, max=9\r\nConnection: Keep-Alive\r\n");
    }
}
