//! The head of an HTTP/1 request: request line and fields, as ranges of the buffer they stand in.
//!
//! Strict by default (`HttpProtocolOptions Strict`): what RFC 9112 forbids is refused, because two readers that
//! disagree about a message can be played against each other (request smuggling). No I/O, no allocation beyond
//! the list of fields.

use hashbrown::HashMap;
use memchr::memchr;
use smallvec::SmallVec;

/// A range of the head's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Of its first byte.
    pub start: u32,
    /// Behind its last byte.
    pub end: u32,
}

impl Span {
    fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// Its bytes; `buffer` is the one that was parsed, or begins as it does.
    #[must_use]
    #[inline]
    pub fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start as usize..self.end as usize]
    }
}

/// One field; `folded` lines have to be joined by the reader (RFC 9112 §5.2).
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// A token; with lenient limits anything without blanks.
    pub name: Span,
    /// Without the blanks around it.
    pub value: Span,
    /// It goes on over several lines, see [`unfold`].
    pub folded: bool,
}

/// Protocol versions, as 1000 × major + minor (Apache's `proto_num`).
pub type Version = u16;
/// HTTP/0.9: a request line without a version.
pub const HTTP_09: Version = 9;
/// HTTP/1.0 (RFC 1945).
pub const HTTP_10: Version = 1000;
/// HTTP/1.1 (RFC 9112).
pub const HTTP_11: Version = 1001;
/// HTTP/2 (RFC 9113).
pub const HTTP_2: Version = 2000;

/// A parsed head.
#[derive(Clone, Debug)]
pub struct Head {
    /// The request line without its line end.
    pub line: Span,
    /// A token, as it was sent.
    pub method: Span,
    /// As it was sent, see [`crate::uri::split`].
    pub target: Span,
    /// Below [`HTTP_2`].
    pub version: Version,
    /// In the order in which they came.
    pub fields: SmallVec<[Field; 16]>,
    /// Bytes of the buffer that the head takes, its empty line included.
    pub length: usize,
}

impl Head {
    /// The first field of this name.
    #[must_use]
    pub fn field<'a>(&self, buffer: &'a [u8], name: &str) -> Option<&'a [u8]> {
        self.fields
            .iter()
            .find(|f| f.name.of(buffer).eq_ignore_ascii_case(name.as_bytes()))
            .map(|f| f.value.of(buffer))
    }
}

/// `LimitRequestLine`, `LimitRequestFields`, `LimitRequestFieldSize` and `HttpProtocolOptions`.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest request line, in bytes.
    pub line: usize,
    /// Most fields; 0 is no limit.
    pub fields: usize,
    /// Longest field, in bytes.
    pub field_size: usize,
    /// `HttpProtocolOptions Strict`.
    pub strict: bool,
    /// `RegisteredMethods` is on: only registered methods are known.
    pub registered_methods: bool,
    /// `Allow0.9`.
    pub allow_09: bool,
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
pub enum HeadError {
    /// `LimitRequestLine`.
    #[error("the request line is longer than LimitRequestLine")]
    LineTooLong,
    /// `LimitRequestFields`.
    #[error("there are more header fields than LimitRequestFields")]
    TooManyFields,
    /// `LimitRequestFieldSize`.
    #[error("a header field is longer than LimitRequestFieldSize")]
    FieldTooLong,
    /// RFC 9112 §3.
    #[error("the request line is malformed")]
    RequestLine,
    /// RFC 9112 §2.2.
    #[error("a line doesn't end in CR LF")]
    LineEnd,
    /// RFC 9112 §5.1.
    #[error("a header field has no colon, or its name is not a token")]
    FieldName,
    /// RFC 9110 §5.5.
    #[error("a header field's value has a control character")]
    FieldValue,
    /// RFC 9112 §2.2.
    #[error("the first header line starts with white space")]
    Fold,
    /// RFC 9112 §5.2.
    #[error("a folded line has nothing but white space")]
    EmptyFold,
    /// `LimitRequestFieldSize`, of several fields.
    #[error("header fields of one name are together longer than LimitRequestFieldSize")]
    MergedTooLong,
    /// RFC 9112 §8: the connection ends before the head does.
    #[error("the request head breaks off")]
    Cut,
    /// RFC 9112 §2.3.
    #[error("the protocol version is not HTTP/0.9, HTTP/1.0 or HTTP/1.1")]
    Version,
    /// `HttpProtocolOptions Require1.0`.
    #[error("HTTP/0.9 is not allowed here")]
    Http09,
}

impl HeadError {
    /// The status that answers it.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::LineTooLong => 414,
            Self::Version => 505,
            _ => 400,
        }
    }
}

