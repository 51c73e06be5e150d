//! Percent-encoding of paths as Apache writes them into `Location` and listings.

/// Appends a path with everything percent-encoded that may not stand in a URL's path (RFC 3986 §3.3).
/// A percent sign is encoded too: the input is a decoded path.
pub fn push_escaped_path(path: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in path {
        if byte.is_ascii_alphanumeric() || b"$-_.+!*'(),:;@&=/~".contains(byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

/// As [`push_escaped_path`], into a text of its own. A relative path whose first component has a colon gets
/// `./` in front, lest it look like a scheme.
#[must_use]
pub fn escape_path(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len() + 8);
    let colon = path.iter().position(|byte| *byte == b':');
    let slash = path.iter().position(|byte| *byte == b'/');
    if colon.is_some_and(|colon| slash.is_none_or(|slash| colon < slash)) {
        out.extend_from_slice(b"./");
    }
    push_escaped_path(path, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (path, expected) in [
            ("/a b", "/a%20b"),
            ("50%", "50%25"),
            ("a:b/c", "./a:b/c"),
            ("a/b:c", "a/b:c"),
            ("\u{e4}?#[]\n", "%c3%a4%3f%23%5b%5d%0a"),
            ("$-_.+!*'(),:;@&=/~", "$-_.+!*'(),:;@&=/~"),
        ] {
            let expected = if path.starts_with('$') { format!("./{expected}") } else { expected.into() };
            assert_eq!(String::from_utf8(escape_path(path.as_bytes())).unwrap(), expected);
        }
    }
}
