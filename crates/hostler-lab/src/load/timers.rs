//! Timers: a heap of times, each for a client.
//!
//! Entries are never removed: who is woken looks whether it still concerns them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nanoseconds since the generator began.
pub(super) type Moment = u64;

/// Nanoseconds of a second.
pub(super) const SECOND: Moment = 1_000_000_000;

/// The kinds of timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A client's pause may be over.
    Wake(u32),
    /// A client's request may have waited too long.
    Expire(u32),
}

/// The heap.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Moment, Due)>>);

impl Timers {
    pub(super) fn set(&mut self, at: Moment, due: Due) {
        self.0.push(Reverse((at, due)));
    }

    /// The earliest that is due, if one is.
    pub(super) fn due(&mut self, now: Moment) -> Option<Due> {
        let Reverse((at, due)) = *self.0.peek()?;
        (at <= now).then(|| {
            self.0.pop();
            due
        })
    }

    /// When the next is due.
    pub(super) fn next(&self) -> Option<Moment> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Seconds as a moment or a length.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "plans are checked: up to a year"
)]
pub(super) fn moment(seconds: f64) -> Moment {
    (seconds * SECOND as f64) as Moment
}

/// A moment or length in seconds.
#[expect(clippy::cast_precision_loss, reason = "2^53 nanoseconds are 104 days")]
pub(super) fn seconds(moment: Moment) -> f64 {
    moment as f64 / SECOND as f64
}
