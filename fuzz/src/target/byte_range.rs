//! The Range field.

use crate::Dice;
use hostler_http1::byte_range::{RangeLimits, Ranges, ranges};

/// The input is the field's value.
pub fn target(data: &[u8]) {
    let mut dice = Dice::of(data);
    let length = [0, 1, 10, 1 << 20, u64::MAX][dice.below(5)];
    let limits = RangeLimits { ranges: Some(200), overlaps: Some(20), reversals: Some(20) };
    if let Ranges::Some(found) = ranges(data, length, limits) {
        assert!((1..=200).contains(&found.len()));
        for range in found {
            assert!(range.first <= range.last && range.last < length, "{range:?} of {length}");
            assert!(range.length() <= length);
        }
    }
}
