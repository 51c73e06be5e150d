//! The number of clients at a given time, and the times at which an open phase sends its requests.

use super::plan::Phase;

/// Clients of a closed phase over its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clients {
    from: u32,
    to: u32,
    /// Seconds between two changes; 0: all at the begin.
    step: f64,
}

impl Clients {
    /// The clients of a phase; `None` for an open one.
    pub(super) fn of(phase: &Phase) -> Option<Self> {
        let Phase::Closed { clients, to_clients, join, seconds, .. } = phase else { return None };
        let to = to_clients.unwrap_or(*clients);
        let changes = clients.abs_diff(to);
        // Levels of equal lengths: from 1 to 20 in 200 s is one more every 10 s, and the twentieth has its 10 s too.
        let step = join.or(*seconds).unwrap_or(0.0) / f64::from(changes + 1);
        Some(Self { from: *clients, to, step })
    }

    /// Returns the number of clients so many seconds after the start.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is meant"
    )]
    pub(super) fn at(&self, seconds: f64) -> u32 {
        let changes = self.from.abs_diff(self.to);
        let done = if self.step > 0.0 { (seconds / self.step) as u32 } else { changes };
        let done = done.min(changes);
        if self.to >= self.from { self.from + done } else { self.from - done }
    }

    /// Seconds after its begin at which their number next changes, if it does.
    pub(super) fn next_change(&self, seconds: f64) -> Option<f64> {
        let now = self.at(seconds);
        // A hair later, so that rounding does not wake us before the change.
        (now != self.to).then(|| f64::from(now.abs_diff(self.from) + 1) * self.step + 1e-9)
    }

    /// The most there ever are.
    pub(super) fn most(&self) -> u32 {
        self.from.max(self.to)
    }
}

/// The requests of an open phase, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals {
    rate: f64,
    to_rate: f64,
    seconds: f64,
    /// The number of requests sent.
    count: u64,
}

impl Arrivals {
    /// The requests of a phase; `None` for a closed one.
    pub(super) fn of(phase: &Phase) -> Option<Self> {
        let Phase::Open { rate, to_rate, seconds } = *phase else { return None };
        Some(Self { rate, to_rate: to_rate.unwrap_or(rate), seconds, count: 0 })
    }

    /// The same at the rate of its begin, for so many seconds.
    pub(super) fn warm_up(self, seconds: f64) -> Self {
        Self { to_rate: self.rate, seconds, ..self }
    }

    /// Returns the duration of the phase.
    pub(super) const fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Requests a second at a time.
    pub(super) fn rate_at(&self, seconds: f64) -> f64 {
        self.rate + (self.to_rate - self.rate) * (seconds / self.seconds).clamp(0.0, 1.0)
    }

    /// Seconds after the phase's begin at which the next is to be sent; `None` once all have been.
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
    pub(super) fn next(&self) -> Option<f64> {
        let number = self.count as f64;
        // The rate's integral: number = rate * t + slope * t^2 / 2; half a request spares the last one the rounding.
        let all = (self.rate + self.to_rate) / 2.0 * self.seconds;
        if number + 1e-6 >= all {
            return None;
        }
        let slope = (self.to_rate - self.rate) / self.seconds;
        let root = 2.0_f64.mul_add(slope * number, self.rate * self.rate).max(0.0).sqrt();
        let below = self.rate + root;
        Some(if below > 0.0 { 2.0 * number / below } else { 0.0 })
    }

    /// One has been sent: the number it had, from 0.
    pub(super) const fn sent(&mut self) -> u64 {
        let number = self.count;
        self.count += 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Think;

    fn closed(clients: u32, to: u32, join: Option<f64>, seconds: Option<f64>) -> Clients {
        let requests = if seconds.is_none() { Some(1) } else { None };
        let phase =
            Phase::Closed { clients, to_clients: Some(to), join, seconds, requests, think: Think::None };
        Clients::of(&phase).unwrap()
    }

    #[test]
    fn clients_join_at_equal_distances() {
        let clients = closed(1, 20, None, Some(200.0));
        assert_eq!([0.0, 9.99, 10.01, 189.9, 190.1, 200.0].map(|at| clients.at(at)), [1, 1, 2, 19, 20, 20]);
        assert!((clients.next_change(0.0).unwrap() - 10.0).abs() < 0.001);
        assert!(clients.at(clients.next_change(42.0).unwrap()) > clients.at(42.0));
        assert_eq!(clients.next_change(191.0), None);
    }

    #[test]
    fn clients_join_early_leave_or_come_at_once() {
        let clients = closed(1, 100, Some(10.0), Some(60.0));
        assert_eq!([0.0, 5.0, 9.95].map(|at| clients.at(at)), [1, 51, 100]);
        let leaving = closed(4, 1, None, Some(4.0));
        assert_eq!([0.5, 1.5, 2.5, 3.5].map(|at| leaving.at(at)), [4, 3, 2, 1]);
        let at_once = closed(1, 8, None, None);
        assert_eq!((at_once.at(0.0), at_once.next_change(0.0)), (8, None));
    }

    fn moments(rate: f64, to_rate: f64, seconds: f64) -> Vec<f64> {
        let mut arrivals =
            Arrivals::of(&Phase::Open { rate, to_rate: Some(to_rate), seconds }).expect("an open phase");
        std::iter::from_fn(|| {
            let next = arrivals.next()?;
            arrivals.sent();
            Some(next)
        })
        .collect()
    }

    #[test]
    fn a_constant_rate_is_exact() {
        let moments = moments(14.0, 14.0, 10.0);
        assert_eq!(moments.len(), 140);
        assert!(moments.iter().zip(0..).all(|(at, n)| (at - f64::from(n) / 14.0).abs() < 1e-9));
        assert_eq!(self::moments(0.5, 0.5, 1.0).len(), 1);
    }

    #[test]
    fn a_rising_rate_has_the_area_below_it() {
        for (from, to) in [(0.0, 100.0), (100.0, 0.0), (10.0, 90.0)] {
            let moments = moments(from, to, 10.0);
            let half = moments.iter().filter(|at| **at < 5.0).count();
            let expected = (3.0 * from + to) / 8.0 * 10.0;
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let off = (half as f64 - expected).abs();
            assert_eq!(moments.len(), 500, "{from} to {to}");
            assert!(off <= 1.5, "{from} to {to}: {half}");
            assert!(moments.windows(2).all(|pair| pair[0] < pair[1]) && *moments.last().unwrap() < 10.0);
        }
    }
}
