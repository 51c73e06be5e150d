//! Chunked transfer coding (RFC 9112 §7.1), decoded in place and strictly: sizes are hexadecimal digits and
//! nothing else, lines end in CR LF, and the sum of extensions is bounded.

use super::head::Limits;

/// Why a chunked body can't be read on; the connection can't be used afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// `chunk-size`.
    #[error("a chunk's size is not a hexadecimal number")]
    Size,
    /// `chunk-size` is more than a length can be.
    #[error("a chunk's size is 2^63 or more")]
    Overflow,
    /// The line end behind `chunk-data`, or of any line.
    #[error("a chunk is not followed by CR LF")]
    LineEnd,
    /// `chunk-ext`.
    #[error("chunk extensions are too long")]
    TooLong,
    /// `trailer-section`, as a whole.
    #[error(
        "there are more trailer fields than LimitRequestFields, or they are longer than LimitRequestFieldSize"
    )]
    TooManyTrailers,
    /// `trailer-section`, one field.
    #[error("a trailer field is malformed")]
    Trailer,
}

/// Longest chunk line with its extensions, in bytes.
const LINE_LIMIT: usize = 8190;
/// Longest trailer section that is kept, in bytes; of a longer one nothing is.
const KEPT: usize = 64 << 10;
/// Longest trailer section, in bytes, whatever the limits of fields are.
const TRAILER_LIMIT: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    Data(u64),
    DataEnd,
    Trailer,
    Done,
}

/// The decoder's state between two reads.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    limits: Limits,
    /// Bytes and number of trailer fields.
    trailer: (usize, usize),
    /// The fields themselves, each with its line's end, if somebody wants them.
    kept: Option<Vec<u8>>,
}

/// The element found at the start of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Skip the first number of bytes; the second number of bytes after them are data.
    Data {
        /// Bytes of framing.
        skip: usize,
        /// Bytes of the body.
        data: usize,
    },
    /// Skip these bytes and give more (0: the line isn't complete).
    More {
        /// Bytes of framing.
        skip: usize,
    },
    /// Skip these bytes: the body has ended.
    End {
        /// Bytes of framing.
        skip: usize,
    },
}

impl Decoder {
    /// The limits of header fields count for trailer fields too, which are counted by themselves.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { state: State::Size, limits, trailer: (0, 0), kept: None }
    }

    /// The same, which keeps the trailer fields for [`Self::take_trailer`].
    #[must_use]
    pub fn with_trailer(limits: Limits) -> Self {
        Self { kept: Some(Vec::new()), ..Self::new(limits) }
    }

    /// The trailer fields, once the body has ended: names and values. Folded lines go on with the value before them.
    pub fn take_trailer(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let kept = self.kept.take().unwrap_or_default();
        let mut fields: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for line in kept.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            match (memchr::memchr(b':', line), fields.last_mut()) {
                (_, Some((_, value))) if matches!(line[0], b' ' | b'\t') => {
                    value.push(b' ');
                    value.extend_from_slice(line.trim_ascii());
                }
                (Some(colon), _) => {
                    fields.push((line[..colon].to_vec(), line[colon + 1..].trim_ascii().to_vec()));
                }
                (None, _) => {}
            }
        }
        fields
    }

    fn keep(&mut self, line: &[u8]) {
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(line);
            kept.push(b'\n');
            if kept.len() > KEPT {
                self.kept = None;
            }
        }
    }

    /// Returns whether the body's end has come.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Looks at the start of `input` and consumes at most one run of data.
    ///
    /// # Errors
    /// The bytes are no chunked body; nothing after them can be understood.
    pub fn step(&mut self, input: &[u8]) -> Result<Step, ChunkError> {
        let mut at = 0;
        loop {
            match self.state {
                State::Done => return Ok(Step::End { skip: at }),
                State::Data(0) => self.state = State::DataEnd,
                State::Data(left) => {
                    let n = left.min((input.len() - at) as u64) as usize;
                    if n == 0 {
                        return Ok(Step::More { skip: at });
                    }
                    self.state = State::Data(left - n as u64);
                    return Ok(Step::Data { skip: at, data: n });
                }
                State::DataEnd => match &input[at..] {
                    [b'\r', b'\n', ..] => {
                        at += 2;
                        self.state = State::Size;
                    }
                    [b'\n', ..] if !self.limits.strict => {
                        at += 1;
                        self.state = State::Size;
                    }
                    [] | [b'\r'] => return Ok(Step::More { skip: at }),
                    _ => return Err(ChunkError::LineEnd),
                },
                State::Size => match line(&input[at..], LINE_LIMIT, self.limits.strict)? {
                    None => return Ok(Step::More { skip: at }),
                    Some((text, length)) => {
                        at += length;
                        let size = size(text)?;
                        self.state = if size == 0 { State::Trailer } else { State::Data(size) };
                    }
                },
                State::Trailer => match self.trailer_line(&input[at..])? {
                    None => return Ok(Step::More { skip: at }),
                    Some((b"", length)) => {
                        at += length;
                        self.state = State::Done;
                    }
                    Some((text, length)) => {
                        // A line that begins with a blank goes on with the field before it.
                        let folded = matches!(text[0], b' ' | b'\t') && self.trailer.1 > 1;
                        check_trailer(text, folded, self.limits.strict)?;
                        self.keep(text);
                        at += length;
                    }
                },
            }
        }
    }

    fn trailer_line<'a>(&mut self, input: &'a [u8]) -> Result<Option<Line<'a>>, ChunkError> {
        let too_long = |error| if error == ChunkError::TooLong { ChunkError::TooManyTrailers } else { error };
        // With CR LF; and Apache lets one byte more through.
        let line = line(input, self.limits.field_size + 2, self.limits.strict).map_err(too_long)?;
        if let Some((text, _)) = line.filter(|(text, _)| !text.is_empty()) {
            self.trailer.0 += text.len();
            self.trailer.1 += 1;
            let most = self.limits.fields;
            if self.trailer.0 > TRAILER_LIMIT || (most > 0 && self.trailer.1 > most) {
                return Err(ChunkError::TooManyTrailers);
            }
        }
        Ok(line)
    }
}

