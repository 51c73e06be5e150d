//! Reads answers as they come in, in pieces: finds the end of each, counts the bytes of its body, stores none of it.
//!
//! RFC 9112 §6.3: the body's length. Fields that don't matter for that are not looked at.

/// Longest head that is read.
const LONGEST_HEAD: usize = 64 << 10;

/// Fields of a head.
const MOST_FIELDS: usize = 128;

/// The framing of a response's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// So many bytes.
    Length(u64),
    /// The empty chunk.
    Chunked,
    /// The end of the connection.
    Close,
}

/// The facts of a response's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The status.
    pub(super) status: u16,
    /// True if the connection can take another request after the answer.
    pub(super) keep: bool,
    framing: Framing,
}

/// The last head with its meaning: a server's heads are mostly the same, byte by byte.
#[derive(Debug, Default)]
pub(super) struct LastHead {
    bytes: Vec<u8>,
    head: Option<Head>,
}

/// The position in a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// In its head.
    #[default]
    Head,
    /// In a body or chunk, so many bytes before its end.
    Body { left: u64 },
    /// In a line of a chunked body.
    Line(Line),
    /// In a body that ends with the connection.
    Rest,
}

/// Lines of a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Digits of a size.
    Size { size: u64, digits: u8 },
    /// After the digits: a chunk extension may follow.
    Extension { size: u64 },
    /// The end of line after a chunk's bytes.
    AfterChunk,
    /// The trailer section, with the bytes of its line so far.
    Trailer { length: u32 },
}

/// An answer that is being read.
#[derive(Debug, Default)]
pub(super) struct Answer {
    place: Place,
    head: Option<Head>,
    /// A head that came in pieces.
    piece: Vec<u8>,
    bytes: u64,
}

/// The result of reading a piece of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The answer goes on.
    More,
    /// The answer is whole, after so many bytes of the piece.
    Whole { used: usize },
    /// It is not HTTP/1.
    Wrong,
}

impl Answer {
    /// To be called before each answer.
    pub(super) fn reset(&mut self) {
        self.place = Place::Head;
        self.head = None;
        self.piece.clear();
        self.bytes = 0;
    }

    /// Returns whether any byte of it came.
    pub(super) fn has_begun(&self) -> bool {
        self.head.is_some() || !self.piece.is_empty()
    }

    /// The head, once it is whole.
    pub(super) const fn head(&self) -> Option<Head> {
        self.head
    }

    /// Bytes of its body so far.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The connection ended: whether that is the answer's end.
    pub(super) fn ends_here(&self) -> bool {
        self.place == Place::Rest
    }

    /// Takes what was read.
    pub(super) fn read(&mut self, data: &[u8], last: &mut LastHead) -> Progress {
        if self.place != Place::Head {
            return self.body(data, 0);
        }
        if self.piece.is_empty() {
            return match last.find(data) {
                Some((head, used)) => self.begin(head, data, used),
                None => self.parse(data, 0, last),
            };
        }
        let before = self.piece.len();
        self.piece.extend_from_slice(data);
        let whole = std::mem::take(&mut self.piece);
        match self.parse(&whole, before, last) {
            Progress::Whole { used } => Progress::Whole { used: used.saturating_sub(before) },
            other => other,
        }
    }

    /// Parses a head (and those of interim answers, RFC 9110 §15.2, before it); `old` bytes were there before.
    fn parse(&mut self, data: &[u8], old: usize, last: &mut LastHead) -> Progress {
        let mut from = 0;
        loop {
            match parse_head(&data[from..]) {
                Ok(Some((head, length))) if head.status < 200 && head.status != 101 => from += length,
                Ok(Some((head, length))) => {
                    if from == 0 && old == 0 {
                        last.keep(&data[..length], head);
                    }
                    return self.begin(head, data, from + length);
                }
                Ok(None) if data.len() - from <= LONGEST_HEAD => {
                    self.piece.clear();
                    self.piece.extend_from_slice(&data[from..]);
                    return Progress::More;
                }
                _ => return Progress::Wrong,
            }
        }
    }