/// RFC 9110 §5.6.2 `tchar`.
#[must_use]
pub fn is_token(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'z' | b'|' | b'~')
        || byte.is_ascii_alphanumeric()
}

/// A head that has not come as a whole: what is known of it, so that each line is read once, however it arrives.
#[derive(Debug, Default)]
pub struct Partial {
    /// The start of the first incomplete line.
    at: usize,
    /// No line ends before here.
    searched: usize,
    /// Empty lines before the request line.
    empty: usize,
    /// The lines before it.
    head: Option<Head>,
    /// Bytes of the last field with its folded lines.
    field: usize,
}

/// Most fields where `LimitRequestFields` does not limit them: looking for one takes the longer the more there are.
const MOST_FIELDS: usize = 4096;

/// Empty lines that may come before the request line (Apache's number).
const EMPTY_LINES: usize = 10;

/// Parses the head at the start of `buffer`.
///
/// `Ok(None)`: more bytes are needed.
///
/// # Errors
/// The head can't be understood, or is longer than `limits` allow.
pub fn parse(buffer: &[u8], limits: &Limits) -> Result<Option<Head>, HeadError> {
    Partial::default().parse(buffer, limits)
}

impl Partial {
    /// Parses the head at the start of `buffer`, of which this knows what was there the last time.
    ///
    /// `Ok(None)`: more bytes are needed. Else this is of no further use.
    ///
    /// # Errors
    /// The head can't be understood, or is longer than `limits` allow.
    pub fn parse(&mut self, buffer: &[u8], limits: &Limits) -> Result<Option<Head>, HeadError> {
        if self.head.is_none() {
            let Some(head) = self.request_line(buffer, limits)? else { return Ok(None) };
            self.head = Some(head);
        }
        let Some(mut head) = self.head.take() else { return Ok(None) };
        if head.version == HTTP_09 {
            head.length = self.at;
            return Ok(Some(head));
        }
        // Apache lets one byte more through.
        let longest = limits.field_size + 1;
        while let Some((start, end)) = self.line(buffer, limits, longest, HeadError::FieldTooLong)? {
            if start == end {
                head.length = self.at;
                check_merged(&head, buffer, limits)?;
                return Ok(Some(head));
            }
            if matches!(buffer[start], b' ' | b'\t') {
                self.fold(buffer, start, end, &mut head, limits)?;
            } else {
                field(buffer, start, end, &mut head, limits)?;
                self.field = end - start;
            }
        }
        self.head = Some(head);
        Ok(None)
    }

    /// Returns whether the request line has come as a whole, and more of the head is needed.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.head.is_some()
    }

    fn request_line(&mut self, buffer: &[u8], limits: &Limits) -> Result<Option<Head>, HeadError> {
        while let Some((start, end)) = self.line(buffer, limits, limits.line, HeadError::LineTooLong)? {
            if start < end {
                return request_line(buffer, start, end, limits).map(Some);
            }
            // RFC 9112 §2.2: empty lines before the request line are skipped.
            self.empty += 1;
            if self.empty > EMPTY_LINES {
                return Err(HeadError::RequestLine);
            }
        }
        Ok(None)
    }

    /// The next line, without its end.
    fn line(
        &mut self,
        buffer: &[u8],
        limits: &Limits,
        longest: usize,
        too_long: HeadError,
    ) -> Result<Option<(usize, usize)>, HeadError> {
        let start = self.at;
        let Some(newline) = memchr(b'\n', &buffer[self.searched..]).map(|n| self.searched + n) else {
            self.searched = buffer.len();
            return if buffer.len() - start > longest + 1 { Err(too_long) } else { Ok(None) };
        };
        (self.at, self.searched) = (newline + 1, newline + 1);
        let end = if newline > start && buffer[newline - 1] == b'\r' {
            newline - 1
        } else if limits.strict {
            return Err(if newline - start > longest { too_long } else { HeadError::LineEnd });
        } else {
            newline
        };
        if end - start > longest { Err(too_long) } else { Ok(Some((start, end))) }
    }

    /// A continuation line: the value goes on to its end; [`unfold`] makes it one line.
    fn fold(
        &mut self,
        buffer: &[u8],
        start: usize,
        end: usize,
        head: &mut Head,
        limits: &Limits,
    ) -> Result<(), HeadError> {
        let last = head.fields.last_mut().ok_or(HeadError::Fold)?;
        let text = buffer[start..end].trim_ascii();
        if text.is_empty() {
            return Err(HeadError::EmptyFold);
        }
        if text.iter().any(|&b| is_bad_in_value(b, limits)) {
            return Err(HeadError::FieldValue);
        }
        // One of the blanks counts; and so does the byte that ends it in Apache.
        self.field += text.len() + 1;
        if self.field + 1 >= limits.field_size {
            return Err(HeadError::FieldTooLong);
        }
        last.value.end = end as u32;
        last.folded = true;
        Ok(())
    }
}