/// A line without its end, and its length with it.
type Line<'a> = (&'a [u8], usize);

/// The line at the start of `input`; without Strict it may end in LF alone.
fn line(input: &[u8], limit: usize, strict: bool) -> Result<Option<Line<'_>>, ChunkError> {
    match memchr::memchr(b'\n', input) {
        Some(end) if end > limit => Err(ChunkError::TooLong),
        Some(end) if end > 0 && input[end - 1] == b'\r' => Ok(Some((&input[..end - 1], end + 1))),
        Some(end) if !strict => Ok(Some((&input[..end], end + 1))),
        Some(_) => Err(ChunkError::LineEnd),
        None if input.len() > limit => Err(ChunkError::TooLong),
        None => Ok(None),
    }
}

/// `chunk-size [ chunk-ext ]`
fn size(text: &[u8]) -> Result<u64, ChunkError> {
    let digits = text.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let rest = text[digits..].trim_ascii_start();
    // As many blanks as Apache lets stand there.
    let blanks = text.len() - digits - rest.len();
    if digits == 0
        || blanks > 10
        || !(rest.is_empty() || rest[0] == b';')
        || text.iter().any(|&b| is_control(b))
    {
        return Err(ChunkError::Size);
    }
    let mut number = 0u64;
    for &digit in &text[..digits] {
        if number > (i64::MAX as u64) >> 4 {
            return Err(ChunkError::Overflow);
        }
        number = number << 4 | u64::from((digit as char).to_digit(16).unwrap_or(0));
    }
    Ok(number)
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7f
}

fn check_trailer(text: &[u8], folded: bool, strict: bool) -> Result<(), ChunkError> {
    let is_bad = |b: &u8| if strict { is_control(*b) } else { matches!(*b, 0 | 0x0b | 0x0c | b'\r') };
    let value = if folded { Some(text) } else { trailer_value(text) };
    match value {
        Some(value) if !text.trim_ascii().is_empty() && !value.iter().any(is_bad) => Ok(()),
        _ => Err(ChunkError::Trailer),
    }
}

