//! Paths that `file=` may name: relative, and never out of the document's directory.

/// Takes `.`, empty segments and `dir/..` out of a path. `None` for an absolute path and for one that climbs
/// above its start, as `apr_filepath_merge` refuses them.
pub(crate) fn relative(path: &[u8]) -> Option<Vec<u8>> {
    if path.first() == Some(&b'/') {
        return None;
    }
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => drop(segments.pop()?),
            _ => segments.push(segment),
        }
    }
    Some(segments.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_their_start() {
        let cases: [(&str, Option<&str>); 8] = [
            ("a.txt", Some("a.txt")),
            ("./b//c", Some("b/c")),
            ("a/../b", Some("b")),
            ("", Some("")),
            ("/etc/passwd", None),
            ("../x", None),
            ("a/../../x", None),
            ("..", None),
        ];
        for (path, expected) in cases {
            assert_eq!(relative(path.as_bytes()).as_deref(), expected.map(str::as_bytes), "{path}");
        }
    }
}
