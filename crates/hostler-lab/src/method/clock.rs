//! The duration of a run: first estimated from its plans, then from the time they took.

use crate::load::{Phase, Plan};
use std::time::Instant;

/// Seconds of a plan that ends by requests, before any has been taken.
const GUESS: f64 = 1.0;

/// A run's clock.
#[derive(Debug)]
pub(super) struct Clock {
    begin: Instant,
    /// Seconds that were planned, in all and of what is done.
    planned: f64,
    done: f64,
}

impl Clock {
    pub(super) fn new(planned: f64) -> Self {
        Self { begin: Instant::now(), planned, done: 0.0 }
    }

    /// Seconds since the begin.
    pub(super) fn now(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// So many planned seconds are done, or won't be.
    pub(super) fn done(&mut self, planned: f64) {
        self.done += planned;
    }

    /// The part that is done and the seconds that are left, when `under_way` planned seconds of the next are done.
    pub(super) fn left(&self, under_way: f64) -> (f64, f64) {
        if self.planned <= 0.0 {
            return (0.0, 0.0);
        }
        let part = ((self.done + under_way) / self.planned).clamp(0.0, 1.0);
        // A few percent tell nothing yet.
        let left = if part > 0.05 { self.now() * (1.0 - part) / part } else { self.planned * (1.0 - part) };
        (part, left)
    }
}

/// Seconds that a plan is expected to take.
pub(super) fn seconds(plan: &Plan) -> f64 {
    let of_phase = |phase: &Phase| match phase {
        Phase::Closed { seconds, .. } => seconds.unwrap_or(GUESS),
        Phase::Open { seconds, .. } => *seconds,
    };
    plan.phases.iter().map(of_phase).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_was_planned() {
        let mut clock = Clock::new(100.0);
        let (part, left) = clock.left(0.0);
        assert!(part.abs() < 1e-9 && (left - 100.0).abs() < 1.0);
        clock.done(150.0);
        assert_eq!(clock.left(5.0).0, 1.0);
        assert_eq!(Clock::new(0.0).left(1.0), (0.0, 0.0));
    }
}