    fn begin(&mut self, head: Head, data: &[u8], used: usize) -> Progress {
        self.head = Some(head);
        match head.framing {
            Framing::Length(0) => return Progress::Whole { used },
            Framing::Length(left) => self.place = Place::Body { left },
            Framing::Chunked => self.place = Place::Line(Line::Size { size: 0, digits: 0 }),
            Framing::Close => self.place = Place::Rest,
        }
        self.body(data, used)
    }

    fn body(&mut self, data: &[u8], mut used: usize) -> Progress {
        while used < data.len() {
            match self.place {
                Place::Head => return Progress::Wrong,
                Place::Rest => {
                    self.bytes += (data.len() - used) as u64;
                    return Progress::More;
                }
                Place::Body { left } => {
                    let here = left.min((data.len() - used) as u64);
                    self.bytes += here;
                    used += usize::try_from(here).unwrap_or(usize::MAX);
                    let chunked = self.head.is_some_and(|head| head.framing == Framing::Chunked);
                    self.place = match left - here {
                        0 if chunked => Place::Line(Line::AfterChunk),
                        0 => return Progress::Whole { used },
                        left => Place::Body { left },
                    };
                }
                Place::Line(line) => match line.after(data[used]) {
                    Some(Next::Place(place)) => {
                        self.place = place;
                        used += 1;
                    }
                    Some(Next::End) => return Progress::Whole { used: used + 1 },
                    None => return Progress::Wrong,
                },
            }
        }
        Progress::More
    }
}

/// The state after a byte.
enum Next {
    Place(Place),
    End,
}

impl Line {
    /// RFC 9112 §7.1; a bare LF ends a line too. `None`: not a chunked body.
    fn after(self, byte: u8) -> Option<Next> {
        let line = match (self, byte) {
            (Self::Size { size, digits }, _) if byte.is_ascii_hexdigit() && digits < 15 => {
                let digit = char::from(byte).to_digit(16)?;
                Self::Size { size: size * 16 + u64::from(digit), digits: digits + 1 }
            }
            (Self::Size { digits: 0, .. }, _) => return None,
            (Self::Size { size, .. } | Self::Extension { size }, b'\n') => {
                if size > 0 {
                    return Some(Next::Place(Place::Body { left: size }));
                }
                Self::Trailer { length: 0 }
            }
            (Self::Size { size, .. }, b'\r' | b';' | b' ' | b'\t') => Self::Extension { size },
            (Self::Size { .. }, _) => return None,
            (Self::Extension { size }, _) => Self::Extension { size },
            (Self::AfterChunk, b'\r') => Self::AfterChunk,
            (Self::AfterChunk, b'\n') => Self::Size { size: 0, digits: 0 },
            (Self::AfterChunk, _) => return None,
            (Self::Trailer { length: 0 }, b'\n') => return Some(Next::End),
            (Self::Trailer { length }, b'\r') => Self::Trailer { length },
            (Self::Trailer { .. }, b'\n') => Self::Trailer { length: 0 },
            (Self::Trailer { length }, _) => Self::Trailer { length: length.saturating_add(1) },
        };
        Some(Next::Place(Place::Line(line)))
    }
}

impl LastHead {
    fn find(&self, data: &[u8]) -> Option<(Head, usize)> {
        let head = self.head?;
        data.starts_with(&self.bytes).then_some((head, self.bytes.len()))
    }

    fn keep(&mut self, bytes: &[u8], head: Head) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.head = Some(head);
    }
}

