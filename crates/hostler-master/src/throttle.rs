//! The pause before something that keeps failing is tried again.

use std::time::{Duration, Instant};

/// A process that lives shorter than this has failed.
pub(crate) const SETTLED: Duration = Duration::from_secs(1);
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);

/// The record of one thing that is started again and again.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    failures: u32,
    not_before: Option<Instant>,
}

impl Throttle {
    /// It failed: the first time it may be tried again at once, then after 100 ms, doubled each time, up to 30 s.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let delay = match self.failures {
            1 => Duration::ZERO,
            n => FIRST.saturating_mul(1 << (n - 2).min(10)).min(LONGEST),
        };
        self.not_before = Some(now + delay);
    }

    /// It worked for a while: earlier failures count no more.
    pub(crate) fn worked(&mut self) {
        *self = Self::default();
    }

    /// It has ended after living since `since`.
    pub(crate) fn ended(&mut self, since: Instant, now: Instant) {
        if now.duration_since(since) < SETTLED {
            self.failed(now);
        } else {
            self.worked();
        }
    }

    /// When it may be tried; `None`: now.
    pub(crate) fn wait_until(&self, now: Instant) -> Option<Instant> {
        self.not_before.filter(|at| *at > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_longer_with_each_failure_up_to_a_limit() {
        let now = Instant::now();
        let mut throttle = Throttle::default();
        assert_eq!(throttle.wait_until(now), None);
        throttle.failed(now);
        assert_eq!(throttle.wait_until(now), None);
        throttle.failed(now);
        assert_eq!(throttle.wait_until(now), Some(now + FIRST));
        throttle.failed(now);
        assert_eq!(throttle.wait_until(now), Some(now + FIRST * 2));
        for _ in 0..50 {
            throttle.failed(now);
        }
        assert_eq!(throttle.wait_until(now), Some(now + LONGEST));
        assert_eq!(throttle.wait_until(now + LONGEST), None);
    }

    #[test]
    fn a_life_of_a_second_clears_the_record() {
        let now = Instant::now();
        let mut throttle = Throttle::default();
        for _ in 0..5 {
            throttle.ended(now, now);
        }
        assert!(throttle.wait_until(now).is_some());
        throttle.ended(now, now + SETTLED);
        assert_eq!(throttle.wait_until(now), None);
    }
}
