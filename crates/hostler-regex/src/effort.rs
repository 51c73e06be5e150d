//! Work for rules that a tenant may have written, counted as it is done.
//!
//! Whoever does such work says how much it is, in units of about a nanosecond ([`spend`]). Most requests do so little
//! that nothing else happens. After each [`ROUND`] of units the thread's watch is asked, which looks at a clock and
//! returns a [`Verdict`]. A thread without a watch (the planner, tests) works without bounds, but for
//! [`LONGEST_MATCH`].
//!
//! Code that can stop in the middle and be called again runs in [`resumable`]. Only there a long match is postponed
//! when the watch says [`Verdict::Later`].

use std::cell::Cell;
use std::fmt;

/// Units of work after which the watch is asked.
pub const ROUND: u32 = 20_000;

/// Callouts of one match on a thread without a watch: less than a second for texts of ordinary length.
const LONGEST_MATCH: u64 = 2_000_000;

/// The watch's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is time left.
    GoOn,
    /// The time slice is over: resumable work should stop, other work continues.
    Later,
    /// No time is left: the work fails.
    Enough,
}

thread_local! {
    static COMPILED: Cell<u64> = const { Cell::new(0) };
    static LEFT: Cell<u32> = const { Cell::new(ROUND) };
    static WATCH: Cell<Option<fn() -> Verdict>> = const { Cell::new(None) };
    /// The watch's last answer was [`Verdict::Later`].
    static OVERDUE: Cell<bool> = const { Cell::new(false) };
    static RESUMABLE: Cell<bool> = const { Cell::new(false) };
}

/// The work was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it takes more CPU time than a request may use")
    }
}

impl std::error::Error for Exhausted {}

/// Sets this thread's watch.
pub fn watch_with(watch: fn() -> Verdict) {
    WATCH.set(Some(watch));
}

/// Runs work that can be called again after it has stopped: a long match in it may fail as postponed.
pub fn resumable<T>(work: impl FnOnce() -> T) -> T {
    let outer = RESUMABLE.replace(true);
    let result = work();
    RESUMABLE.set(outer);
    result
}

/// Runs work that cannot stop in the middle, also inside [`resumable`] work.
pub fn in_one_go<T>(work: impl FnOnce() -> T) -> T {
    let outer = RESUMABLE.replace(false);
    let result = work();
    RESUMABLE.set(outer);
    result
}

/// Returns whether resumable work should stop now.
#[must_use]
pub fn is_overdue() -> bool {
    OVERDUE.get() && RESUMABLE.get()
}

/// Starts a new time slice.
pub fn start_slice() {
    OVERDUE.set(false);
}

/// Callouts that one match may have, whatever the watch says.
pub(crate) fn longest_match() -> u64 {
    if WATCH.get().is_some() { u64::MAX } else { LONGEST_MATCH }
}

/// Notes work of about so many nanoseconds.
///
/// # Errors
/// When the thread's watch says that it has been enough.
#[inline]
pub fn spend(units: usize) -> Result<(), Exhausted> {
    let left = LEFT.get();
    match u32::try_from(units).ok().and_then(|units| left.checked_sub(units)) {
        Some(left) => {
            LEFT.set(left);
            Ok(())
        }
        None => ask(),
    }
}

/// Bytes of all patterns that this thread has compiled so far, freed ones included: the difference of two values is
/// what was compiled in between.
#[must_use]
pub fn compiled() -> u64 {
    COMPILED.get()
}

pub(crate) fn has_compiled(bytes: usize) {
    COMPILED.set(COMPILED.get() + bytes as u64);
}

#[cold]
fn ask() -> Result<(), Exhausted> {
    LEFT.set(ROUND);
    let verdict = WATCH.get().map_or(Verdict::GoOn, |watch| watch());
    OVERDUE.set(verdict == Verdict::Later);
    if verdict == Verdict::Enough { Err(Exhausted) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static ASKED: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn the_watch_is_asked_once_a_round() {
        let half = ROUND as usize / 2;
        assert!((0..10).all(|_| spend(half).is_ok()));
        LEFT.set(ROUND);
        watch_with(|| {
            ASKED.set(ASKED.get() + 1);
            if ASKED.get() < 2 { Verdict::Later } else { Verdict::Enough }
        });
        assert!((0..2).all(|_| spend(half).is_ok()));
        assert_eq!(ASKED.get(), 0);
        assert_eq!(spend(half), Ok(()));
        assert_eq!(ASKED.get(), 1);
        assert!(resumable(is_overdue) && !is_overdue());
        assert!(!resumable(|| in_one_go(is_overdue)));
        start_slice();
        assert!(!resumable(is_overdue));
        assert_eq!(spend(usize::MAX), Err(Exhausted));
    }
}
