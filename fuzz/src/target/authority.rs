//! A Host field or an absolute target's authority, and ServerAlias patterns.

use hostler_http1::authority;

/// The first line is a host, the second a pattern.
pub fn target(data: &[u8]) {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let (host, pattern) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if let Some(strict) = authority::authority(host, true) {
        assert_ne!(strict.port, Some(0));
        let clean = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'\\' | b'@');
        assert!(strict.host.iter().all(clean), "{:?}", strict.host.escape_ascii().to_string());
        // What is good enough for the strict reading means the same to the other one.
        assert_eq!(authority::authority(host, false), Some(strict));
    }
    let _ = authority::glob(pattern, host);
}
