//! Finding icons, texts and descriptions of a file: lists in which the first entry that fits counts.

use hostler_expr::{GlobMode, effort, glob_matches};

/// The text that an entry's pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The path; a pattern without wildcards means the end of it.
    Path,
    /// The media type.
    Type,
    /// The content coding.
    Encoding,
    /// The last component of the path, as it is.
    Name,
}

/// An entry: files below a path that fit a pattern, and what they get.
#[derive(Clone, Debug)]
pub(super) struct Item {
    below: Box<str>,
    subject: Subject,
    pattern: Box<str>,
    data: Box<str>,
}

impl Item {
    pub(super) fn new(below: String, subject: Subject, pattern: &str, data: &str) -> Self {
        let pattern = match subject {
            Subject::Path if !pattern.contains(['*', '?']) => format!("*{pattern}"),
            Subject::Encoding => pattern.to_ascii_lowercase(),
            _ => pattern.to_owned(),
        };
        Self { below: (below + "*").into(), subject, pattern: pattern.into(), data: data.into() }
    }

    /// Returns whether the last component of a path fits the last component of the pattern. Where there is no time to
    /// find out it does: the request fails.
    pub(super) fn names(&self, path: &[u8]) -> bool {
        let pattern = self.pattern.as_bytes();
        if effort::spend(20 + path.len() + base(path).len() * pattern.len() / 4).is_err() {
            return true;
        }
        wildcard(path, self.below.as_bytes(), false) && wildcard(base(path), base(pattern), false)
    }

    fn fits(&self, path: &[u8], media_type: Option<&str>, encoding: Option<&str>, path_only: bool) -> bool {
        // `^^DIRECTORY^^` and the like are no paths, and everywhere.
        let special = path.first() == Some(&b'^');
        if !special && !wildcard(path, self.below.as_bytes(), false) {
            return false;
        }
        if self.pattern.is_empty() {
            return true;
        }
        let pattern = self.pattern.as_bytes();
        if self.subject == Subject::Path || special {
            return wildcard(path, pattern, false);
        }
        let value = match (encoding, self.subject) {
            _ if path_only => None,
            (None, Subject::Type) => media_type,
            (Some(encoding), Subject::Encoding) => Some(encoding),
            _ => None,
        };
        value.is_some_and(|value| wildcard(value.as_bytes(), pattern, true))
    }
}

/// The data of the first entry that fits.
pub(super) fn find<'i>(
    items: &'i [Item],
    path: &[u8],
    media_type: Option<&str>,
    encoding: Option<&str>,
    path_only: bool,
) -> Option<&'i str> {
    items.iter().find(|item| item.fits(path, media_type, encoding, path_only)).map(|item| &*item.data)
}

/// An AddDescription.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pattern: Box<[u8]>,
    /// The pattern has a slash, so it is compared with the whole path.
    whole_path: bool,
    wildcards: bool,
    text: Box<str>,
}

impl Description {
    pub(super) fn new(pattern: &str, text: &str) -> Self {
        let whole_path = pattern.contains('/');
        let wildcards = whole_path || pattern.contains(['*', '?', '[', '\\']);
        let prefix = if whole_path { "*/" } else { "*" };
        let pattern = if wildcards { format!("{prefix}{pattern}*") } else { pattern.to_owned() };
        Self { pattern: pattern.into_bytes().into(), whole_path, wildcards, text: text.into() }
    }

    fn fits(&self, path: &[u8]) -> bool {
        let name = if self.whole_path { path } else { base(path) };
        if self.wildcards {
            return glob_matches(&self.pattern, name, GlobMode::Anything);
        }
        self.pattern.is_empty() || name.windows(self.pattern.len()).any(|part| *part == *self.pattern)
    }
}

/// The first description that fits.
pub(super) fn describe<'d>(descriptions: &'d [Description], path: &[u8]) -> Option<&'d str> {
    descriptions.iter().find(|description| description.fits(path)).map(|description| &*description.text)
}

fn base(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(path, |slash| &path[slash + 1..])
}

/// `*` and `?`, which both match slashes; nothing else is special.
fn wildcard(text: &[u8], pattern: &[u8], ignore_case: bool) -> bool {
    let same = |a: u8, b: u8| if ignore_case { a.eq_ignore_ascii_case(&b) } else { a == b };
    let (mut at, mut wanted) = (0, 0);
    // Where to go on after the last star: behind it in the pattern, and in the text.
    let mut star = None;
    while at < text.len() {
        match pattern.get(wanted) {
            Some(b'*') => {
                wanted += 1;
                star = Some((wanted, at));
            }
            Some(byte) if *byte == b'?' || same(*byte, text[at]) => (at, wanted) = (at + 1, wanted + 1),
            _ => {
                let Some((behind, swallowed)) = star else { return false };
                (at, wanted) = (swallowed + 1, behind);
                star = Some((behind, at));
            }
        }
    }
    pattern[wanted..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        for (text, pattern, expected) in [
            ("abc", "a*c", true),
            ("a/b/c", "a*c", true),
            ("abc", "a?c", true),
            ("abc", "a??c", false),
            ("", "*", true),
            ("", "?", false),
            ("a[b]", "*[b]", true),
            ("aab", "*ab", true),
            ("aaab", "*a*b*", true),
            ("abc", "ab", false),
        ] {
            assert_eq!(wildcard(text.as_bytes(), pattern.as_bytes(), false), expected, "{text} {pattern}");
        }
        assert!(wildcard(b"Text/HTML", b"text/*", true));
    }
}
