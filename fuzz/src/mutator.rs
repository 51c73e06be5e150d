//! A small mutator for the smoke run: the same seed gives the same inputs on every machine.

use crate::Dice;

/// Longest input that mutation makes, in bytes. Longer ones find little and cost much.
const LONGEST: usize = 4096;

/// Makes inputs out of seeds.
#[derive(Clone, Debug)]
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// `seeds` are the examples to start from, `words` what is worth inserting. Neither needs to have any.
    #[must_use]
    pub fn new(seeds: Vec<Vec<u8>>, words: Vec<Vec<u8>>) -> Self {
        Self { seeds, words }
    }

    /// The input number `number`: first the seeds as they are, then changed ones.
    #[must_use]
    pub fn input(&self, number: u64) -> Vec<u8> {
        if let Some(seed) = usize::try_from(number).ok().and_then(|at| self.seeds.get(at)) {
            return seed.clone();
        }
        let mut dice = Dice::seeded(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut input = self.pick(&self.seeds, &mut dice);
        for _ in 0..=dice.below(8) {
            self.change(&mut input, &mut dice);
        }
        input.truncate(LONGEST);
        input
    }

    fn pick(&self, from: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
        from.get(dice.below(from.len())).cloned().unwrap_or_default()
    }

    fn change(&self, input: &mut Vec<u8>, dice: &mut Dice) {
        let at = dice.below(input.len() + 1);
        match dice.below(9) {
            0 => flip(input, at, dice),
            1 => set(input, at, dice.roll() as u8),
            2 => set(input, at, INTERESTING[dice.below(INTERESTING.len())]),
            3 => input.insert(at, INTERESTING[dice.below(INTERESTING.len())]),
            4 => drop(input.drain(at..(at + 1 + dice.below(20)).min(input.len()).max(at))),
            5 => input.truncate(at),
            6 => repeat(input, at, dice),
            7 => splice(input, at, self.pick(&self.words, dice)),
            _ => {
                let other = self.pick(&self.seeds, dice);
                let from = dice.below(other.len() + 1);
                splice(input, at, other[from..(from + dice.below(80)).min(other.len())].to_vec());
            }
        }
    }
}

/// Bytes that parsers treat in special ways.
const INTERESTING: &[u8] = b"\0\n\r\t \"'\\#%$&(){}[]<>/.,:;=-+*?!|@^~0189afAFzZ\x7f\x80\xc3\xff";

fn flip(input: &mut [u8], at: usize, dice: &mut Dice) {
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << dice.below(8);
    }
}

fn set(input: &mut [u8], at: usize, value: u8) {
    if let Some(byte) = input.get_mut(at) {
        *byte = value;
    }
}

/// A stretch several times, sometimes very often: what nests or adds up shows.
fn repeat(input: &mut Vec<u8>, at: usize, dice: &mut Dice) {
    let end = (at + 1 + dice.below(24)).min(input.len());
    let times = if dice.one_in(8) { 200 } else { 1 + dice.below(4) };
    let stretch = input.get(at..end).unwrap_or_default().repeat(times);
    splice(input, at, stretch);
}

fn splice(input: &mut Vec<u8>, at: usize, piece: Vec<u8>) {
    drop(input.splice(at..at, piece));
}
