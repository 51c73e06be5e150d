//! Regular expressions as Apache compiles them: PCRE2 over bytes, with its default options and with limits,
//! so that no pattern of a tenant's .htaccess can hold a thread.

use crate::captures::{GROUPS, Spans};
use pcre2::bytes as pcre;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Limits, written before every pattern. A pattern can lower but not raise them. A million steps
/// take some milliseconds; honest patterns need thousands.
const LIMITS: &str = "(*LIMIT_MATCH=1000000)(*LIMIT_DEPTH=50000)(*LIMIT_HEAP=20000)";

/// PCRE2's code for "the just-in-time compiler's stack is too small": the interpreter can still try.
const JIT_STACK_EXHAUSTED: i32 = -46;

/// Longest pattern in bytes.
const MAX_PATTERN: usize = 32 * 1024;

/// Options of a pattern; the default is Apache's (`RegexDefaultOptions DOTALL DOLLAR_ENDONLY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegexOptions {
    /// `ICASE`: letters match in either case.
    pub ignore_case: bool,
    /// `DOTALL`: a dot matches a line break too.
    pub dot_all: bool,
    /// `DOLLAR_ENDONLY`: `$` matches at the very end only, not before a final line break.
    pub dollar_end_only: bool,
    /// `EXTENDED`: white space and comments in the pattern are ignored.
    pub extended: bool,
}

impl Default for RegexOptions {
    fn default() -> Self {
        Self { ignore_case: false, dot_all: true, dollar_end_only: true, extended: false }
    }
}

/// A pattern that does not compile, or a match that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexError(String);

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RegexError {}

/// A compiled regular expression. Cloning is cheap.
#[derive(Clone)]
pub struct Regex {
    inner: Arc<Compiled>,
}

struct Compiled {
    pattern: Box<str>,
    /// The pattern as PCRE2 gets it.
    prepared: String,
    options: RegexOptions,
    program: pcre::Regex,
    /// The same without just-in-time compilation, when a match has exhausted its stack once.
    interpreted: OnceLock<Option<pcre::Regex>>,
}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// A sentence with PCRE2's reason.
    pub fn new(pattern: &str, options: RegexOptions) -> Result<Self, RegexError> {
        if pattern.len() > MAX_PATTERN {
            return Err(RegexError(format!("the regular expression is longer than {MAX_PATTERN} bytes")));
        }
        let prepared = prepare(pattern, options);
        let program = build(&prepared, options, true).map_err(|error| {
            // Positions count from the beginning of what PCRE2 got, so they would mislead: leave them out.
            let reason = error.to_string();
            let after_position = reason.split_once(" at offset ").and_then(|(_, rest)| rest.split_once(": "));
            let reason = after_position.map_or(reason.as_str(), |(_, rest)| rest);
            RegexError(format!("the regular expression \"{pattern}\" does not compile: {reason}"))
        })?;
        let compiled =
            Compiled { pattern: pattern.into(), prepared, options, program, interpreted: OnceLock::new() };
        Ok(Self { inner: Arc::new(compiled) })
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.inner.pattern
    }

    /// The number of parenthesised groups.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.inner.program.captures_len().saturating_sub(1)
    }

    /// Whether the pattern matches somewhere in the text.
    ///
    /// # Errors
    /// When the match was given up at one of the limits.
    pub fn is_match(&self, text: &[u8]) -> Result<bool, RegexError> {
        self.run(|program| program.is_match(text))
    }

    /// Matches and records the groups in `captures` (which stay as they are when nothing matches).
    ///
    /// # Errors
    /// When the match was given up at one of the limits.
    pub fn capture(&self, text: &[u8], captures: &mut crate::Captures) -> Result<bool, RegexError> {
        let found = self.spans(text)?;
        if let Some(found) = found {
            captures.record(text.to_vec(), found);
        }
        Ok(found.is_some())
    }

    /// The named groups that took part in the first match, with their texts.
    ///
    /// # Errors
    /// When the match was given up at one of the limits.
    pub fn named_groups(&self, text: &[u8]) -> Result<Vec<(String, Vec<u8>)>, RegexError> {
        self.run(|program| {
            let Some(found) = program.captures(text)? else { return Ok(Vec::new()) };
            let names = program.capture_names().iter().flatten();
            let groups = names.filter_map(|name| Some((name.clone(), found.name(name)?.as_bytes().to_vec())));
            Ok(groups.collect())
        })
    }

    /// The byte ranges of the groups of the first match.
    pub(crate) fn spans(&self, text: &[u8]) -> Result<Option<Spans>, RegexError> {
        self.run(|program| {
            let mut locations = program.capture_locations();
            if program.captures_read(&mut locations, text)?.is_none() {
                return Ok(None);
            }
            let mut found = Spans { groups: locations.len().saturating_sub(1), ..Spans::default() };
            for (index, span) in found.spans.iter_mut().enumerate().take(GROUPS) {
                *span = locations.get(index);
            }
            Ok(Some(found))
        })
    }

    /// Runs a match, and once more without just-in-time compilation if that ran out of stack.
    fn run<T>(&self, mut work: impl FnMut(&pcre::Regex) -> Result<T, pcre2::Error>) -> Result<T, RegexError> {
        let mut result = work(&self.inner.program);
        if result.as_ref().is_err_and(|error| error.code() == JIT_STACK_EXHAUSTED)
            && let Some(interpreted) = self.inner.interpreted()
        {
            result = work(interpreted);
        }
        result.map_err(|error| {
            RegexError(format!("the regular expression \"{}\" gave up: {error}", self.pattern()))
        })
    }
}

