//! Answers of `nph-` programs (RFC 3875 §5): a whole HTTP answer, status line first.
//!
//! Apache passes the bytes on as they are. An answer that is to be framed anew (HTTP/2, chunks) has to be
//! understood first: this reads status line and fields; nothing is merged, dropped or interpreted.

use crate::header::Field;
use crate::lines::{self, HeaderError};
use crate::parser::{Parser, TakeLine};

/// An `nph-` program's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NphHeader {
    /// Status code, 100 to 999.
    pub code: u16,
    /// Reason phrase, perhaps empty.
    pub reason: Vec<u8>,
    /// Fields in their order.
    pub fields: Vec<Field>,
}

/// Reads an `nph-` header piece by piece; used like [`crate::HeaderParser`]. An interim answer (1xx) is skipped: the final one
/// follows it.
pub type NphParser = Parser<NphHeader>;

impl TakeLine for NphHeader {
    fn line(&mut self, line: &[u8]) -> Result<Option<()>, HeaderError> {
        if self.code == 0 {
            let bad = || HeaderError::BadStatusLine(lines::beginning(line));
            (self.code, self.reason) = status_line(line).ok_or_else(bad)?;
            return Ok(None);
        }
        if !line.is_empty() {
            let (name, value) = lines::field(line)?;
            self.fields.push((name.to_vec(), value.trim_ascii_end().to_vec()));
            return Ok(None);
        }
        if self.code < 200 {
            *self = Self::default();
            return Ok(None);
        }
        Ok(Some(()))
    }
}

/// `HTTP/1.1 200 OK` (RFC 9112 §4); the reason and the space before it may be missing.
fn status_line(line: &[u8]) -> Option<(u16, Vec<u8>)> {
    let rest = line.strip_prefix(b"HTTP/")?;
    let space = rest.iter().position(|byte| *byte == b' ')?;
    let (version, rest) = (&rest[..space], rest[space..].trim_ascii_start());
    let numeric = !version.is_empty() && version.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let (digits, reason) = rest.split_at_checked(3)?;
    let code = std::str::from_utf8(digits).ok()?.parse::<u16>().ok()?;
    let clean = !reason.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t');
    let separate = reason.first().is_none_or(|byte| *byte == b' ');
    let valid = numeric && clean && separate && digits.iter().all(u8::is_ascii_digit);
    (valid && (100..=999).contains(&code)).then(|| (code, reason.trim_ascii().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Progress};

    fn parse(text: &str) -> Result<(NphHeader, usize), HeaderError> {
        let mut parser = NphParser::new(Limits::default());
        match parser.parse(text.as_bytes()) {
            Progress::Complete { consumed } => Ok((parser.into_header(), consumed)),
            Progress::More => Err(parser.ended()),
            Progress::Failed(error) => Err(error),
        }
    }

    #[test]
    fn an_answer_is_read_whole() {
        let (header, at) =
            parse("HTTP/1.0 202 Hey You\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nbody").unwrap();
        assert_eq!((header.code, header.reason.as_slice()), (202, &b"Hey You"[..]));
        assert_eq!((header.fields.len(), at), (2, 54));
        assert_eq!(parse("HTTP/1.1 204\n\n").unwrap().0.code, 204);
    }

    #[test]
    fn an_interim_answer_is_skipped() {
        let (header, _) = parse("HTTP/1.1 100 Continue\nX: y\n\nHTTP/1.1 200 OK\n\n").unwrap();
        assert_eq!((header.code, header.fields.len()), (200, 0));
    }

    #[test]
    fn anything_else_is_an_error() {
        for bad in ["Content-Type: a/b\n\n", "HTTP/1.1 20 X\n\n", "HTTP/x 200 OK\n", "HTTP/1.1 2000\n", "\n"]
        {
            assert!(matches!(parse(bad), Err(HeaderError::BadStatusLine(_))), "{bad}");
        }
        assert_eq!(parse(""), Err(HeaderError::Nothing));
        assert_eq!(parse("HTTP/1.1 200 OK\n"), Err(HeaderError::Premature));
        assert!(matches!(parse("HTTP/1.1 200 OK\nno colon\n"), Err(HeaderError::NoColon(_))));
    }
}
