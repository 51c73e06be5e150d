//! The head of an HTTP/1 request: request line and fields, as ranges of the buffer they stand in.
//!
//! Strict by default (`HttpProtocolOptions Strict`): what RFC 9112 forbids is refused, because two readers that
//! disagree about a message can be played against each other (request smuggling). No I/O, no allocation beyond
//! the list of fields.

use memchr::memchr;
use smallvec::SmallVec;

/// A range of the head's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub(crate) fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start as usize..self.end as usize]
    }
}

/// One field; `folded` lines have to be joined by the reader (RFC 9112 §5.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: Span,
    pub(crate) value: Span,
    pub(crate) folded: bool,
}

/// Protocol versions, as 1000 × major + minor (Apache's `proto_num`).
pub(crate) type Version = u16;
pub(crate) const HTTP_09: Version = 9;
pub(crate) const HTTP_10: Version = 1000;
pub(crate) const HTTP_11: Version = 1001;
pub(crate) const HTTP_2: Version = 2000;

/// A parsed head.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// The request line without its line end.
    pub(crate) line: Span,
    pub(crate) method: Span,
    pub(crate) target: Span,
    pub(crate) version: Version,
    pub(crate) fields: SmallVec<[Field; 16]>,
    /// Bytes of the buffer that the head takes, its empty line included.
    pub(crate) length: usize,
}

impl Head {
    /// The first field of this name.
    pub(crate) fn field<'a>(&self, buffer: &'a [u8], name: &str) -> Option<&'a [u8]> {
        self.fields
            .iter()
            .find(|f| f.name.of(buffer).eq_ignore_ascii_case(name.as_bytes()))
            .map(|f| f.value.of(buffer))
    }
}

/// `LimitRequestLine`, `LimitRequestFields`, `LimitRequestFieldSize` and `HttpProtocolOptions`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Longest request line, in bytes.
    pub(crate) line: usize,
    /// Most fields; 0 is no limit.
    pub(crate) fields: usize,
    /// Longest field, in bytes.
    pub(crate) field_size: usize,
    /// `HttpProtocolOptions Strict`.
    pub(crate) strict: bool,
    /// `RegisteredMethods` is on: only registered methods are known.
    pub(crate) registered_methods: bool,
    /// `Allow0.9`.
    pub(crate) allow_09: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line: 8190,
            fields: 100,
            field_size: 8190,
            strict: true,
            registered_methods: false,
            allow_09: true,
        }
    }
}

/// Why a head can't be used. Each has a status and a sentence for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadError {
    #[error("the request line is longer than LimitRequestLine")]
    LineTooLong,
    #[error("there are more header fields than LimitRequestFields")]
    TooManyFields,
    #[error("a header field is longer than LimitRequestFieldSize")]
    FieldTooLong,
    #[error("the request line is malformed")]
    RequestLine,
    #[error("a line doesn't end in CR LF")]
    LineEnd,
    #[error("a header field has no colon, or its name is not a token")]
    FieldName,
    #[error("a header field's value has a control character")]
    FieldValue,
    #[error("the first header line starts with white space")]
    Fold,
    #[error("the protocol version is not HTTP/0.9, HTTP/1.0 or HTTP/1.1")]
    Version,
    #[error("HTTP/0.9 is not allowed here")]
    Http09,
}

impl HeadError {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::LineTooLong => 414,
            Self::Version => 505,
            _ => 400,
        }
    }
}

/// RFC 9110 §5.6.2 `tchar`.
pub(crate) fn is_token(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'z' | b'|' | b'~')
        || byte.is_ascii_alphanumeric()
}

/// Parses the head at the start of `buffer`.
///
/// `Ok(None)`: more bytes are needed.
pub(crate) fn parse(buffer: &[u8], limits: &Limits) -> Result<Option<Head>, HeadError> {
    let mut at = 0;
    // RFC 9112 §2.2: empty lines before the request line are skipped.
    let (line_start, line_end) = loop {
        match line(buffer, at, limits, limits.line, HeadError::LineTooLong)? {
            None => return Ok(None),
            Some((end, next)) if end == at => {
                if next > 64 {
                    return Err(HeadError::RequestLine);
                }
                at = next;
            }
            Some((end, next)) => {
                let start = at;
                at = next;
                break (start, end);
            }
        }
    };
    let mut head = request_line(buffer, line_start, line_end, limits)?;
    if head.version == HTTP_09 {
        head.length = at;
        return Ok(Some(head));
    }
    loop {
        // Apache lets one byte more through.
        let longest = limits.field_size + 1;
        let Some((end, next)) = line(buffer, at, limits, longest, HeadError::FieldTooLong)? else {
            // Bound what a head may make us keep before it ends.
            return if limits.fields > 0 && head.fields.len() > limits.fields {
                Err(HeadError::TooManyFields)
            } else {
                Ok(None)
            };
        };
        if end == at {
            head.length = next;
            return Ok(Some(head));
        }
        field(buffer, at, end, &mut head, limits)?;
        at = next;
    }
}