fn request_line(buffer: &[u8], start: usize, end: usize, limits: &Limits) -> Result<Head, HeadError> {
    let line = &buffer[start..end];
    let strict = limits.strict;
    // Without Strict there may be several spaces, and some behind the version.
    let blanks = |from: usize| match line.get(from) {
        Some(b' ') if strict => from + 1,
        _ => from + line[from..].iter().take_while(|&&b| b == b' ').count(),
    };
    let word = |from: usize| memchr(b' ', &line[from..]).map_or(line.len(), |n| from + n);
    let method_end = memchr(b' ', line).ok_or(HeadError::RequestLine)?;
    let method = &line[..method_end];
    let is_method = |b: u8| if strict { is_token(b) } else { b > b' ' && b != 0x7f };
    if method.is_empty() || !method.iter().copied().all(is_method) {
        return Err(HeadError::RequestLine);
    }
    let target_start = blanks(method_end);
    let target_end = word(target_start);
    let target = &line[target_start..target_end];
    if target.is_empty() || target.iter().any(|&b| b <= b' ' || b == 0x7f) {
        return Err(HeadError::RequestLine);
    }
    let mut rest = &line[blanks(target_end)..];
    while let Some((b' ', before)) = rest.split_last().filter(|_| !strict) {
        rest = before;
    }
    let version = if rest.is_empty() { version_09(method, target, limits)? } else { version(rest, strict)? };
    Ok(Head {
        line: Span::new(start, end),
        method: Span::new(start, start + method_end),
        target: Span::new(start + target_start, start + target_end),
        version,
        fields: SmallVec::new(),
        length: 0,
    })
}

/// A request line without a version; its answer has no head, so it must not be taken for a slip in one that has.
fn version_09(method: &[u8], target: &[u8], limits: &Limits) -> Result<Version, HeadError> {
    if !limits.allow_09 {
        return Err(HeadError::Http09);
    }
    let is_place = target.starts_with(b"/") || memchr::memmem::find(target, b"://").is_some();
    if !is_place || (limits.strict && method != b"GET") {
        return Err(HeadError::RequestLine);
    }
    Ok(HTTP_09)
}

