//! mod_rewrite's operations on URLs as texts: known schemes, escaping, the query, prefixes.

/// Schemes that make a result an absolute URL, and whether a `?` in it begins a query (RFC 1738, RFC 2368).
const SCHEMES: [(&[u8], bool); 18] = [
    (b"ajp://", true),
    (b"balancer://", true),
    (b"fcgi://", true),
    (b"ftp://", false),
    (b"gopher://", false),
    (b"h2://", true),
    (b"h2c://", true),
    (b"http://", true),
    (b"https://", true),
    (b"ldap://", false),
    (b"mailto:", true),
    (b"news:", false),
    (b"nntp://", false),
    (b"scgi://", true),
    (b"unix:", true),
    (b"uwsgi://", true),
    (b"ws://", true),
    (b"wss://", true),
];

/// The scheme of an absolute URL: its length, slashes included, and whether it has queries.
pub(crate) fn scheme(uri: &[u8]) -> Option<(usize, bool)> {
    let known = SCHEMES
        .iter()
        .find(|(name, _)| uri.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)));
    known.map(|(name, queries)| (name.len(), *queries))
}

/// The characters that need no escape in a path, besides letters and digits (`ap_os_escape_path`).
const SAFE: &[u8] = b"$-_.+!*'(),:;@&=/~";

/// Escapes a path (`ap_escape_uri`), in small hexadecimal digits.
#[must_use]
pub fn escape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for &byte in text {
        if byte.is_ascii_alphanumeric() || SAFE.contains(&byte) {
            out.push(byte);
        } else {
            push_escaped(&mut out, byte);
        }
    }
    out
}

/// `%hh`
pub(crate) fn push_escaped(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Decodes `%hh`, but for `%2f` and NUL; what is no escape stays.
pub(crate) fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        let decoded = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        match decoded {
            Some(byte) if byte != b'/' && byte != 0 => {
                out.push(byte);
                rest = &tail[2..];
            }
            _ => out.push(*first),
        }
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Escapes the path of an absolute URL whose scheme is so long; host and port stay as they are.
pub(crate) fn escape_absolute(uri: &[u8], scheme: usize) -> Vec<u8> {
    let mut start = scheme;
    if uri[..scheme].ends_with(b"/") {
        let slash = memchr::memchr(b'/', &uri[scheme..]).map(|at| scheme + at + 1);
        match slash {
            Some(at) => start = at,
            None => return uri.to_vec(),
        }
        if uri.get(..4).is_some_and(|name| name.eq_ignore_ascii_case(b"ldap")) {
            return escape_ldap(uri, start);
        }
    }
    [&uri[..start], &escape(&uri[start..])].concat()
}

/// The parts of an LDAP URL are separated by question marks (RFC 4516 §2): distinguished name, attributes, scope,
/// filter, extensions. Attributes and scope stay as they are.
fn escape_ldap(uri: &[u8], start: usize) -> Vec<u8> {
    let mut out = uri[..start].to_vec();
    for (index, part) in uri[start..].splitn(5, |byte| *byte == b'?').enumerate() {
        if index > 0 {
            out.push(b'?');
        }
        if matches!(index, 1 | 2) {
            out.extend_from_slice(part);
        } else {
            out.extend(escape(part));
        }
    }
    out
}

/// Puts one prefix in another's place, at the border of a path segment; `None` if the text does not begin with it.
/// The second value is what follows the old prefix.
pub(crate) fn replace_prefix<'a>(text: &'a [u8], old: &[u8], new: &[u8]) -> Option<(Vec<u8>, &'a [u8])> {
    let old = old.strip_suffix(b"/").unwrap_or(old);
    let rest = text.strip_prefix(old)?.strip_prefix(b"/")?;
    let mut out = new.to_vec();
    if !out.is_empty() && !out.ends_with(b"/") {
        out.push(b'/');
    }
    out.extend_from_slice(rest);
    Some((out, rest))
}

/// Returns whether a text has a control character or a space in it, which must have been escaped.
pub(crate) fn has_controls_or_spaces(text: &[u8]) -> bool {
    text.iter().any(|byte| *byte <= b' ' || *byte == 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_known_in_any_case() {
        assert_eq!(scheme(b"HTTP://x/"), Some((7, true)));
        assert_eq!(scheme(b"ftp://x/?y"), Some((6, false)));
        assert_eq!(scheme(b"javascript:x"), None);
        assert_eq!(scheme(b"http:/x"), None);
    }

    #[test]
    fn only_the_path_of_a_url_is_escaped() {
        assert_eq!(escape_absolute(b"http://a b/c d?e", 7), b"http://a b/c%20d%3fe");
        assert_eq!(escape_absolute(b"http://a b", 7), b"http://a b");
        assert_eq!(escape_absolute(b"mailto:a b", 7), b"mailto:a%20b");
        assert_eq!(escape_absolute(b"ldap://h/a b?c d?e f?g h", 7), b"ldap://h/a%20b?c d?e f?g%20h");
    }

    #[test]
    fn prefixes_end_at_slashes() {
        let of = |text: &str, old: &str, new: &str| {
            replace_prefix(text.as_bytes(), old.as_bytes(), new.as_bytes())
                .map(|(out, _)| String::from_utf8(out).unwrap())
        };
        assert_eq!(of("/srv/a/b", "/srv/a/", "/x"), Some("/x/b".into()));
        assert_eq!(of("/srv/a/b", "/srv/a", "/x/"), Some("/x/b".into()));
        assert_eq!(of("/srv/ab", "/srv/a", "/x"), None);
        assert_eq!(of("/srv/a", "/srv/a", "/x"), None);
        assert_eq!(of("srv/a/b", "srv/a", ""), Some("b".into()));
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(unescape(b"a%20b%2fc%zz%4"), b"a b%2fc%zz%4");
    }
}
