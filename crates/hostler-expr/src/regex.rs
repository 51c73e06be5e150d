//! Regular expressions with Apache's default options. A match that takes too long is an error and not "no match":
//! the pattern may guard something. A match that is postponed is carried out elsewhere and asked for again
//! ([`crate::postponed`]).

use crate::captures::{GROUPS, Groups, Spans};
use crate::place::{Place, Prefix};
use crate::postponed;
use hostler_regex::{Failure, Flags, Program};
use std::fmt;
use std::sync::Arc;

/// Longest pattern in bytes.
const MAX_PATTERN: usize = 32 * 1024;

/// Longest text that is searched, in bytes: one step of a pattern may look at all of it.
const MAX_SUBJECT: usize = 1 << 20;

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
pub struct RegexError {
    message: String,
    is_postponed: bool,
}

impl RegexError {
    fn new(message: String) -> Self {
        Self { message, is_postponed: false }
    }

    /// Returns whether the match is to be carried out elsewhere: the caller stops and is called again afterwards.
    #[must_use]
    pub fn is_postponed(&self) -> bool {
        self.is_postponed
    }
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
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
    program: Program,
    place: Option<Place>,
}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// A sentence with PCRE2's reason.
    pub fn new(pattern: &str, options: RegexOptions) -> Result<Self, RegexError> {
        if pattern.len() > MAX_PATTERN {
            return Err(RegexError::new(format!(
                "the regular expression is longer than {MAX_PATTERN} bytes"
            )));
        }
        let flags = Flags {
            ignore_case: options.ignore_case,
            dot_all: options.dot_all,
            dollar_end_only: options.dollar_end_only,
            extended: options.extended,
        };
        let program = Program::new(pattern.as_bytes(), flags).map_err(|reason| {
            RegexError::new(format!("the regular expression \"{pattern}\" does not compile: {reason}"))
        })?;
        Ok(Self { inner: Arc::new(Compiled { pattern: pattern.into(), program, place: None }) })
    }

    /// Names the place where the pattern stands, for errors. Has no effect once it was cloned.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.place = Some(place);
        }
        self
    }

    /// The place where it stands, if [`Self::at`] has named it.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.inner.place.as_ref()
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.inner.pattern
    }

    /// The number of parenthesised groups.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.inner.program.group_count()
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.inner.pattern.len() + self.inner.program.size()
    }

    /// Returns whether the pattern matches somewhere in the text.
    ///
    /// # Errors
    /// When the match was given up at one of the limits.
    pub fn is_match(&self, text: &[u8]) -> Result<bool, RegexError> {
        self.find(text, |_| {})
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
        let names = self.inner.program.names();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut spans = Vec::new();
        self.find(text, |groups| spans.extend(groups))?;
        let group = |(name, number): (String, usize)| {
            let (start, end) = (*spans.get(number)?)?;
            Some((name, text.get(start..end)?.to_vec()))
        };
        Ok(names.into_iter().filter_map(group).collect())
    }

    /// Returns the starts and ends of the first match's groups, `$0` to `$9`, in the given text: nothing is copied.
    ///
    /// # Errors
    /// When the match was given up at one of the limits.
    pub fn groups(&self, text: &[u8]) -> Result<Option<Groups>, RegexError> {
        Ok(self.spans(text)?.map(|found| found.spans))
    }

    /// The byte ranges of the groups of the first match.
    pub(crate) fn spans(&self, text: &[u8]) -> Result<Option<Spans>, RegexError> {
        let mut found = Spans { groups: self.group_count(), ..Spans::default() };
        let matches = self.find(text, |groups| {
            found.spans.iter_mut().zip(groups.take(GROUPS)).for_each(|(span, group)| *span = group);
        })?;
        Ok(matches.then_some(found))
    }

    fn find(
        &self,
        text: &[u8],
        use_groups: impl FnOnce(&mut dyn Iterator<Item = Option<(usize, usize)>>),
    ) -> Result<bool, RegexError> {
        if text.len() > MAX_SUBJECT {
            return Err(self.gave_up(format_args!("the text is longer than {MAX_SUBJECT} bytes")));
        }
        if let Some(known) = postponed::known(self, text) {
            return known.map(|groups| groups.map(|groups| use_groups(&mut groups.into_iter())).is_some());
        }
        self.inner.program.find(text, use_groups).map_err(|error| {
            let is_postponed = error == Failure::Postponed;
            if is_postponed {
                postponed::postpone(self, text);
            }
            RegexError { is_postponed, ..self.gave_up(format_args!("{error}")) }
        })
    }

    /// Finds the first match, however long it takes, and returns all its groups.
    pub(crate) fn find_at_leisure(&self, text: &[u8]) -> Result<Option<postponed::AllGroups>, RegexError> {
        self.inner.program.translate();
        let mut all = Vec::new();
        let found = self
            .inner
            .program
            .find(text, |groups| all.extend(groups))
            .map_err(|error| self.gave_up(format_args!("{error}")))?;
        Ok(found.then(|| all.into_boxed_slice()))
    }

    pub(crate) fn program(&self) -> &Program {
        &self.inner.program
    }

    fn gave_up(&self, why: fmt::Arguments<'_>) -> RegexError {
        let place = Prefix(self.inner.place.as_ref());
        RegexError::new(format!("{place}the regular expression \"{}\" gave up: {why}", self.pattern()))
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regex({:?})", self.pattern())
    }
}
