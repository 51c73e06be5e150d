//! From a request target to a path.

use hostler_http1::uri::{self, EncodedSlashes};
use hostler_config::directives::alias::push_escaped_path;

/// The input is a target.
pub fn target(data: &[u8]) {
    if let Ok(target) = uri::split(data) {
        assert!(!target.path.is_empty());
        for slashes in [EncodedSlashes::Off, EncodedSlashes::On, EncodedSlashes::NoDecode] {
            for merge in [true, false] {
                check(target.path, merge, slashes);
            }
        }
    }
    let mut escaped = Vec::new();
    push_escaped_path(data, &mut escaped);
    assert!(escaped.iter().all(u8::is_ascii_graphic));
    // RFC 3986: each percent sign begins a byte of two hexadecimal digits, and nothing else was changed.
    let encoded = escaped.iter().filter(|byte| **byte == b'%').count();
    assert_eq!(escaped.len(), data.len() + 2 * encoded);
    let html = hostler_cgi::escape_html(data);
    assert!(!html.iter().any(|byte| matches!(byte, b'<' | b'>' | b'"')));
}

fn check(path: &[u8], merge: bool, slashes: EncodedSlashes) {
    let Ok(normal) = uri::normalise(path, merge, slashes) else { return };
    if normal == b"*" {
        return;
    }
    let text = || format!("{} becomes {}", path.escape_ascii(), normal.escape_ascii());
    assert!(normal.starts_with(b"/"), "{}", text());
    // No request line has a NUL as it is (http1_head).
    assert!(path.contains(&0) || !normal.contains(&0), "{}", text());
    let mut parts = normal.split(|byte| *byte == b'/');
    assert!(!parts.any(|part| matches!(part, b"." | b"..")), "{}", text());
}
