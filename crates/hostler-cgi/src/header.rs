//! The header of a CGI response (RFC 3875 §6.3), read incrementally, with Apache's rules for each field.
//!
//! Fields that must not come from a program (`Transfer-Encoding`, `Date`, `Server`) are dropped here. Connection fields
//! (`Connection`, `Keep-Alive`, `Upgrade`, `Trailer`) are left to whoever sends the answer.

use std::time::{Duration, SystemTime};

use crate::date;
use crate::lines::{self, HeaderError};
use crate::parser::{Parser, TakeLine};
use crate::status::Status;

/// A header field of a response: name as the program wrote it, value.
pub type Field = (Vec<u8>, Vec<u8>);

/// A response header, complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// `Status`, the last one; `None`: the program has set none (200 then, and conditional requests apply).
    pub status: Option<Status>,
    /// `Content-Type`, the last one, its type in lower case, parameters as they were.
    pub content_type: Option<Vec<u8>>,
    /// `Location`, the last one.
    pub location: Option<Vec<u8>>,
    /// `Content-Length` as written. Programs lie: to be ignored unless the environment has
    /// `ap_trust_cgilike_cl` (CVE-2024-24795).
    pub content_length: Option<Vec<u8>>,
    /// `Last-Modified`, the latest of the valid ones. One in the future is to be sent as now.
    pub last_modified: Option<SystemTime>,
    /// `ETag`, the last one.
    pub etag: Option<Vec<u8>>,
    /// `Content-Range`, the last one.
    pub content_range: Option<Vec<u8>>,
    /// All other fields. Those of the same name are merged with ", " (RFC 9110 §5.3), but for `Set-Cookie`,
    /// which is never merged.
    pub fields: Vec<Field>,
    /// Remarks for the error log.
    pub notes: Vec<Note>,
}

/// Something wrong in a header that is usable all the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    /// The `Status` is none; the answer is sent as 500.
    #[error("Invalid status line: \"{}\"", .0.escape_ascii())]
    InvalidStatus(Vec<u8>),
    /// The `Last-Modified` can't be read and is dropped.
    #[error("Ignored invalid header value: Last-Modified: \"{}\"", .0.escape_ascii())]
    InvalidLastModified(Vec<u8>),
}

/// The progress of a parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed; all given were taken.
    More,
    /// The header is complete; so many of the bytes given belong to it, the body follows.
    Complete {
        /// Bytes taken.
        consumed: usize,
    },
    /// It will never become a header.
    Failed(HeaderError),
}

/// Reads a response header piece by piece.
///
/// ```
/// use hostler_cgi::{HeaderParser, Limits, Progress};
/// let mut parser = HeaderParser::new(Limits::default());
/// assert_eq!(parser.parse(b"Content-Type: text/pl"), Progress::More);
/// assert_eq!(parser.parse(b"ain\r\n\r\nbody"), Progress::Complete { consumed: 7 });
/// assert_eq!(parser.into_header().content_type.as_deref(), Some(&b"text/plain"[..]));
/// ```
pub type HeaderParser = Parser<Header>;

impl TakeLine for Header {
    fn line(&mut self, line: &[u8]) -> Result<Option<()>, HeaderError> {
        if line.is_empty() {
            return Ok(Some(()));
        }
        let (name, value) = lines::field(line)?;
        match name.to_ascii_lowercase().as_slice() {
            b"content-type" => self.content_type = media_type(value),
            b"status" => self.set_status(value),
            b"location" => self.location = Some(value.trim_ascii_end().to_vec()),
            b"content-length" => self.content_length = Some(value.to_vec()),
            b"content-range" => self.content_range = Some(value.to_vec()),
            b"etag" => self.etag = Some(value.to_vec()),
            b"last-modified" => self.set_last_modified(value),
            b"transfer-encoding" | b"date" | b"server" => {}
            b"set-cookie" => self.fields.push((name.to_vec(), value.to_vec())),
            _ => self.merge(name, value),
        }
        Ok(None)
    }
}

impl Header {
    fn set_status(&mut self, value: &[u8]) {
        let status = Status::parse(value);
        if status.is_none() {
            self.notes.push(Note::InvalidStatus(lines::beginning(value)));
        }
        self.status = Some(status.unwrap_or(Status { code: 500, reason: None }));
    }

    fn set_last_modified(&mut self, value: &[u8]) {
        let seconds = date::parse(value).map(|seconds| u64::try_from(seconds).unwrap_or(0));
        match seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)) {
            Some(time) => self.last_modified = self.last_modified.max(Some(time)),
            None => self.notes.push(Note::InvalidLastModified(lines::beginning(value))),
        }
    }

    fn merge(&mut self, name: &[u8], value: &[u8]) {
        match self.fields.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, merged)) => {
                merged.extend_from_slice(b", ");
                merged.extend_from_slice(value);
            }
            None => self.fields.push((name.to_vec(), value.to_vec())),
        }
    }

    /// The value of a field in [`Self::fields`], the first of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let found = self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| value.as_slice())
    }
}

/// A media type with its type and subtype in lower case; `None` when there is none.
fn media_type(value: &[u8]) -> Option<Vec<u8>> {
    let mut value = value.trim_ascii_end().to_vec();
    let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
    value[..end].make_ascii_lowercase();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests;
