//! From a request target to a path: split, decode, normalise, and the way back (escaping).
//!
//! The order follows Apache since 2.4.60: unreserved characters are decoded before dot segments are removed
//! (so `/.%2e/` can't climb), everything else after.

use std::borrow::Cow;

/// Why a target can't be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// RFC 9112 §3.2.
    #[error("the request target is not a path, an http URL or *")]
    Malformed,
    /// RFC 3986 §2.1.
    #[error("the path has a % that is not followed by two hexadecimal digits")]
    BadEscape,
    /// `%2F`.
    #[error("the path has an encoded slash (AllowEncodedSlashes is off)")]
    EncodedSlash,
    /// `%00`.
    #[error("the path has an encoded NUL")]
    EncodedNul,
    /// RFC 3986 §5.2.4 would drop them.
    #[error("the path climbs above the root")]
    AboveRoot,
}

impl UriError {
    /// Apache answers an encoded slash or NUL as if nothing were there.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::EncodedSlash | Self::EncodedNul => 404,
            _ => 400,
        }
    }
}

/// `AllowEncodedSlashes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EncodedSlashes {
    /// 404.
    #[default]
    Off,
    /// It becomes a slash.
    On,
    /// It stays as it is.
    NoDecode,
}

/// The parts of a request target (RFC 9112 §3.2).
#[derive(Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// Authority of an absolute-form target.
    pub authority: Option<&'a [u8]>,
    /// The undecoded path; `/` for an absolute form without one, `*` for the asterisk form.
    pub path: &'a [u8],
    /// The part after the first `?`.
    pub query: Option<&'a [u8]>,
}

/// Splits a target. A fragment is never sent to a server (RFC 9110 §4.2.5).
///
/// # Errors
/// The text has none of the forms of RFC 9112 §3.2.
pub fn split(target: &[u8]) -> Result<Target<'_>, UriError> {
    if target.contains(&b'#') {
        return Err(UriError::Malformed);
    }
    let (authority, rest) = if target.starts_with(b"/") || target == b"*" {
        (None, target)
    } else {
        let colon = memchr::memmem::find(target, b"://").ok_or(UriError::Malformed)?;
        let scheme = &target[..colon];
        if !(scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https")) {
            return Err(UriError::Malformed);
        }
        let rest = &target[colon + 3..];
        let end = rest.iter().position(|&b| matches!(b, b'/' | b'?')).unwrap_or(rest.len());
        if end == 0 || !ends_in_port(&rest[..end]) {
            return Err(UriError::Malformed);
        }
        // A colon without a port behind it says nothing.
        (Some(rest[..end].strip_suffix(b":").unwrap_or(&rest[..end])), &rest[end..])
    };
    let (path, query) = match memchr::memchr(b'?', rest) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    Ok(Target { authority, path: if path.is_empty() { b"/" } else { path }, query })
}

/// Returns whether nothing but a port, which may be empty, follows the host of an authority (RFC 3986 §3.2.3).
fn ends_in_port(authority: &[u8]) -> bool {
    let host = authority.iter().rposition(|&b| b == b'@').map_or(authority, |at| &authority[at + 1..]);
    let begin =
        if host.first() == Some(&b'[') { host.iter().position(|&b| b == b']').unwrap_or(0) } else { 0 };
    let mut parts = host[begin..].splitn(2, |&b| b == b':').skip(1);
    parts.all(|port| port.iter().all(u8::is_ascii_digit))
}

fn hex(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|d| d as u8)
}

fn escaped(path: &[u8], at: usize) -> Option<u8> {
    Some(hex(*path.get(at + 1)?)? << 4 | hex(*path.get(at + 2)?)?)
}

/// RFC 3986 §2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The decoded, normalised path: dot segments removed, slashes merged if `merge_slashes`.
///
/// # Errors
/// Escapes that mean nothing or must not be there, and dot segments that climb above the root.
pub fn normalise(path: &[u8], merge_slashes: bool, slashes: EncodedSlashes) -> Result<Vec<u8>, UriError> {
    if path == b"*" {
        return Ok(path.to_vec());
    }
    // The common case costs one scan and one copy.
    if !path.contains(&b'%')
        && memchr::memmem::find(path, b"/.").is_none()
        && memchr::memmem::find(path, b"//").is_none()
    {
        return Ok(path.to_vec());
    }
    let unreserved = decode_unreserved(path)?;
    let plain = remove_dots(&unreserved, merge_slashes)?;
    let decoded = decode(&plain, slashes)?;
    // A decoded slash may make a dot segment of what was part of a name: `/a%2f..%2f..`.
    if slashes == EncodedSlashes::On { remove_dots(&decoded, merge_slashes) } else { Ok(decoded) }
}

/// The normalised path with its escapes, but for those of what needs none (RFC 3986 §6.2.2): dot segments removed, slashes
/// merged if `merge_slashes`.
///
/// # Errors
/// As [`normalise`].
pub fn encoded(path: &[u8], merge_slashes: bool) -> Result<Vec<u8>, UriError> {
    if path == b"*" {
        return Ok(path.to_vec());
    }
    remove_dots(&decode_unreserved(path)?, merge_slashes)
}

