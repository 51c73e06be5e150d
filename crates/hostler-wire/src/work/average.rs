//! The average duration of requests, from their ends ([`FromWorker::End`](super::FromWorker::End)): the front and a
//! worker average it in the same way.

/// Times above count as this one: a worker that had to wait for a processor says little about the next request, and
/// must not make short ones look long for more than a few.
const LONGEST: u32 = 250;
/// The average is kept in this fraction of a microsecond, and each request counts as much.
const FRACTION: u32 = 32;

/// A moving average in microseconds, of 250 at most.
#[derive(Clone, Copy, Debug)]
pub struct MovingAverage(u32);

impl MovingAverage {
    /// As if requests were long.
    pub const LONG: Self = Self::of(LONGEST);

    /// As if requests had taken so many microseconds.
    #[must_use]
    pub const fn of(micros: u32) -> Self {
        Self(micros * FRACTION)
    }

    /// Takes in what one has taken.
    pub fn add(&mut self, micros: u32) {
        self.0 = self.0 - self.0 / FRACTION + micros.min(LONGEST);
    }

    /// The average, in whole microseconds.
    #[must_use]
    pub const fn micros(self) -> u32 {
        self.0 / FRACTION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_long_does_not_make_short_ones_look_long() {
        let mut usual = MovingAverage::LONG;
        (0..200).for_each(|_| usual.add(3));
        let before = usual.micros();
        usual.add(u32::MAX);
        assert!(before <= 4 && usual.micros() <= before + 8, "{usual:?}");
        (0..200).for_each(|_| usual.add(1000));
        assert!(usual.micros() >= 240, "{usual:?}");
    }
}