/// The line at `at`: its end without the line end, and where the next one starts.
fn line(
    buffer: &[u8],
    at: usize,
    limits: &Limits,
    longest: usize,
    too_long: HeadError,
) -> Result<Option<(usize, usize)>, HeadError> {
    let rest = &buffer[at..];
    let Some(newline) = memchr(b'\n', rest) else {
        return if rest.len() > longest + 1 { Err(too_long) } else { Ok(None) };
    };
    let end = if newline > 0 && rest[newline - 1] == b'\r' {
        at + newline - 1
    } else if limits.strict {
        return Err(if newline > longest { too_long } else { HeadError::LineEnd });
    } else {
        at + newline
    };
    if end - at > longest { Err(too_long) } else { Ok(Some((end, at + newline + 1))) }
}

fn request_line(buffer: &[u8], start: usize, end: usize, limits: &Limits) -> Result<Head, HeadError> {
    let line = &buffer[start..end];
    let first = memchr(b' ', line).ok_or(HeadError::RequestLine)?;
    if first == 0 || !line[..first].iter().copied().all(is_token) {
        return Err(HeadError::RequestLine);
    }
    let target_start = first + 1;
    let (target_end, version) = match memchr(b' ', &line[target_start..]) {
        Some(space) => (target_start + space, version(&line[target_start + space + 1..])?),
        None if limits.allow_09 && &line[..first] == b"GET" => (line.len(), HTTP_09),
        None if limits.allow_09 => return Err(HeadError::RequestLine),
        None => return Err(HeadError::Http09),
    };
    let target = &line[target_start..target_end];
    if target.is_empty() || target.iter().any(|&b| b <= b' ' || b == 0x7f) {
        return Err(HeadError::RequestLine);
    }
    Ok(Head {
        line: Span::new(start, end),
        method: Span::new(start, start + first),
        target: Span::new(start + target_start, start + target_end),
        version,
        fields: SmallVec::new(),
        length: 0,
    })
}

fn version(text: &[u8]) -> Result<Version, HeadError> {
    match text {
        b"HTTP/1.1" => Ok(HTTP_11),
        b"HTTP/1.0" => Ok(HTTP_10),
        // A later minor version is understood as the highest we know (RFC 9110 §2.5).
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor] if minor.is_ascii_digit() => Ok(HTTP_11),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Err(HeadError::Version)
        }
        _ => Err(HeadError::RequestLine),
    }
}

fn field(buffer: &[u8], start: usize, end: usize, head: &mut Head, limits: &Limits) -> Result<(), HeadError> {
    let line = &buffer[start..end];
    if matches!(line[0], b' ' | b'\t') {
        return fold(buffer, start, end, head, limits);
    }
    if limits.fields > 0 && head.fields.len() >= limits.fields {
        return Err(HeadError::TooManyFields);
    }
    let colon = memchr(b':', line).ok_or(HeadError::FieldName)?;
    let mut name_end = colon;
    if !limits.strict {
        while name_end > 0 && matches!(line[name_end - 1], b' ' | b'\t') {
            name_end -= 1;
        }
    }
    if name_end == 0 || !line[..name_end].iter().copied().all(is_token) {
        return Err(HeadError::FieldName);
    }
    let mut value_start = colon + 1;
    while value_start < line.len() && matches!(line[value_start], b' ' | b'\t') {
        value_start += 1;
    }
    let mut value_end = line.len();
    while value_end > value_start && matches!(line[value_end - 1], b' ' | b'\t') {
        value_end -= 1;
    }
    if line[value_start..value_end].iter().any(|&b| (b < b' ' && b != b'\t') || b == 0x7f) {
        return Err(HeadError::FieldValue);
    }
    head.fields.push(Field {
        name: Span::new(start, start + name_end),
        value: Span::new(start + value_start, start + value_end),
        folded: false,
    });
    Ok(())
}