/// A whole head and its length, if it is whole.
fn parse_head(data: &[u8]) -> Result<Option<(Head, usize)>, ()> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let length = match response.parse(data).map_err(|_| ())? {
        httparse::Status::Partial => return Ok(None),
        httparse::Status::Complete(length) => length,
    };
    let status = response.code.ok_or(())?;
    let mut keep = response.version == Some(1);
    let mut framing = Framing::Close;
    let is = |name: &str, wanted: &str| name.eq_ignore_ascii_case(wanted);
    for field in response.headers.iter() {
        let value = std::str::from_utf8(field.value).unwrap_or_default().trim();
        if is(field.name, "content-length") && framing != Framing::Chunked {
            framing = Framing::Length(value.parse().map_err(|_| ())?);
        } else if is(field.name, "transfer-encoding") {
            // RFC 9112 §6.3: it overrides Content-Length.
            framing = if is(value, "chunked") { Framing::Chunked } else { Framing::Close };
        } else if is(field.name, "connection") {
            for word in value.split(',').map(str::trim) {
                keep = (keep || is(word, "keep-alive")) && !is(word, "close");
            }
        }
    }
    if matches!(status, 100..=199 | 204 | 304) {
        framing = Framing::Length(0);
    }
    Ok(Some((Head { status, keep: keep && framing != Framing::Close, framing }, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an answer in one piece, in pieces of one byte, and of seven; the same must come of each.
    fn read(text: &str) -> (Progress, u16, u64, bool) {
        let mut found = Vec::new();
        for size in [text.len(), 1, 7] {
            let (mut answer, mut last, mut used) = (Answer::default(), LastHead::default(), 0);
            answer.reset();
            let mut result = Progress::More;
            for piece in text.as_bytes().chunks(size) {
                result = answer.read(piece, &mut last);
                if let Progress::Whole { used: here } = result {
                    result = Progress::Whole { used: used + here };
                }
                if result != Progress::More {
                    break;
                }
                used += piece.len();
            }
            let head = answer.head();
            let (status, keep) = head.map_or((0, false), |head| (head.status, head.keep));
            found.push((result, status, answer.bytes(), keep));
        }
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{text:?}: {found:?}");
        found[0]
    }

    #[test]
    fn the_length_ends_a_body() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHelloHTTP";
        assert_eq!(read(text), (Progress::Whole { used: text.len() - 4 }, 200, 5, true));
        let text = "HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(read(text), (Progress::Whole { used: text.len() }, 200, 0, false));
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHell"), (Progress::More, 200, 4, true));
    }

    #[test]
    fn the_empty_chunk_ends_a_body() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let body = "5\r\nHello\r\n1a;name=value\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nDigest: x\r\n\r\n";
        let length = head.len() + body.len();
        assert_eq!(read(&format!("{head}{body}rest")), (Progress::Whole { used: length }, 200, 31, true));
        assert_eq!(read(&format!("{head}0\r\n\r")), (Progress::More, 200, 0, true));
        assert_eq!(read(&format!("{head}5\r\nHelloo\r\n")).0, Progress::Wrong);
        assert_eq!(read(&format!("{head}\r\n")).0, Progress::Wrong);
        assert_eq!(read(&format!("{head}ffffffffffffffffffff\r\n")).0, Progress::Wrong);
    }

    #[test]
    fn the_connection_ends_a_body_without_length() {
        let (mut answer, mut last) = (Answer::default(), LastHead::default());
        assert_eq!(answer.read(b"HTTP/1.1 200 OK\r\n\r\nHello", &mut last), Progress::More);
        assert!(answer.ends_here() && answer.bytes() == 5 && !answer.head().unwrap().keep);
    }

    #[test]
    fn some_answers_have_no_body() {
        for status in [204, 304] {
            let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\n");
            assert_eq!(read(&text), (Progress::Whole { used: text.len() }, status, 0, true));
        }
        let text =
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK";
        assert_eq!(read(text), (Progress::Whole { used: text.len() }, 200, 2, true));
    }

    #[test]
    fn what_is_not_http_is_told() {
        assert_eq!(read("SSH-2.0-OpenSSH\r\n").0, Progress::Wrong);
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n").0, Progress::Wrong);
        assert!(!read("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").3);
    }

    #[test]
    fn a_known_head_is_not_parsed_again() {
        let (mut answer, mut last) = (Answer::default(), LastHead::default());
        for body in ["Hello", "World"] {
            answer.reset();
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body}");
            assert_eq!(answer.read(text.as_bytes(), &mut last), Progress::Whole { used: text.len() });
            assert_eq!((answer.bytes(), last.find(text.as_bytes()).unwrap().1), (5, text.len() - 5));
        }
    }
}
