//! The groups of the last successful regular expression: `$0` to `$9`.
//!
//! Apache's rule (2.4): only a regular expression with at least one group touches them. A match replaces
//! them, a failed match empties them, so a test without groups keeps what an earlier one captured.

/// Groups that can be referred to, `$0` included (Apache: `AP_MAX_REG_MATCH`).
pub(crate) const GROUPS: usize = 10;

/// The starts and ends of a match's groups, `$0` to `$9`; those that took no part are `None`.
pub type Groups = [Option<(usize, usize)>; GROUPS];

/// The text and the groups of the last successful match. Empty until a regular expression matched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    subject: Vec<u8>,
    spans: [Option<(usize, usize)>; GROUPS],
    groups: usize,
    /// The position of a stopped evaluation: an index for each chain of conditions, the innermost first. `None`: not
    /// kept.
    progress: Option<Vec<usize>>,
}

/// The byte ranges of the groups of one match.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spans {
    pub(crate) spans: [Option<(usize, usize)>; GROUPS],
    pub(crate) groups: usize,
}

impl Captures {
    /// No match yet: every group is empty.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same for an evaluation that is called again with these captures until it ends: it may stop between two
    /// conditions, and continues with the one at which it has stopped.
    #[must_use]
    pub fn keeping_progress() -> Self {
        Self { progress: Some(Vec::new()), ..Self::default() }
    }

    /// The same captures, for an evaluation that [`Self::keeping_progress`] describes.
    #[must_use]
    pub fn and_progress(self) -> Self {
        Self { progress: Some(Vec::new()), ..self }
    }

    pub(crate) fn without_progress(&self) -> Self {
        Self { progress: None, ..self.clone() }
    }

    /// Returns whether an evaluation may stop between two conditions.
    pub(crate) fn keeps_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// The condition with which the next inner chain continues.
    pub(crate) fn continue_at(&mut self) -> usize {
        self.progress.as_mut().and_then(Vec::pop).unwrap_or(0)
    }

    /// A chain stops at this condition.
    pub(crate) fn stop_at(&mut self, condition: usize) {
        if let Some(progress) = &mut self.progress {
            progress.push(condition);
        }
    }

    /// The text of group `index` (0 is the whole match), or `None` when there was no match, no such group,
    /// or the group took no part in the match.
    #[must_use]
    pub fn group(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = (*self.spans.get(index)?)?;
        self.subject.get(start..end)
    }

    /// Returns the start and end of group `index` in the searched text.
    #[must_use]
    pub fn span(&self, index: usize) -> Option<(usize, usize)> {
        *self.spans.get(index)?
    }

    /// Returns whether a regular expression has matched and not been cleared since.
    #[must_use]
    pub fn has_match(&self) -> bool {
        self.spans[0].is_some()
    }

    /// The number of parenthesised groups of the expression that matched; mod_include warns when a page
    /// refers to a higher one.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.groups
    }

    /// Fills in a template as SetEnvIf, RedirectMatch and AliasMatch have them: `$0` to `$9` are groups (empty
    /// when they took no part), a backslash takes the meaning of the next byte away and
    /// is dropped.
    #[must_use]
    pub fn expand(&self, template: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(template.len());
        let mut rest = template;
        loop {
            rest = match rest {
                [] => return out,
                [b'$', digit @ b'0'..=b'9', after @ ..] => {
                    out.extend_from_slice(self.group(usize::from(digit - b'0')).unwrap_or_default());
                    after
                }
                [b'\\', escaped, after @ ..] => {
                    out.push(*escaped);
                    after
                }
                [byte, after @ ..] => {
                    out.push(*byte);
                    after
                }
            };
        }
    }

    /// Forgets the match.
    pub fn clear(&mut self) {
        self.spans = [None; GROUPS];
        self.groups = 0;
    }

    pub(crate) fn record(&mut self, subject: Vec<u8>, found: Spans) {
        self.subject = subject;
        self.spans = found.spans;
        self.groups = found.groups;
    }
}
