//! The head of an answer: fields, and what is told about the connection.

use crate::head::is_token;

/// Writes a field. A value that could end the line early is made harmless, and a field whose name is none
/// (RFC 9110 §5.1) is left out (response splitting).
pub fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    if name.is_empty() || !name.iter().copied().all(is_token) {
        return;
    }
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    if value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
        out.extend(value.iter().map(|&b| if matches!(b, b'\r' | b'\n' | 0) { b' ' } else { b }));
    } else {
        out.extend_from_slice(value);
    }
    out.extend_from_slice(b"\r\n");
}

/// What an answer tells about the connection (RFC 9112 §9.3, §9.6).
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
