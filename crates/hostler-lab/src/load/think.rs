//! Think times: each client's own sequence, which depends only on the plan's seed and on the client's number.

use super::plan::Think;
use std::time::Duration;

/// A sequence of numbers (SplitMix64; Steele, Lea, Flood 2014): good enough for pauses, the same everywhere.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// The sequence of a client.
    pub(super) fn new(seed: u64, client: u32) -> Self {
        // One step each, so that neighbouring clients or seeds don't start side by side.
        let mut seeded = Self(seed);
        let mut random = Self(seeded.next() ^ u64::from(client).wrapping_mul(0xD1B5_4A32_D192_ED03));
        random.next();
        random
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0, below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next pause; `None`: none at all.
    pub(super) fn pause(&mut self, think: &Think) -> Option<Duration> {
        match think {
            Think::None => None,
            Think::Fixed { seconds } => Some(Duration::from_secs_f64(*seconds)),
            Think::Uniform { from, to } => Some(Duration::from_secs_f64(from + (to - from) * self.unit())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(seed: u64, client: u32) -> Vec<Duration> {
        let mut random = Random::new(seed, client);
        (0..1000).filter_map(|_| random.pause(&Think::Uniform { from: 1.0, to: 8.0 })).collect()
    }

    #[test]
    fn a_clients_pauses_depend_on_seed_and_number_only() {
        assert_eq!(pauses(7, 3), pauses(7, 3));
        assert_ne!(pauses(7, 3), pauses(7, 4));
        assert_ne!(pauses(7, 3), pauses(8, 3));
    }

    #[test]
    fn pauses_fill_their_range() {
        let mean = |pauses: &[Duration]| pauses.iter().sum::<Duration>().as_secs_f64() / 1000.0;
        for client in 0..10 {
            let pauses = pauses(0, client);
            assert!(pauses.iter().all(|pause| (1.0..8.0).contains(&pause.as_secs_f64())));
            assert!((4.0..5.0).contains(&mean(&pauses)), "{}", mean(&pauses));
        }
        assert_eq!(Random::new(0, 0).pause(&Think::None), None);
    }
}
