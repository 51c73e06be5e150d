//! Shell patterns: `*`, `?`, `[a-z]`, `[!a-z]` and backslash, as `-strmatch`, `-strcmatch` and `-fnmatch`
//! take them. Linear back-tracking to the last star only, so no pattern can take exponential time.

/// The characters that wildcards match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GlobMode {
    /// `-strmatch`: any character.
    Anything,
    /// `-strcmatch`: any character, letters in either case.
    AnythingIgnoreCase,
    /// `-fnmatch`: any character but `/`.
    Path,
}

/// Returns whether the whole `text` matches `pattern`.
#[must_use]
pub fn glob_matches(pattern: &[u8], text: &[u8], mode: GlobMode) -> bool {
    let (mut at_pattern, mut at_text) = (0, 0);
    // Where to go on after the last star: behind it in the pattern, and the text it has not swallowed yet.
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at_pattern) == Some(&b'*') {
            at_pattern += 1;
            star = Some((at_pattern, at_text));
            continue;
        }
        if at_pattern == pattern.len() && at_text == text.len() {
            return true;
        }
        if let (Some(&byte), true) = (text.get(at_text), at_pattern < pattern.len())
            && let Some(length) = one(&pattern[at_pattern..], byte, mode)
        {
            at_pattern += length;
            at_text += 1;
            continue;
        }
        let Some((behind, swallowed)) = star else { return false };
        match text.get(swallowed) {
            None => return false,
            Some(b'/') if mode == GlobMode::Path => return false,
            Some(_) => {}
        }
        star = Some((behind, swallowed + 1));
        (at_pattern, at_text) = (behind, swallowed + 1);
    }
}

/// Matches one character against the first element of a pattern (not a star); the element's length if it does.
fn one(pattern: &[u8], byte: u8, mode: GlobMode) -> Option<usize> {
    let slash = byte == b'/' && mode == GlobMode::Path;
    match pattern {
        [b'?', ..] => (!slash).then_some(1),
        [b'[', ..] => match class(pattern, byte, mode) {
            Some((matches, length)) => (matches && !slash).then_some(length),
            None => (byte == b'[').then_some(1),
        },
        [b'\\', literal, ..] => same(*literal, byte, mode).then_some(2),
        [literal, ..] => same(*literal, byte, mode).then_some(1),
        [] => None,
    }
}

fn same(a: u8, b: u8, mode: GlobMode) -> bool {
    a == b || (mode == GlobMode::AnythingIgnoreCase && a.eq_ignore_ascii_case(&b))
}

/// `[...]`: whether it matches and how long it is; `None` when it has no end, so that `[` is itself.
fn class(pattern: &[u8], byte: u8, mode: GlobMode) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let first = 1 + usize::from(negated);
    let mut at = first;
    let mut found = false;
    loop {
        if pattern.get(at) == Some(&b']') && at > first {
            return Some((found != negated, at + 1));
        }
        let (low, next) = class_member(pattern, at)?;
        at = next;
        let mut high = low;
        if pattern.get(at) == Some(&b'-') && pattern.get(at + 1).is_some_and(|end| *end != b']') {
            (high, at) = class_member(pattern, at + 1)?;
        }
        let in_range = |byte: u8| low <= byte && byte <= high;
        found |= in_range(byte)
            || (mode == GlobMode::AnythingIgnoreCase
                && (in_range(byte.to_ascii_lowercase()) || in_range(byte.to_ascii_uppercase())));
    }
}

/// One character of a class, a backslash before it removed, and where the next begins.
fn class_member(pattern: &[u8], at: usize) -> Option<(u8, usize)> {
    match pattern.get(at)? {
        b'\\' => Some((*pattern.get(at + 1)?, at + 2)),
        byte => Some((*byte, at + 1)),
    }
}
