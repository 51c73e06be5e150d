//! Matches that take longer than the time slice of the thread that began them.
//!
//! In resumable work ([`hostler_regex::effort::resumable`]) such a match fails with an error that
//! [`crate::RegexError::is_postponed`] marks. The driver of that work then calls [`Postponed::take`], carries the match out
//! on another thread, adds the [`Settled`] result to the request's [`Results`], and calls the work again with
//! these results installed ([`install`]): the same match is then answered from them.
//!
//! Results are found by a keyed 128-bit hash of pattern, flags and text, so no text is kept.

use crate::regex::{Regex, RegexError};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::OnceLock;

/// All groups of a match, the whole match first.
pub(crate) type AllGroups = Box<[Option<(usize, usize)>]>;

type Outcome = Result<Option<AllGroups>, RegexError>;
type Key = [u64; 2];

thread_local! {
    static LAST: RefCell<Option<Postponed>> = const { RefCell::new(None) };
    static INSTALLED: RefCell<Option<Results>> = const { RefCell::new(None) };
}

/// A match that was postponed.
#[derive(Debug)]
pub struct Postponed {
    regex: Regex,
    text: Vec<u8>,
}

/// The result of a match that was postponed.
#[derive(Debug)]
pub struct Settled {
    key: Key,
    outcome: Outcome,
}

/// The results of a request's postponed matches. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Results(Rc<RefCell<HashMap<Key, Outcome>>>);

impl Postponed {
    /// Takes the match that this thread has postponed last.
    #[must_use]
    pub fn take() -> Option<Self> {
        LAST.take()
    }

    /// Carries the match out. The thread's watch bounds it.
    #[must_use]
    pub fn settle(self) -> Settled {
        Settled { key: key(&self.regex, &self.text), outcome: self.regex.find_at_leisure(&self.text) }
    }
}

impl Settled {
    /// Why the match was given up.
    #[must_use]
    pub fn error(&self) -> Option<&RegexError> {
        self.outcome.as_ref().err()
    }
}

impl Results {
    /// Adds a result.
    pub fn add(&self, settled: Settled) {
        self.0.borrow_mut().insert(settled.key, settled.outcome);
    }

    /// The number of results.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }
}

/// Installs a request's results on this thread, and returns those that were installed before.
pub fn install(results: Option<Results>) -> Option<Results> {
    INSTALLED.replace(results)
}

pub(crate) fn postpone(regex: &Regex, text: &[u8]) {
    LAST.set(Some(Postponed { regex: regex.clone(), text: text.to_vec() }));
}

/// The installed result of a match.
pub(crate) fn known(regex: &Regex, text: &[u8]) -> Option<Outcome> {
    // Most requests have none, and look no further.
    INSTALLED.with_borrow(|installed| installed.as_ref()?.0.borrow().get(&key(regex, text)).cloned())
}

fn key(regex: &Regex, text: &[u8]) -> Key {
    static STATES: OnceLock<[RandomState; 2]> = OnceLock::new();
    let states = STATES.get_or_init(|| [RandomState::new(), RandomState::new()]);
    let (pattern, flags) = regex.program().parts();
    states.each_ref().map(|state| state.hash_one((pattern, flags, text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RegexOptions;
    use crate::effort::{self, Verdict};

    #[test]
    fn a_postponed_match_is_answered_by_its_result() {
        effort::watch_with(|| Verdict::Later);
        let regex = Regex::new("([a-z]*)[a-z]*[a-z]*[@!]", RegexOptions::default()).unwrap();
        let text = [&[b'a'; 300][..], b"!"].concat();
        let hard = [b'a'; 300];
        let look = |text: &[u8]| effort::resumable(|| regex.groups(text));
        assert!(look(&text).unwrap().is_some() && Postponed::take().is_none());
        assert!(look(&hard).unwrap_err().is_postponed());
        let settled = Postponed::take().unwrap().settle();
        assert!(Postponed::take().is_none());
        let results = Results::default();
        results.add(settled);
        assert!(install(Some(results.clone())).is_none());
        assert_eq!(look(&hard), Ok(None));
        assert_eq!(look(&text).unwrap().unwrap()[1], Some((0, 300)));
        assert_eq!((results.count(), install(None).is_some()), (1, true));
        assert!(look(&hard).is_err());
    }
}
