//! Wildcards of `Include`, as Apache has them: `*`, `?` and `[...]` in any part of a path but the first; a folder
//! means all files in it and below.

use std::fs;
use std::path::{Path, PathBuf};

/// Files that a pattern means, in the order in which Apache reads them.
pub(super) fn files(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let part = part.as_os_str().to_string_lossy().into_owned();
        found = found.into_iter().flat_map(|base| step(&base, &part)).collect();
    }
    found.into_iter().flat_map(|path| leaves(&path)).collect()
}

fn step(base: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains(['*', '?', '[']) {
        return vec![base.join(part)];
    }
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| matches(part.as_bytes(), name.as_bytes())).collect();
    names.sort();
    names.into_iter().map(|name| base.join(name)).collect()
}

fn leaves(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        return step(path, "*").iter().flat_map(|path| leaves(path)).collect();
    }
    if path.is_file() { vec![path.to_path_buf()] } else { Vec::new() }
}

/// fnmatch(3) with `FNM_PERIOD`, for one part of a path.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    matched(pattern, name)
}

fn matched(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|skip| matched(rest, &name[skip..])),
        (Some((b'?', rest)), Some((_, name))) => matched(rest, name),
        (Some((b'[', rest)), Some((letter, name))) => match rest.iter().position(|&byte| byte == b']') {
            Some(end) => among(&rest[..end], *letter) && matched(&rest[end + 1..], name),
            None => false,
        },
        (Some((byte, rest)), Some((letter, name))) => byte == letter && matched(rest, name),
        _ => false,
    }
}

fn among(set: &[u8], letter: u8) -> bool {
    let (set, not) = match set.split_first() {
        Some((b'!' | b'^', rest)) => (rest, true),
        _ => (set, false),
    };
    let range = set.windows(3).any(|w| w[1] == b'-' && (w[0]..=w[2]).contains(&letter));
    (range || set.contains(&letter)) != not
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_within_a_name() {
        for (pattern, name, expected) in [
            ("*.conf", "a.conf", true),
            ("*.conf", ".a.conf", false),
            ("*.conf", "a.conf~", false),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("*", "anything", true),
            ("a*b*c", "aXbYc", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_means_files_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["b.conf", "a.conf", "c.txt"] {
            fs::write(root.join(name), "").unwrap();
        }
        assert_eq!(files(&root.join("*.conf")), [root.join("a.conf"), root.join("b.conf")]);
        assert_eq!(files(root).len(), 3);
        assert!(files(&root.join("no*")).is_empty());
    }
}