impl Compiled {
    fn interpreted(&self) -> Option<&pcre::Regex> {
        self.interpreted.get_or_init(|| build(&self.prepared, self.options, false).ok()).as_ref()
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regex({:?})", self.pattern())
    }
}

fn build(prepared: &str, options: RegexOptions, jit: bool) -> Result<pcre::Regex, pcre2::Error> {
    let mut builder = pcre::RegexBuilder::new();
    builder.caseless(options.ignore_case).dotall(options.dot_all).extended(options.extended);
    if jit {
        builder.jit_if_available(true);
    }
    builder.build(prepared)
}

/// Puts the limits before the pattern, allows duplicate group names as Apache does, and writes `$` as `\z`
/// where it is to match at the very end (the crate does not offer PCRE2's option for that).
fn prepare(pattern: &str, options: RegexOptions) -> String {
    let pattern = if options.dollar_end_only { dollar_as_end(pattern) } else { Cow::Borrowed(pattern) };
    // Settings like (*ANYCRLF) must stay in front of everything else.
    let duplicates = if pattern.starts_with("(*") { "" } else { "(?J)" };
    format!("{LIMITS}{duplicates}{pattern}")
}

/// Rewrites `$` outside of classes, escapes and quotes. A pattern that turns on multi-line mode is left alone:
/// there PCRE2 ignores the option too.
fn dollar_as_end(pattern: &str) -> Cow<'_, str> {
    if !pattern.contains('$') || turns_on_multi_line(pattern) {
        return Cow::Borrowed(pattern);
    }
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    while let Some(length) = literal_run(rest) {
        out.push_str(&rest[..length]);
        rest = &rest[length..];
        if let Some(after) = rest.strip_prefix('$') {
            let quantified = after.starts_with(['*', '+', '?', '{']);
            out.push_str(if quantified { r"(?:\z)" } else { r"\z" });
            rest = after;
        }
    }
    Cow::Owned(out)
}

/// `(?m)`, `(?im:...)` and the like, anywhere.
fn turns_on_multi_line(pattern: &str) -> bool {
    pattern.match_indices("(?").any(|(at, _)| {
        let options = &pattern[at + 2..];
        let end = options.find(|c: char| !c.is_ascii_alphabetic() && c != '^').unwrap_or(options.len());
        options[..end].contains('m') && options[end..].starts_with([')', ':', '-'])
    })
}

/// The number of bytes up to the next `$` that is an anchor, or to the end; `None` when nothing is left.
fn literal_run(text: &str) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        at += match bytes[at] {
            b'$' => return Some(at),
            b'\\' => escape_length(&bytes[at..]),
            b'[' => class_length(&bytes[at..]),
            _ => 1,
        };
    }
    // An escape at the very end may have counted a byte that is not there.
    Some(text.len())
}

/// `\x`, `\cx` and `\Q...\E`.
fn escape_length(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'Q') => memchr::memmem::find(bytes, br"\E").map_or(bytes.len(), |end| end + 2),
        Some(b'c') => 3,
        _ => 2,
    }
}

/// A character class, with its brackets. The first character may be a `]` that does not end it.
fn class_length(bytes: &[u8]) -> usize {
    let mut at = 1 + usize::from(bytes.get(1) == Some(&b'^'));
    at += usize::from(bytes.get(at) == Some(&b']'));
    while at < bytes.len() {
        match bytes[at] {
            b']' => return at + 1,
            b'\\' => at += escape_length(&bytes[at..]),
            b'[' if bytes.get(at + 1) == Some(&b':') => {
                at += memchr::memmem::find(&bytes[at..], b":]").map_or(1, |end| end + 2);
            }
            _ => at += 1,
        }
    }
    bytes.len()
}