/// A continuation line: the value goes on to its end; [`unfold`] makes it one line.
fn fold(buffer: &[u8], start: usize, end: usize, head: &mut Head, limits: &Limits) -> Result<(), HeadError> {
    let last = head.fields.last_mut().ok_or(HeadError::Fold)?;
    if buffer[start..end].iter().any(|&b| (b < b' ' && b != b'\t') || b == 0x7f) {
        return Err(HeadError::FieldValue);
    }
    if end - last.name.start as usize > limits.field_size {
        return Err(HeadError::FieldTooLong);
    }
    last.value.end = end as u32;
    last.folded = true;
    Ok(())
}

/// A folded value with each line end and the white space around it replaced by one space (RFC 9112 §5.2).
pub(crate) fn unfold(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for piece in value.split(|&b| b == b'\n') {
        let piece = piece.trim_ascii();
        if !out.is_empty() && !piece.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(piece);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<Head>, HeadError> {
        parse(text.as_bytes(), &Limits::default())
    }

    fn refused(text: &str) -> HeadError {
        parsed(text).expect_err(text)
    }

    #[test]
    fn an_ordinary_head() {
        let text = "GET /a?b HTTP/1.1\r\nHost: x\r\nEmpty:\r\nPad:  v \t\r\n\r\nrest";
        let head = parsed(text).unwrap().unwrap();
        let buffer = text.as_bytes();
        assert_eq!(head.method.of(buffer), b"GET");
        assert_eq!(head.target.of(buffer), b"/a?b");
        assert_eq!(head.version, HTTP_11);
        assert_eq!(head.field(buffer, "host"), Some(&b"x"[..]));
        assert_eq!(head.field(buffer, "empty"), Some(&b""[..]));
        assert_eq!(head.field(buffer, "PAD"), Some(&b"v"[..]));
        assert_eq!(&buffer[head.length..], b"rest");
    }

    #[test]
    fn every_shorter_prefix_asks_for_more() {
        let text = "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n";
        for n in 0..text.len() {
            assert!(parsed(&text[..n]).unwrap().is_none(), "{n}");
        }
        assert!(parsed(text).unwrap().is_some());
    }

    #[test]
    fn strictness() {
        assert_eq!(refused("GET / HTTP/1.1\nHost: x\r\n\r\n"), HeadError::LineEnd);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: x\n\r\n"), HeadError::LineEnd);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost : x\r\n\r\n"), HeadError::FieldName);
        assert_eq!(refused("GET / HTTP/1.1\r\n: x\r\n\r\n"), HeadError::FieldName);
        assert_eq!(refused("GET / HTTP/1.1\r\nnocolon\r\n\r\n"), HeadError::FieldName);
        assert_eq!(refused("GET / HTTP/1.1\r\nA: b\rc\r\n\r\n"), HeadError::FieldValue);
        assert_eq!(refused("GET / HTTP/1.1\r\nA: b\0c\r\n\r\n"), HeadError::FieldValue);
        assert_eq!(refused("GET / HTTP/1.1\r\n A: b\r\n\r\n"), HeadError::Fold);
        assert_eq!(refused("GET / HTTP/1.1\r\nA: b\r\n c\rd\r\n\r\n"), HeadError::FieldValue);
        assert_eq!(refused("GET / HTTP/1.10\r\n\r\n"), HeadError::RequestLine);
        assert_eq!(refused("GET / HTTP2.0\r\n\r\n"), HeadError::RequestLine);
        assert_eq!(refused("GET / HTTP/2.0\r\n\r\n"), HeadError::Version);
        assert_eq!(refused("GET  / HTTP/1.1\r\n\r\n"), HeadError::RequestLine);
        assert_eq!(refused("G(T / HTTP/1.1\r\n\r\n"), HeadError::RequestLine);
    }

    #[test]
    fn limits_hold_before_the_line_ends() {
        assert_eq!(refused(&format!("GET /{}", "a".repeat(9000))), HeadError::LineTooLong);
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(9000))), HeadError::FieldTooLong);
        let many = "A: b\r\n".repeat(101);
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\n{many}")), HeadError::TooManyFields);
    }

    #[test]
    fn folding_joins_with_one_space() {
        let text = "GET / HTTP/1.1\r\nA: b \r\n  c\r\n\td\r\n\r\n";
        let head = parsed(text).unwrap().unwrap();
        assert!(head.fields[0].folded);
        assert_eq!(unfold(head.fields[0].value.of(text.as_bytes())), b"b c d");
    }
}