fn version(text: &[u8], strict: bool) -> Result<Version, HeadError> {
    let name = text.get(..5).ok_or(HeadError::RequestLine)?;
    if name != b"HTTP/" && (strict || !name.eq_ignore_ascii_case(b"HTTP/")) {
        return Err(HeadError::RequestLine);
    }
    match &text[5..] {
        b"1.0" => Ok(HTTP_10),
        // A later minor version is understood as the highest we know (RFC 9110 §2.5); programs are told what was sent.
        [b'1', b'.', minor] if minor.is_ascii_digit() => Ok(HTTP_10 + Version::from(minor - b'0')),
        [major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => Err(HeadError::Version),
        _ => Err(HeadError::RequestLine),
    }
}

fn field(buffer: &[u8], start: usize, end: usize, head: &mut Head, limits: &Limits) -> Result<(), HeadError> {
    let line = &buffer[start..end];
    if head.fields.len() >= if limits.fields > 0 { limits.fields } else { MOST_FIELDS } {
        return Err(HeadError::TooManyFields);
    }
    // A blank before the colon is never skipped, whatever the options: others take it for another field's name.
    let colon = memchr(b':', line).ok_or(HeadError::FieldName)?;
    let name = &line[..colon];
    let is_name =
        |b: u8| if limits.strict { is_token(b) } else { !b.is_ascii_whitespace() && b != 0x0b && b != 0 };
    if name.is_empty() || !name.iter().copied().all(is_name) {
        return Err(HeadError::FieldName);
    }
    let blank = |b: &u8| matches!(b, b' ' | b'\t');
    let value_start = colon + 1 + line[colon + 1..].iter().take_while(|b| blank(b)).count();
    let value_end = line.len() - line[value_start..].iter().rev().take_while(|b| blank(b)).count();
    if line[value_start..value_end].iter().any(|&b| is_bad_in_value(b, limits)) {
        return Err(HeadError::FieldValue);
    }
    head.fields.push(Field {
        name: Span::new(start, start + colon),
        value: Span::new(start + value_start, start + value_end),
        folded: false,
    });
    Ok(())
}

/// Fields of one name are one field (RFC 9110 §5.3), for the limit of a field too.
fn check_merged(head: &Head, buffer: &[u8], limits: &Limits) -> Result<(), HeadError> {
    if head.length <= limits.field_size {
        return Ok(());
    }
    let mut lengths: HashMap<Vec<u8>, usize> = HashMap::with_capacity(head.fields.len());
    for field in &head.fields {
        let value = field.value.of(buffer);
        let value = if field.folded { unfold(value).len() } else { value.len() };
        let separated = lengths.entry(field.name.of(buffer).to_ascii_lowercase());
        // Alone it was measured as a line.
        let merged = separated.and_modify(|length| *length += ", ".len() + value).or_insert(value);
        if *merged > limits.field_size {
            return Err(HeadError::MergedTooLong);
        }
    }
    Ok(())
}

/// Without Strict only what could end a line somewhere, or a text in C.
fn is_bad_in_value(byte: u8, limits: &Limits) -> bool {
    if limits.strict {
        (byte < b' ' && byte != b'\t') || byte == 0x7f
    } else {
        matches!(byte, 0 | b'\n' | 0x0b | 0x0c | b'\r')
    }
}

/// A folded value with each line end and the white space around it replaced by one space (RFC 9112 §5.2).
#[must_use]
pub fn unfold(value: &[u8]) -> Vec<u8> {
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
        assert_eq!(refused("GET / HTTP/1.1\r\nA: b\r\n \r\n c\r\n\r\n"), HeadError::EmptyFold);
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

    #[test]
    fn however_a_head_arrives_each_line_is_read_once() {
        let folds = " x\r\n".repeat(2000);
        let text = format!("\r\nGET / HTTP/1.1\r\nHost: x\r\nA: b\r\n{folds}B: c\r\n\r\nrest");
        let whole = parsed(&text).unwrap().unwrap();
        let end = whole.length;
        let mut partial = Partial::default();
        for n in 0..end {
            assert!(partial.parse(&text.as_bytes()[..n], &Limits::default()).unwrap().is_none(), "{n}");
            // What has been read is not looked at again.
            assert!(partial.searched == n && n - partial.at <= 17, "{n}");
        }
        let head = partial.parse(text.as_bytes(), &Limits::default()).unwrap().unwrap();
        assert_eq!((head.length, head.fields.len()), (end, 3));
        let spans = |head: &Head| head.fields.iter().map(|f| (f.name, f.value, f.folded)).collect::<Vec<_>>();
        assert_eq!(spans(&head), spans(&whole));
    }

    #[test]
    fn a_folded_field_is_bounded_as_a_whole() {
        let folds = " x\r\n".repeat(5000);
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\nA: b\r\n{folds}\r\n")), HeadError::FieldTooLong);
    }

    #[test]
    fn fields_of_one_name_are_measured_together() {
        let two =
            |n: usize| format!("GET / HTTP/1.1\r\nA: {}\r\na: {}\r\n\r\n", "b".repeat(n), "c".repeat(4000));
        assert!(parsed(&two(4188)).unwrap().is_some());
        assert_eq!(refused(&two(4189)), HeadError::MergedTooLong);
    }

    #[test]
    fn a_head_without_a_limit_of_fields_is_bounded_all_the_same() {
        let limits = Limits { fields: 0, ..Limits::default() };
        let text = format!("GET / HTTP/1.1\r\n{}", "A: b\r\n".repeat(MOST_FIELDS + 1));
        assert_eq!(parse(text.as_bytes(), &limits).unwrap_err(), HeadError::TooManyFields);
    }

    #[test]
    fn a_blank_before_the_colon_is_refused_whatever_the_options() {
        for strict in [true, false] {
            let limits = Limits { strict, ..Limits::default() };
            for name in ["Content-Length ", "Transfer-Encoding\t", "Host\u{b}", "a b"] {
                let text = format!("GET / HTTP/1.1\r\n{name}: 5\r\n\r\n");
                assert_eq!(parse(text.as_bytes(), &limits).unwrap_err(), HeadError::FieldName, "{name:?}");
            }
        }
    }

    #[test]
    fn a_slip_in_a_request_line_is_not_taken_for_http_09() {
        assert_eq!(refused("GET HTTP/1.1\r\n\r\n"), HeadError::RequestLine);
        assert_eq!(refused("GET *\r\n"), HeadError::RequestLine);
        assert_eq!(parsed("GET /x\r\n").unwrap().unwrap().version, HTTP_09);
        assert_eq!(parsed("GET http://a/x\r\n").unwrap().unwrap().version, HTTP_09);
    }

    #[test]
    fn as_many_empty_lines_as_in_apache_may_come_first() {
        let after = |n| "\r\n".repeat(n) + "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        assert!(parsed(&after(10)).unwrap().is_some());
        assert_eq!(refused(&after(11)), HeadError::RequestLine);
    }
}
