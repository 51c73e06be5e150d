//! Every parser of bytes from outside as one function `target(data)`, which may refuse its input but must not
//! panic, run for long, or break a promise (what comes in pieces gives the same as at once; no `..` is left in a
//! path; what was decoded encodes to itself).
//!
//! Two ways to feed them: `tests/smoke.rs`, a short run with a fixed seed that is part of `make test`, and
//! `fuzz_targets/`, one program for each with libFuzzer (README.md). Not here: anything that serves.

pub mod mutator;
pub mod target;

/// Numbers that depend on the input alone, for decisions that a target has to take: where to split, what an
/// imagined host answers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// From the input (FNV-1a).
    #[must_use]
    pub fn of(data: &[u8]) -> Self {
        Self::seeded(data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    /// From a number.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// The next number (xorshift64*).
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`; 0 if there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.roll() >> 16) as usize % limit }
    }

    /// True one time out of `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The input in pieces of one to a few bytes, or of one larger size.
pub fn pieces<'a>(data: &'a [u8], dice: &mut Dice) -> impl Iterator<Item = &'a [u8]> {
    let longest = [1, 3, 17, 200][dice.below(4)];
    let mut dice = dice.clone();
    let mut rest = data;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at_checked(1 + dice.below(longest)).unwrap_or((rest, &[]));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
