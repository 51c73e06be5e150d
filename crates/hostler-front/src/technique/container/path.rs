//! A URL's path as a servlet container will take it (Servlet 6.0 §3.5.2): decided here, so that what the configuration says
//! of a path holds for what the container answers with.

/// Without parameters, and with one slash where there are several. `None`: it would lead upwards, or has what containers
/// take for a slash; nobody sends that by accident.
pub(crate) fn plain(path: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(path.len());
    let mut parts = path.split(|byte| *byte == b'/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let name = part.split(|byte| *byte == b';').next().unwrap_or_default();
        if name == b".." || name == b"." || name.iter().any(|byte| matches!(byte, b'\\' | 0)) {
            return None;
        }
        // What is empty but for parameters counts as nothing.
        if !name.is_empty() {
            plain.push(b'/');
            plain.extend_from_slice(name);
        } else if parts.peek().is_none() {
            plain.push(b'/');
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_none_of_the_path() {
        for (path, expected) in [
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/a/b/", "/a/b/"),
            ("/a;jsessionid=1/b;c=d", "/a/b"),
            ("/admin;x/list", "/admin/list"),
            ("//a///b", "/a/b"),
            ("/;x/a", "/a"),
            ("/a/;x", "/a/"),
            ("/a..b/...", "/a..b/..."),
        ] {
            assert_eq!(plain(path.as_bytes()).unwrap(), expected.as_bytes(), "{path}");
        }
    }

    #[test]
    fn what_would_lead_elsewhere_is_refused() {
        for path in ["/a/..;/b", "/a/..;x=y", "/a/.;/b", "/..", "/a\\b", "/a/\0"] {
            assert_eq!(plain(path.as_bytes()), None, "{path}");
        }
    }
}
