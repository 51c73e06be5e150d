//! Work for rules that a tenant may have written, counted as it is done.
//!
//! Whoever does such work says how much it is, in units of about a nanosecond ([`spend`]). Most requests do so little
//! that nothing else happens. After each [`ROUND`] of units the thread's watch is asked, which looks at a clock; when
//! it says no, the work fails. A thread without a watch (the planner, tests) works without bounds, but for
//! [`LONGEST_MATCH`].

use std::cell::Cell;
use std::fmt;

/// Units of work after which the watch is asked.
pub const ROUND: u32 = 20_000;

/// Callouts of one match: less than a second for texts of ordinary length.
pub(crate) const LONGEST_MATCH: u64 = 2_000_000;

thread_local! {
    static COMPILED: Cell<u64> = const { Cell::new(0) };
    static LEFT: Cell<u32> = const { Cell::new(ROUND) };
    static WATCH: Cell<Option<fn() -> bool>> = const { Cell::new(None) };
}

/// The work was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it takes more processor time than a request may use")
    }
}

impl std::error::Error for Exhausted {}

/// Sets whom this thread asks whether it may go on.
pub fn watch_with(watch: fn() -> bool) {
    WATCH.set(Some(watch));
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
    match WATCH.get() {
        Some(watch) if !watch() => Err(Exhausted),
        _ => Ok(()),
    }
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
            ASKED.get() < 2
        });
        assert!((0..2).all(|_| spend(half).is_ok()));
        assert_eq!(ASKED.get(), 0);
        assert_eq!(spend(half), Ok(()));
        assert_eq!(ASKED.get(), 1);
        assert_eq!(spend(usize::MAX), Err(Exhausted));
    }
}
