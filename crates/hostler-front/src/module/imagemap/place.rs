//! The URL that a map's value means (`imap_url`).

use super::map::MapError;
use crate::request::Request;
use crate::request::variables;

/// The URLs that values may refer to.
pub(super) struct Places {
    /// The map's own URL.
    map: Vec<u8>,
    /// The start page's.
    root: Vec<u8>,
    referer: Vec<u8>,
}

impl Places {
    pub(super) fn of(request: &Request) -> Self {
        Self {
            map: variables::absolute_url(request, &request.target.uri),
            root: variables::absolute_url(request, b"/"),
            referer: request.header("Referer").unwrap_or_default().to_vec(),
        }
    }

    /// The URL of a value.
    pub(super) fn url(&self, base: &[u8], value: &[u8]) -> Result<Vec<u8>, MapError> {
        let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
        let mut value = value;
        if is("map") || is("menu") {
            return Ok(self.map.clone());
        }
        if is("nocontent") || is("error") {
            return Ok(value.to_vec());
        }
        if is("referer") {
            if !self.referer.is_empty() {
                return Ok(self.referer.clone());
            }
            value = b"";
        }
        let letters = value.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        if value.get(letters) == Some(&b':') {
            return Ok(value.to_vec());
        }
        match (base.is_empty(), value.is_empty()) {
            (true, false) => Ok(value.to_vec()),
            (true, true) => Ok(self.root.clone()),
            _ => joined(base, value),
        }
    }
}

fn climbs(value: &[u8]) -> bool {
    value.starts_with(b"../") || value == b".."
}

/// A relative value after its base.
fn joined(base: &[u8], mut value: &[u8]) -> Result<Vec<u8>, MapError> {
    if !base.contains(&b'/') && climbs(value) {
        return Err(MapError::Place("base directive"));
    }
    let mut out = base.to_vec();
    // Where the path begins: the first slash that is alone.
    let mut at = 0;
    let mut directory = None;
    while at < out.len() {
        if out[at] == b'/' && out.get(at + 1) == Some(&b'/') {
            at += 2;
            continue;
        }
        if out[at] == b'/' {
            if value.first() == Some(&b'/') {
                out.truncate(at);
            } else {
                directory = Some(at);
                let last = out.iter().rposition(|&b| b == b'/').unwrap_or(at);
                out.truncate(last + 1);
            }
            break;
        }
        at += 1;
    }
    while climbs(value) {
        match directory {
            Some(start) if out.len() > start => {
                // The slash at the end, then the one before the directory.
                let before = out.len();
                while before - out.len() <= 1 && out.len() > start {
                    let last = out[start..].iter().rposition(|&b| b == b'/').map_or(start, |n| start + n);
                    out.truncate(last);
                }
                value = &value[2..];
            }
            Some(_) => return Err(MapError::Place("directory name")),
            None => value = &value[2..],
        }
        if value.starts_with(b"/../") || value == b"/.." {
            value = &value[1..];
        }
    }
    out.extend_from_slice(value);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_relative_to_their_base() {
        let base = "http://a.example/x/y/map.map";
        for (base, value, expected) in [
            (base, "z.html", "http://a.example/x/y/z.html"),
            (base, "/z.html", "http://a.example/z.html"),
            (base, "../z.html", "http://a.example/x/z.html"),
            (base, "../../z.html", "http://a.example/z.html"),
            (base, "..", "http://a.example/x"),
            ("http://a.example", "z", "http://a.examplez"),
            ("/x/", "", "/x/"),
        ] {
            let joined = joined(base.as_bytes(), value.as_bytes()).unwrap();
            assert_eq!(String::from_utf8_lossy(&joined), expected, "{base} {value}");
        }
        assert!(joined(base.as_bytes(), b"../../../../z").is_err());
        assert!(joined(b"x", b"../z").is_err());
    }
}
