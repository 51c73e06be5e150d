//! The head of an answer that another server has sent, and what it says of the answer's body (RFC 9112 §4, §6.3).
//!
//! Lines may end in LF alone, as all clients let them; whatever two readers could take differently is refused, since the
//! answer is sent on.

use crate::framing::{Framing, decimal, has_token};
use crate::head::{HTTP_10, HTTP_11, Span, Version, is_token};
use memchr::memchr;

/// The limits of a response's head.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest line, in bytes.
    pub line: usize,
    /// Longest head, in bytes.
    pub head: usize,
    /// The treatment of a line that is no field.
    pub bad_line: BadLine,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 8192, head: 128 << 10, bad_line: BadLine::Refuse }
    }
}

/// The treatment of a line that is no field (`ProxyBadHeader`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLine {
    /// The answer is refused.
    Refuse,
    /// It is passed over.
    Skip,
    /// The body begins with it.
    Body,
}

/// A field: name and value, without the blanks around it. A folded value still has its line ends.
pub type Field = (Span, Span);

/// An answer's head.
#[derive(Clone, Debug)]
pub struct Head {
    /// 100 to 999: those from 600 on are nobody's, but sent by some.
    pub status: u16,
    /// The words behind the status.
    pub reason: Span,
    /// Never higher than [`HTTP_11`].
    pub version: Version,
    /// In the order in which they came.
    pub fields: Vec<Field>,
    /// Bytes of the buffer that it takes.
    pub length: usize,
}

/// Why an answer can't be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// RFC 9112 §4.
    #[error("the status line is malformed: \"{0}\"")]
    StatusLine(String),
    /// A line is too long.
    #[error("a line of the head is longer than {0} bytes (responsefieldsize=)")]
    LineTooLong(usize),
    /// The head is too long.
    #[error("the head is longer than {0} bytes")]
    TooLong(usize),
    /// RFC 9112 §5.
    #[error("a line of the head is not a field, at byte {0}: \"{1}\"")]
    Field(usize, String),
    /// RFC 9112 §6.3.
    #[error("Content-Length is not a number, or there are several")]
    Length,
    /// RFC 9112 §6.1.
    #[error("Transfer-Encoding is something else than chunked")]
    Coding,
}

/// Bytes of a line that an error shows.
const SHOWN: usize = 60;

fn shown(line: &[u8]) -> String {
    line[..line.len().min(SHOWN)].escape_ascii().to_string()
}

/// Parses the head at the start of `buffer`. `Ok(None)`: more bytes are needed.
///
/// # Errors
/// The bytes are no head of an answer, or it is longer than `limits` allow.
pub fn parse(buffer: &[u8], limits: &Limits) -> Result<Option<Head>, AnswerError> {
    let mut at = stray(buffer);
    let Some((line, next)) = line(buffer, at, limits)? else { return early(&buffer[at..]) };
    let mut head = status_line(buffer, line)?;
    at = next;
    // What goes on with a line that was left out is left out, too.
    let mut skips = false;
    loop {
        let Some((text, next)) = self::line(buffer, at, limits)? else { return Ok(None) };
        if text.start == text.end {
            head.length = next;
            return Ok(Some(head));
        }
        let goes_on = matches!(buffer[text.start as usize], b' ' | b'\t');
        if skips && goes_on {
            at = next;
            continue;
        }
        match field(buffer, text, &mut head) {
            Ok(()) => skips = false,
            Err(()) if limits.bad_line == BadLine::Skip => skips = true,
            Err(()) if limits.bad_line == BadLine::Body => {
                head.length = at;
                return Ok(Some(head));
            }
            Err(()) => return Err(AnswerError::Field(at, shown(text.of(buffer)))),
        }
        at = next;
    }
}