/// Returns the text after a trailer field's name and colon.
fn trailer_value(text: &[u8]) -> Option<&[u8]> {
    let colon = memchr::memchr(b':', text)?;
    let is_name = colon > 0 && text[..colon].iter().copied().all(super::head::is_token);
    is_name.then(|| &text[colon..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes `text` given in pieces of `piece` bytes; the data, and what is left over.
    /// The body and what follows it; `None` if it does not end.
    type Decoded = Option<(Vec<u8>, Vec<u8>)>;

    fn decoded(text: &[u8], piece: usize) -> Result<Decoded, ChunkError> {
        let (mut decoder, mut out, mut buffer, mut fed) =
            (Decoder::new(Limits::default()), Vec::new(), Vec::new(), 0);
        loop {
            match decoder.step(&buffer)? {
                Step::Data { skip, data } => {
                    out.extend_from_slice(&buffer[skip..skip + data]);
                    buffer.drain(..skip + data);
                }
                Step::End { skip } => {
                    buffer.drain(..skip);
                    buffer.extend_from_slice(&text[fed..]);
                    return Ok(Some((out, buffer)));
                }
                Step::More { skip } => {
                    buffer.drain(..skip);
                    if fed == text.len() {
                        return Ok(None);
                    }
                    let n = piece.min(text.len() - fed);
                    buffer.extend_from_slice(&text[fed..fed + n]);
                    fed += n;
                }
            }
        }
    }

    #[test]
    fn any_split_gives_the_same() {
        let text = b"5\r\nhello\r\n6;x=\"y\"\r\n world\r\n0\r\nT: v\r\n\r\nnext";
        for piece in 1..text.len() {
            let (data, rest) = decoded(text, piece).unwrap().unwrap();
            assert_eq!((data.as_slice(), rest.as_slice()), (&b"hello world"[..], &b"next"[..]), "{piece}");
        }
    }

    #[test]
    fn bad_sizes_are_refused() {
        for size in [
            "0x2",
            "+2",
            "2_0",
            " 2",
            "",
            "00000000000000001",
            "-1",
            "g",
            "2\r",
            "ffffffffffffffff",
            ";x",
            "2;\x7f",
        ] {
            let text = format!("{size}\r\nab\r\n0\r\n\r\n");
            assert!(decoded(text.as_bytes(), 100).is_err(), "{size:?}");
        }
    }

    #[test]
    fn bad_line_ends_and_trailers_are_refused() {
        assert!(decoded(b"2\nab\r\n0\r\n\r\n", 100).is_err());
        assert!(decoded(b"2\r\nabX\r\n0\r\n\r\n", 100).is_err());
        assert!(decoded(b"2\r\nab\n0\r\n\r\n", 100).is_err());
        assert_eq!(decoded(b"0\r\nno colon\r\n\r\n", 100), Err(ChunkError::Trailer));
        assert_eq!(decoded(b"0\r\n first\r\n\r\n", 100), Err(ChunkError::Trailer));
        assert_eq!(decoded(b"0\r\nA: b\r\n \r\n\r\n", 100), Err(ChunkError::Trailer));
        assert!(decoded(b"0\r\nA: b\r\n c\r\n\r\n", 100).unwrap().is_some());
        assert_eq!(
            decoded(format!("0;{}\r\n\r\n", "x".repeat(9000)).as_bytes(), 100),
            Err(ChunkError::TooLong)
        );
    }

    #[test]
    fn trailers_have_the_limits_of_headers() {
        let fields = |n: usize| format!("0\r\n{}\r\n", "A: b\r\n".repeat(n));
        assert!(decoded(fields(100).as_bytes(), 10_000).is_ok());
        assert_eq!(decoded(fields(101).as_bytes(), 10_000), Err(ChunkError::TooManyTrailers));
        let field = |n: usize| format!("0\r\nA: {}\r\n\r\n", "b".repeat(n - 3));
        assert!(decoded(field(8191).as_bytes(), 100_000).is_ok());
        assert_eq!(decoded(field(8192).as_bytes(), 100_000), Err(ChunkError::TooManyTrailers));
    }

    #[test]
    fn trailers_are_kept_for_who_wants_them() {
        let mut decoder = Decoder::with_trailer(Limits::default());
        let text = b"0\r\nA: b \r\n c\r\nD:\r\n\r\n";
        assert_eq!(decoder.step(text), Ok(Step::End { skip: text.len() }));
        let field = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        assert_eq!(decoder.take_trailer(), [field("A", "b c"), field("D", "")]);
        let mut decoder = Decoder::with_trailer(Limits::default());
        let text = format!("0\r\n{}\r\n", format!("A: {}\r\n", "b".repeat(8000)).repeat(9));
        assert_eq!(decoder.step(text.as_bytes()), Ok(Step::End { skip: text.len() }));
        assert_eq!(decoder.take_trailer(), []);
    }

    #[test]
    fn an_unfinished_body_is_not_an_end() {
        assert_eq!(decoded(b"5\r\nhel", 100).unwrap(), None);
        assert_eq!(decoded(b"5\r\nhello\r\n0\r\n", 100).unwrap(), None);
    }
}
