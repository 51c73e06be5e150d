//! Lines of a header block, found in whatever pieces a pipe delivers.
//!
//! A line ends with LF; every CR is dropped, as Apache's reader drops it, so none can get into an answer.

/// The largest header that a program may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest line, in bytes (Apache: 8190).
    pub line: usize,
    /// All lines together, in bytes.
    pub block: usize,
    /// Number of lines.
    pub lines: usize,
}

impl Default for Limits {
    /// 64 KB a line, 1 MB and 1000 lines in all.
    fn default() -> Self {
        Self { line: 64 << 10, block: 1 << 20, lines: 1000 }
    }
}

/// Why a program's answer is none: status 500, and for the error log a sentence with the bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The program ended, or closed its output, without a single header line.
    #[error("End of script output before headers")]
    Nothing,
    /// The program ended within the header.
    #[error("Premature end of script headers")]
    Premature,
    /// A line without a colon.
    #[error("malformed header: no colon in \"{}\"", shown(.0))]
    NoColon(Vec<u8>),
    /// A field name that is empty or has other than token characters (RFC 9110 §5.1), a folded line included.
    #[error("malformed header: bad name in \"{}\"", shown(.0))]
    BadName(Vec<u8>),
    /// A field value with a control character.
    #[error("malformed header: control character in \"{}\"", shown(.0))]
    BadValue(Vec<u8>),
    /// An `nph-` program's first line is not a status line.
    #[error("malformed nph answer: no status line but \"{}\"", shown(.0))]
    BadStatusLine(Vec<u8>),
    /// A line over [`Limits::line`]; its beginning.
    #[error("header line over {limit} bytes: \"{}\"", shown(beginning))]
    LineTooLong {
        /// The limit, in bytes.
        limit: usize,
        /// The line's first bytes.
        beginning: Vec<u8>,
    },
    /// Over [`Limits::block`] or [`Limits::lines`].
    #[error("header over {0} bytes or with too many lines")]
    BlockTooLong(usize),
}

/// Most bytes of a bad line that are kept for the log.
const KEPT: usize = 200;

/// The beginning of a line, for the log.
pub(crate) fn beginning(line: &[u8]) -> Vec<u8> {
    line[..line.len().min(KEPT)].to_vec()
}

fn shown(bytes: &[u8]) -> impl std::fmt::Display + '_ {
    bytes.escape_ascii()
}

/// Collects one line after the other.
#[derive(Debug)]
pub(crate) struct Lines {
    limits: Limits,
    line: Vec<u8>,
    total: usize,
    count: usize,
}

impl Lines {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, line: Vec::new(), total: 0, count: 0 }
    }

    /// Returns whether a line has been completed so far.
    pub(crate) fn any(&self) -> bool {
        self.count > 0
    }

    /// Takes bytes up to the next LF: how many, and the line without its end if it is complete.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(usize, Option<Vec<u8>>), HeaderError> {
        // Searching beyond the limit would cost time for a line that is refused anyway.
        let within = &bytes[..bytes.len().min(self.limits.line + 2)];
        let end = within.iter().position(|byte| *byte == b'\n');
        let piece = &within[..end.unwrap_or(within.len())];
        self.line.extend(piece.iter().filter(|byte| **byte != b'\r'));
        self.total += piece.len() + usize::from(end.is_some());
        if self.line.len() > self.limits.line {
            // The same however much the pipe delivered at once.
            let beginning = beginning(&self.line[..self.limits.line]);
            return Err(HeaderError::LineTooLong { limit: self.limits.line, beginning });
        }
        self.count += usize::from(end.is_some());
        if self.total > self.limits.block || self.count > self.limits.lines {
            return Err(HeaderError::BlockTooLong(self.limits.block));
        }
        Ok((piece.len() + usize::from(end.is_some()), end.map(|_| std::mem::take(&mut self.line))))
    }
}

/// Splits a line at its colon and checks both sides (RFC 9110 §5): white space before the value is dropped,
/// as Apache does; that behind it stays.
pub(crate) fn field(line: &[u8]) -> Result<(&[u8], &[u8]), HeaderError> {
    let colon =
        line.iter().position(|byte| *byte == b':').ok_or_else(|| HeaderError::NoColon(beginning(line)))?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii_start());
    if name.is_empty() || !name.iter().all(is_token) {
        Err(HeaderError::BadName(beginning(line)))
    } else if value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        Err(HeaderError::BadValue(beginning(line)))
    } else {
        Ok((name, value))
    }
}

fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_checked() {
        assert_eq!(field(b"X-A: \t a\tb "), Ok((&b"X-A"[..], &b"a\tb "[..])));
        assert_eq!(field(b"X:"), Ok((&b"X"[..], &b""[..])));
        assert!(matches!(field(b"nothing"), Err(HeaderError::NoColon(_))));
        for bad in ["X A: 1", " folded: 1", ": 1", "X\u{e4}: 1", "Content-Type : a/b", "X\t: 1"] {
            assert!(matches!(field(bad.as_bytes()), Err(HeaderError::BadName(_))), "{bad}");
        }
        for bad in [&b"X: a\0b"[..], b"X: a\x01b", b"X: \x7f"] {
            assert!(matches!(field(bad), Err(HeaderError::BadValue(_))));
        }
    }

    #[test]
    fn an_error_shows_the_bytes() {
        assert_eq!(
            HeaderError::NoColon(b"a\0\"\xff".to_vec()).to_string(),
            r#"malformed header: no colon in "a\x00\"\xff""#
        );
    }
}