fn decode_unreserved(path: &[u8]) -> Result<Cow<'_, [u8]>, UriError> {
    if !path.contains(&b'%') {
        return Ok(Cow::Borrowed(path));
    }
    let mut out = Vec::with_capacity(path.len());
    let mut at = 0;
    while at < path.len() {
        if path[at] == b'%' {
            let byte = escaped(path, at).ok_or(UriError::BadEscape)?;
            if is_unreserved(byte) {
                out.push(byte);
            } else {
                out.extend_from_slice(&path[at..at + 3]);
            }
            at += 3;
        } else {
            out.push(path[at]);
            at += 1;
        }
    }
    Ok(Cow::Owned(out))
}

fn remove_dots(path: &[u8], merge_slashes: bool) -> Result<Vec<u8>, UriError> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    let mut at = 0;
    while at < path.len() {
        // `at` is at a slash: copy it and the segment after it.
        let start = at + 1;
        let end = path[start..].iter().position(|&b| b == b'/').map_or(path.len(), |n| start + n);
        match &path[start..end] {
            b"." => {
                if end == path.len() {
                    out.push(b'/');
                }
            }
            b".." => {
                let parent = out.iter().rposition(|&b| b == b'/').ok_or(UriError::AboveRoot)?;
                out.truncate(parent);
                if end == path.len() {
                    out.push(b'/');
                }
            }
            b"" if merge_slashes && end < path.len() => {}
            segment => {
                out.push(b'/');
                out.extend_from_slice(segment);
            }
        }
        at = end;
    }
    if out.is_empty() {
        out.push(b'/');
    }
    Ok(out)
}

fn decode(path: &[u8], slashes: EncodedSlashes) -> Result<Vec<u8>, UriError> {
    let mut out = Vec::with_capacity(path.len());
    let mut at = 0;
    let mut forbidden = None;
    while at < path.len() {
        if path[at] != b'%' {
            out.push(path[at]);
            at += 1;
            continue;
        }
        match escaped(path, at).ok_or(UriError::BadEscape)? {
            0 => forbidden = Some(UriError::EncodedNul),
            b'/' if slashes == EncodedSlashes::Off => forbidden = Some(UriError::EncodedSlash),
            b'/' if slashes == EncodedSlashes::NoDecode => out.extend_from_slice(&path[at..at + 3]),
            byte => out.push(byte),
        }
        at += 3;
    }
    forbidden.map_or(Ok(out), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(path: &str) -> Result<String, UriError> {
        normalise(path.as_bytes(), true, EncodedSlashes::Off).map(|p| String::from_utf8(p).unwrap())
    }

    #[test]
    fn targets() {
        let t = split(b"/a?b?c").unwrap();
        assert_eq!((t.authority, t.path, t.query), (None, &b"/a"[..], Some(&b"b?c"[..])));
        let t = split(b"http://h:80?q").unwrap();
        assert_eq!((t.authority, t.path, t.query), (Some(&b"h:80"[..]), &b"/"[..], Some(&b"q"[..])));
        for known in ["http://h:/", "http://u:p@h:80/", "http://[::1]/", "http://[::1]:80/"] {
            assert!(split(known.as_bytes()).is_ok(), "{known}");
        }
        for odd in ["http://h:80:80/", "http://h::80/", "http://h:80x/", "http://[::1]:x/"] {
            assert_eq!(split(odd.as_bytes()), Err(UriError::Malformed), "{odd}");
        }
        assert_eq!(split(b"a/b"), Err(UriError::Malformed));
        assert_eq!(split(b"/a#b"), Err(UriError::Malformed));
        assert_eq!(split(b"ftp://x/"), Err(UriError::Malformed));
    }

    #[test]
    fn dot_segments() {
        for (from, to) in [
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("/a/..", "/"),
            ("/a/.", "/a/"),
            ("/a//b", "/a/b"),
            ("//", "/"),
            ("/a//", "/a/"),
            ("/a/.%2e/b", "/b"),
            ("/...", "/..."),
            ("/.htaccess", "/.htaccess"),
            ("/a%20b", "/a b"),
        ] {
            assert_eq!(normal(from).as_deref(), Ok(to), "{from}");
        }
    }

    #[test]
    fn climbing_and_bad_escapes_are_refused() {
        for from in ["/..", "/a/../..", "/.%2e/", "/%2e%2e/x", "/%%32%65%%32%65/x", "/%", "/%2", "/%zz"] {
            assert!(matches!(normal(from), Err(UriError::AboveRoot | UriError::BadEscape)), "{from}");
        }
        assert_eq!(normal("/a%2fb"), Err(UriError::EncodedSlash));
        assert_eq!(normal("/a%00"), Err(UriError::EncodedNul));
    }

    #[test]
    fn encoded_slashes_on_request() {
        assert_eq!(normalise(b"/a%2fb", true, EncodedSlashes::On).unwrap(), b"/a/b");
        assert_eq!(normalise(b"/a%2f..%2Fb", true, EncodedSlashes::On).unwrap(), b"/b");
        assert_eq!(normalise(b"/a%2f..%2f..%2fb", true, EncodedSlashes::On), Err(UriError::AboveRoot));
        assert_eq!(normalise(b"/a%2fb%20", true, EncodedSlashes::NoDecode).unwrap(), b"/a%2fb ");
        assert_eq!(normalise(b"/a//b", false, EncodedSlashes::Off).unwrap(), b"/a//b");
    }
}
