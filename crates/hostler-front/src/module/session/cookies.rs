//! The cookie that a session is in (mod_session_cookie): read from `Cookie` and `Cookie2`, written in the forms of RFC
//! 2109 and 2965.

use crate::log::{self, Severity};
use crate::request::Request;
use crate::values::table::Table;
use bytes::Bytes;
use hostler_config::directives::session::Dir;

/// The attributes of a cookie without configured ones, when it is set and when it is removed.
const ATTRIBUTES: &str = "HttpOnly;Secure;Version=1";

const FIELDS: [&str; 2] = ["Cookie", "Cookie2"];

/// The value of a cookie, if it came once; `remove`: nobody else sees it.
pub(super) fn take(request: &mut Request, name: &str, remove: bool) -> Option<Vec<u8>> {
    let mut search = Search { start: [name.as_bytes(), b"="].concat(), value: None, differs: false };
    let mut rest = Table::default();
    for field in FIELDS {
        for value in request.target.headers_in.all(field.as_bytes()) {
            if let Some(others) = search.line(value) {
                rest.add(field, others);
            }
        }
    }
    if search.differs {
        let uri = String::from_utf8_lossy(&request.target.uri).into_owned();
        let message = format!("AH00011: client submitted cookie '{name}' more than once: {uri}");
        log::request(request, Severity::Error, "session_cookie", &message);
        return None;
    }
    if remove {
        FIELDS.iter().for_each(|field| request.target.headers_in.unset(field));
        rest.iter().for_each(|(field, value)| request.target.headers_in.add(field.clone(), value.clone()));
    }
    search.value
}

/// The search for a cookie.
struct Search {
    /// Its name, with `=`.
    start: Vec<u8>,
    value: Option<Vec<u8>>,
    /// It came more than once, with different values.
    differs: bool,
}

impl Search {
    /// Looks into a field; returns the field without the cookie, unless nothing is left of it.
    fn line(&mut self, field: &[u8]) -> Option<Bytes> {
        let mut others = Vec::new();
        let (mut separator, mut left, mut eats): (&[u8], _, _) = (b"", 0, false);
        for line in field.split(|&b| b == b',').filter(|line| !line.is_empty()) {
            for cookie in line.split(|&b| b == b';').filter(|cookie| !cookie.is_empty()) {
                let trimmed = cookie.trim_ascii_start();
                if let Some(value) = trimmed.strip_prefix(&self.start[..]) {
                    self.differs |= self.value.as_ref().is_some_and(|before| before != value);
                    self.value = Some(value.to_vec());
                    eats = true;
                } else {
                    // What begins with `$` describes the cookie before it.
                    if !trimmed.starts_with(b"$") {
                        left += 1;
                        eats = false;
                    }
                    if !eats {
                        let separator = if others.is_empty() { b"" } else { separator };
                        others.extend_from_slice(separator);
                        others.extend_from_slice(cookie);
                    }
                }
                separator = b";";
            }
            separator = b",";
        }
        (left > 0).then(|| others.into())
    }
}

/// Writes the session, or takes the cookie back where nothing is left of it.
pub(super) fn write(request: &mut Request, dir: &Dir, encoded: &[u8], max_age: i64) {
    for (field, cookie) in [("Set-Cookie", &dir.cookie), ("Set-Cookie2", &dir.cookie2)] {
        let Some(cookie) = cookie else { continue };
        if encoded.is_empty() {
            let gone = format!("{}=;Max-Age=0;{}", cookie.name, cookie.attributes);
            request.reply.headers_out.add(field, gone.clone());
            request.reply.err_headers_out.add(field, gone);
            continue;
        }
        let mut line = [cookie.name.as_bytes(), b"=", encoded, b";"].concat();
        if max_age != 0 {
            line.extend_from_slice(format!("Max-Age={max_age};").as_bytes());
        }
        let attributes = if cookie.attributes.is_empty() { ATTRIBUTES } else { &cookie.attributes };
        line.extend_from_slice(attributes.as_bytes());
        request.reply.err_headers_out.add(field, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_and_taken_out() {
        let look = |field: &str| {
            let mut search = Search { start: b"s=".to_vec(), value: None, differs: false };
            let rest = search.line(field.as_bytes());
            let of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (search.value.as_deref().map(of), rest.as_deref().map(of), search.differs)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(look("a=1; s=x; b=2"), (some("x"), some("a=1; b=2"), false));
        assert_eq!(look("s=x"), (some("x"), None, false));
        assert_eq!(look("s=x; $Path=/; b=2"), (some("x"), some(" b=2"), false));
        assert_eq!(look("a=1; ss=2"), (None, some("a=1; ss=2"), false));
        assert!(look("s=x; s=y").2);
        assert!(!look("s=x, s=x").2);
    }
}
