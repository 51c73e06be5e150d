//! Comparing URL paths with aliases, and tidying file paths, both as bytes.

/// Returns how many bytes of `path` an alias covers, or `None` if it does not begin with the alias. Whole components
/// only, unless the alias ends with a slash; several slashes in a row count as one, on both sides.
#[must_use]
pub fn prefix_length(path: &[u8], alias: &[u8]) -> Option<usize> {
    let (mut at, mut wanted) = (0, 0);
    while let Some(byte) = alias.get(wanted) {
        if path.get(at) != Some(byte) {
            return None;
        }
        at += 1;
        wanted += 1;
        if *byte == b'/' {
            at += slashes(&path[at..]);
            wanted += slashes(&alias[wanted..]);
        }
    }
    let whole = alias.last() == Some(&b'/') || matches!(path.get(at), None | Some(b'/'));
    (whole && at > 0).then_some(at)
}

fn slashes(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b'/').count()
}

/// An absolute path without empty components, `.` and `..`; a slash at the end stays.
#[must_use]
pub fn clean_path(path: Vec<u8>) -> Vec<u8> {
    let suspicious = path.windows(2).any(|pair| pair == b"//" || pair == b"/.");
    if !suspicious {
        return path;
    }
    let mut clean = Vec::with_capacity(path.len());
    for component in path.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => clean.truncate(clean.iter().rposition(|byte| *byte == b'/').unwrap_or(0)),
            name => {
                clean.push(b'/');
                clean.extend_from_slice(name);
            }
        }
    }
    let directory = [&b"/"[..], b"/.", b"/.."].iter().any(|end| path.ends_with(end));
    if directory || clean.is_empty() {
        clean.push(b'/');
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_cover_whole_components() {
        let cases: [(&str, &str, Option<usize>); 11] = [
            ("/icons/a.png", "/icons", Some(6)),
            ("/icons", "/icons", Some(6)),
            ("/iconset", "/icons", None),
            ("/icons/a.png", "/icons/", Some(7)),
            ("/icons", "/icons/", None),
            ("//icons///a", "/icons/", Some(10)),
            ("/icons/a", "//icons", Some(6)),
            ("/a/b", "/", Some(1)),
            ("/", "/", Some(1)),
            ("/Icons", "/icons", None),
            ("/x", "", None),
        ];
        for (path, alias, expected) in cases {
            assert_eq!(prefix_length(path.as_bytes(), alias.as_bytes()), expected, "{path} {alias}");
        }
    }

    #[test]
    fn paths_become_clean() {
        for (path, expected) in [
            ("/a/b", "/a/b"),
            ("/a//b/", "/a/b/"),
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("/../../b", "/b"),
            ("/a/..", "/"),
            ("/a/b/.", "/a/b/"),
            ("/a/.b", "/a/.b"),
            ("//", "/"),
            ("/", "/"),
        ] {
            assert_eq!(String::from_utf8(clean_path(path.into())).unwrap(), expected, "{path}");
        }
    }
}