/// The end of a line that belongs to nothing: some servers send one behind a body (RFC 9112 §2.2 has it of clients).
fn stray(buffer: &[u8]) -> usize {
    match buffer {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

/// Rejects input that can no longer become a status line, however much more arrives.
fn early(buffer: &[u8]) -> Result<Option<Head>, AnswerError> {
    if buffer == b"\r" {
        return Ok(None);
    }
    let known = b"HTTP/1.";
    let length = buffer.len().min(known.len());
    if buffer[..length] == known[..length] { Ok(None) } else { Err(AnswerError::StatusLine(shown(buffer))) }
}

/// The line that begins at `at`, and where the next one does.
fn line(buffer: &[u8], at: usize, limits: &Limits) -> Result<Option<(Span, usize)>, AnswerError> {
    let Some(length) = memchr(b'\n', &buffer[at..]) else {
        return match buffer.len() {
            all if all > limits.head => Err(AnswerError::TooLong(limits.head)),
            all if all - at > limits.line => Err(AnswerError::LineTooLong(limits.line)),
            _ => Ok(None),
        };
    };
    if at + length > limits.head {
        return Err(AnswerError::TooLong(limits.head));
    }
    if length > limits.line {
        return Err(AnswerError::LineTooLong(limits.line));
    }
    let newline = at + length;
    let end = if length > 0 && buffer[newline - 1] == b'\r' { newline - 1 } else { newline };
    Ok(Some((Span { start: at as u32, end: end as u32 }, newline + 1)))
}

fn status_line(buffer: &[u8], line: Span) -> Result<Head, AnswerError> {
    let text = line.of(buffer);
    let wrong = || AnswerError::StatusLine(shown(text));
    let version = match text.get(..8) {
        Some(b"HTTP/1.0") => HTTP_10,
        Some([b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor]) if minor.is_ascii_digit() => HTTP_11,
        _ => return Err(wrong()),
    };
    let rest = text[8..].trim_ascii_start();
    let digits = rest.get(..3).filter(|digits| digits.iter().all(u8::is_ascii_digit)).ok_or_else(wrong)?;
    let status = digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
    let is_apart = text.get(8) == Some(&b' ') && matches!(rest.get(3), None | Some(b' '));
    if !(100..=999).contains(&status) || !is_apart {
        return Err(wrong());
    }
    let reason = rest[3..].trim_ascii();
    if reason.iter().any(|b| (*b < b' ' && *b != b'\t') || *b == 0x7f) {
        return Err(wrong());
    }
    let start = line.end as usize - rest[3..].trim_ascii_start().len();
    let reason = Span { start: start as u32, end: (start + reason.len()) as u32 };
    Ok(Head { status, reason, version, fields: Vec::with_capacity(12), length: 0 })
}

fn field(buffer: &[u8], line: Span, head: &mut Head) -> Result<(), ()> {
    let text = line.of(buffer);
    let is_bad = |b: &u8| (*b < b' ' && *b != b'\t') || *b == 0x7f;
    if matches!(text[0], b' ' | b'\t') {
        // It goes on with the value before.
        let (_, value) = head.fields.last_mut().ok_or(())?;
        if text.iter().any(is_bad) {
            return Err(());
        }
        value.end = line.end;
        return Ok(());
    }
    let colon = memchr(b':', text).ok_or(())?;
    let value = text[colon + 1..].trim_ascii();
    if colon == 0 || !text[..colon].iter().copied().all(is_token) || value.iter().any(is_bad) {
        return Err(());
    }
    let start = line.start as usize
        + colon
        + 1
        + (text[colon + 1..].len() - text[colon + 1..].trim_ascii_start().len());
    let name = Span { start: line.start, end: line.start + colon as u32 };
    head.fields.push((name, Span { start: start as u32, end: (start + value.len()) as u32 }));
    Ok(())
}

/// The length of a response, and the state of its connection after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// `None`: until the connection is closed.
    pub framing: Option<Framing>,
    /// Another request may follow.
    pub keeps: bool,
}

impl Head {
    /// The values of a field.
    pub fn all<'a>(&'a self, buffer: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let is = move |field: &&Field| field.0.of(buffer).eq_ignore_ascii_case(name.as_bytes());
        self.fields.iter().filter(is).map(move |field| field.1.of(buffer))
    }

    /// Returns the framing of the response's body; `to_head`: the request's method was HEAD.
    ///
    /// # Errors
    /// Fields that contradict each other, or that others may read differently.
    pub fn body(&self, buffer: &[u8], to_head: bool) -> Result<Body, AnswerError> {
        let says = |token: &[u8]| self.all(buffer, "connection").any(|value| has_token(value, token));
        let mut keeps =
            if self.version >= HTTP_11 { !says(b"close") } else { says(b"keep-alive") && !says(b"close") };
        let mut lengths = self.all(buffer, "content-length");
        let length = lengths.next().map(|value| decimal(value).ok_or(AnswerError::Length)).transpose()?;
        // The same once more is a mistake that leads nobody astray.
        if lengths.any(|value| decimal(value) != length) {
            return Err(AnswerError::Length);
        }
        let mut codings = self.all(buffer, "transfer-encoding");
        let is_coded = match (codings.next(), codings.next()) {
            (None, _) => false,
            (Some(value), None) if value.eq_ignore_ascii_case(b"chunked") => true,
            _ => return Err(AnswerError::Coding),
        };
        if is_coded && (length.is_some() || self.version < HTTP_11) {
            // The coding counts; whoever says both may mean what follows differently (RFC 9112 §6.1, §6.3).
            keeps = false;
        }
        let framing = match self.status {
            _ if to_head => Some(Framing::None),
            100..=199 | 204 | 304 => Some(Framing::None),
            _ if is_coded => Some(Framing::Chunked),
            _ => length.map(Framing::Length),
        };
        Ok(Body { framing, keeps: keeps && framing.is_some() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<Head>, AnswerError> {
        parse(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn a_head_is_its_line_and_its_fields() {
        let text = "HTTP/1.1 404 Not  Here \r\nA: b \r\nC:\r\nLong: x\r\n\ty\nD:e\r\n\r\nbody";
        let found = head(text).unwrap().unwrap();
        assert_eq!((found.status, found.reason.of(text.as_bytes())), (404, &b"Not  Here"[..]));
        let fields: Vec<_> =
            found.fields.iter().map(|(n, v)| (n.of(text.as_bytes()), v.of(text.as_bytes()))).collect();
        assert_eq!(fields, [(&b"A"[..], &b"b"[..]), (b"C", b""), (b"Long", b"x\r\n\ty"), (b"D", b"e")]);
        assert_eq!(&text[found.length..], "body");
        for end in 0..found.length {
            assert!(head(&text[..end]).unwrap().is_none(), "{end}");
        }
        assert_eq!(head("HTTP/1.0 200\n\n").unwrap().unwrap().version, HTTP_10);
        let behind = "\r\nHTTP/1.1 999 x\r\n\r\n";
        let found = head(behind).unwrap().unwrap();
        assert_eq!((found.status, found.length), (999, behind.len()));
        assert!((0..behind.len()).all(|end| head(&behind[..end]).unwrap().is_none()));
    }

    #[test]
    fn what_is_no_answer_is_told_with_its_bytes() {
        for text in [
            "HTTQ",
            "SSH-2.0-x\r\n",
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 20 x\r\n\r\n",
            "HTTP/1.1 2000 x\r\n\r\n",
            "HTTP/1.1 099 x\r\n\r\n",
            "HTTP/1.1200 x\r\n\r\n",
            "HTTP/1.1 200 a\x01\r\n\r\n",
            "\r\n\r\nHTTP/1.1 200\r\n\r\n",
            "HTTP/1.1 200 OK\r\n A: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
        ] {
            assert!(head(text).is_err(), "{text:?}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(9000));
        assert_eq!(head(&long).unwrap_err(), AnswerError::LineTooLong(8192));
        let many = format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(30_000));
        assert_eq!(head(&many).unwrap_err(), AnswerError::TooLong(128 << 10));
    }

    #[test]
    fn lines_that_are_no_fields_may_be_let_pass() {
        let text = b"HTTP/1.1 200 OK\r\nno field\r\nA: b\r\n\r\nrest";
        let with = |bad_line| parse(text, &Limits { bad_line, ..Limits::default() }).unwrap().unwrap();
        assert_eq!(
            (with(BadLine::Skip).fields.len(), &text[with(BadLine::Skip).length..]),
            (1, &b"rest"[..])
        );
        assert_eq!(&text[with(BadLine::Body).length..], b"no field\r\nA: b\r\n\r\nrest");
    }

    #[test]
    fn bodies_end_where_all_readers_see_their_end() {
        let body = |text: &str, to_head| head(text).unwrap().unwrap().body(text.as_bytes(), to_head);
        let of = |framing, keeps| Ok(Body { framing, keeps });
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false),
            of(Some(Framing::Length(5)), true)
        );
        assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true), of(Some(Framing::None), true));
        assert_eq!(
            body("HTTP/1.1 304 OK\r\nContent-Length: 5\r\n\r\n", false),
            of(Some(Framing::None), true)
        );
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\n", false), of(None, false));
        assert_eq!(
            body("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", false),
            of(Some(Framing::Length(5)), false)
        );
        let kept = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(body(kept, false), of(Some(Framing::Length(5)), true));
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false),
            of(Some(Framing::Chunked), true)
        );
        let both = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(body(both, false), of(Some(Framing::Chunked), false));
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(body(twice, false), of(Some(Framing::Length(5)), true));
        for bad in ["Content-Length: +5", "Content-Length: 5, 5", "Content-Length: 5\r\nContent-Length: 6"] {
            assert_eq!(
                body(&format!("HTTP/1.1 200 OK\r\n{bad}\r\n\r\n"), false),
                Err(AnswerError::Length),
                "{bad}"
            );
        }
        for bad in ["gzip, chunked", "identity", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked"]
        {
            let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {bad}\r\n\r\n");
            assert_eq!(body(&text, false), Err(AnswerError::Coding), "{bad}");
        }
    }

    #[test]
    fn what_goes_on_with_a_line_that_is_left_out_is_left_out() {
        let limits = Limits { bad_line: BadLine::Skip, ..Limits::default() };
        let text = "HTTP/1.1 200 OK\r\nA: b\r\nno field\r\n X: y\r\nC: d\r\n\r\n";
        let found = parse(text.as_bytes(), &limits).unwrap().unwrap();
        let values: Vec<_> = found.fields.iter().map(|(_, value)| value.of(text.as_bytes())).collect();
        assert_eq!(values, [&b"b"[..], b"d"]);
    }
}
