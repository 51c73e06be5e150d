//! The web server's side: the records of a request, appended to a buffer.

use crate::pairs::{TooLong, pair};
use crate::record::{Header, LONGEST, RecordType, Role};

/// `FCGI_KEEP_CONN` (§5.1).
const KEEP_CONN: u8 = 1;

/// Begins a request (§5.1). `keep`: the connection stays open after it; else the application closes it.
pub fn begin_request(request: u16, role: Role, keep: bool, out: &mut Vec<u8>) {
    let [high, low] = role.number().to_be_bytes();
    let flags = if keep { KEEP_CONN } else { 0 };
    record(RecordType::BeginRequest, request, &[high, low, flags, 0, 0, 0, 0, 0], out);
}

/// The application need not go on with a request (§5.4).
pub fn abort(request: u16, out: &mut Vec<u8>) {
    record(RecordType::AbortRequest, request, &[], out);
}

/// The variables of a request, the whole stream with its end (§5.2).
///
/// # Errors
/// [`TooLong`]; part of the stream may have been appended.
pub fn params<'a>(
    request: u16,
    pairs: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let mut content = Vec::with_capacity(2048);
    for (name, value) in pairs {
        pair(name, value, &mut content)?;
    }
    stream(RecordType::Params, request, &content, out);
    stream(RecordType::Params, request, &[], out);
    Ok(())
}

/// A piece of a stream (§3.3, "stream record types"), in as many records as it takes; an empty one is the stream's end.
pub fn stream(kind: RecordType, request: u16, bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_empty() {
        record(kind, request, &[], out);
    }
    bytes.chunks(LONGEST).for_each(|piece| record(kind, request, piece, out));
}

/// Asks the application for variables of its own (§4.1): `FCGI_MAX_CONNS`, `FCGI_MAX_REQS`, `FCGI_MPXS_CONNS`.
///
/// # Errors
/// [`TooLong`]: more than one record holds.
pub fn get_values(names: &[&[u8]], out: &mut Vec<u8>) -> Result<(), TooLong> {
    let mut content = Vec::new();
    for name in names {
        pair(name, b"", &mut content)?;
    }
    if content.len() > LONGEST {
        return Err(TooLong::of(content.len()));
    }
    record(RecordType::GetValues, 0, &content, out);
    Ok(())
}

/// `content` is not longer than a record's may be.
fn record(kind: RecordType, request: u16, content: &[u8], out: &mut Vec<u8>) {
    let header = Header { kind, request, content: content.len() as u16, padding: 0 };
    out.extend_from_slice(&header.encode());
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::Pairs;
    use crate::records::{Piece, Records};

    /// Type and content of each record.
    fn records(mut bytes: &[u8]) -> Vec<(RecordType, Vec<u8>)> {
        let (mut records, mut found) = (Records::default(), Vec::<(RecordType, Vec<u8>)>::new());
        while let (used, Some(piece)) = records.next(bytes).unwrap() {
            bytes = &bytes[used..];
            match piece {
                Piece::Begin(header) => found.push((header.kind, Vec::new())),
                Piece::Content(_, content) => found.last_mut().unwrap().1.extend_from_slice(content),
                Piece::End(_) => {}
            }
        }
        assert!(records.is_between());
        found
    }

    #[test]
    fn a_request_is_laid_out_as_the_specification_says() {
        let mut out = Vec::new();
        begin_request(1, Role::Responder, true, &mut out);
        assert_eq!(out, [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
        out.clear();
        abort(258, &mut out);
        assert_eq!(out, [1, 2, 1, 2, 0, 0, 0, 0]);
        out.clear();
        stream(RecordType::Stdin, 1, b"ab", &mut out);
        stream(RecordType::Stdin, 1, b"", &mut out);
        assert_eq!(out, [1, 5, 0, 1, 0, 2, 0, 0, b'a', b'b', 1, 5, 0, 1, 0, 0, 0, 0]);
        out.clear();
        get_values(&[b"FCGI_MPXS_CONNS"], &mut out).unwrap();
        assert_eq!(out, b"\x01\x09\0\0\0\x11\0\0\x0f\0FCGI_MPXS_CONNS");
    }

    #[test]
    fn variables_longer_than_a_record_are_cut_anywhere() {
        let (long, mut out) = (vec![b'v'; 150_000], Vec::new());
        params(1, [(&b"A"[..], &long[..]), (b"B", b"2")], &mut out).unwrap();
        let records = records(&out);
        assert_eq!(records.len(), 4);
        assert!(records[3].1.is_empty());
        let content: Vec<u8> = records.into_iter().flat_map(|(_, content)| content).collect();
        let pairs: Vec<_> = Pairs::of(&content).collect::<Result<_, _>>().unwrap();
        assert_eq!(pairs, [(&b"A"[..], &long[..]), (b"B", b"2")]);
    }
}
