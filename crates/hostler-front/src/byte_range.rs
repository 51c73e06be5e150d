//! The Range field taken apart (RFC 9110 §14.1.2), for a body whose length is known. What becomes of the ranges
//! is `filter/range.rs`'s part. No I/O: it is fuzzed.

use crate::http1::framing;

/// A byte range, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl ByteRange {
    pub(crate) fn length(self) -> u64 {
        self.last - self.first + 1
    }
}

/// What a Range field asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ranges {
    /// The whole: no range, a malformed one, or too many.
    Whole,
    Some(Vec<ByteRange>),
    Unsatisfiable,
}

/// `MaxRanges`, `MaxRangeOverlaps` and `MaxRangeReversals`; `None` is no limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeLimits {
    pub(crate) ranges: Option<u32>,
    pub(crate) overlaps: Option<u32>,
    pub(crate) reversals: Option<u32>,
}

/// Parses a Range field for a body of `length` bytes (RFC 9110 §14.1.2).
pub(crate) fn ranges(field: &[u8], length: u64, limits: RangeLimits) -> Ranges {
    let Some(set) = field.trim_ascii().strip_prefix(b"bytes=").or_else(|| field.strip_prefix(b"bytes "))
    else {
        return Ranges::Whole;
    };
    let mut found: Vec<ByteRange> = Vec::new();
    let (mut specs, mut overlaps, mut reversals) = (0u32, 0u32, 0u32);
    for spec in set.split(|&b| b == b',').map(<[u8]>::trim_ascii).filter(|s| !s.is_empty()) {
        specs += 1;
        if limits.ranges.is_some_and(|max| specs > max) {
            return Ranges::Whole;
        }
        let Some(dash) = spec.iter().position(|&b| b == b'-') else { return Ranges::Whole };
        let (first, last) = (spec[..dash].trim_ascii(), spec[dash + 1..].trim_ascii());
        let range = match (framing::decimal(first), framing::decimal(last)) {
            (None, Some(suffix)) if first.is_empty() => {
                if suffix == 0 || length == 0 {
                    continue;
                }
                ByteRange { first: length.saturating_sub(suffix), last: length - 1 }
            }
            (Some(first), None) if last.is_empty() => ByteRange { first, last: length.wrapping_sub(1) },
            (Some(first), Some(last)) if first <= last => {
                ByteRange { first, last: last.min(length.wrapping_sub(1)) }
            }
            _ => return Ranges::Whole,
        };
        if range.first >= length {
            continue;
        }
        if let Some(previous) = found.last() {
            reversals += u32::from(range.first < previous.first);
            overlaps += u32::from(range.first <= previous.last && previous.first <= range.last);
        }
        found.push(range);
    }
    if specs == 0 {
        return Ranges::Whole;
    }
    let too_many = |n: u32, max: Option<u32>| max.is_some_and(|max| n > max);
    if too_many(overlaps, limits.overlaps) || too_many(reversals, limits.reversals) {
        return Ranges::Whole;
    }
    if found.is_empty() { Ranges::Unsatisfiable } else { Ranges::Some(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RangeLimits = RangeLimits { ranges: Some(200), overlaps: Some(20), reversals: Some(20) };

    fn some(list: &[(u64, u64)]) -> Ranges {
        Ranges::Some(list.iter().map(|&(first, last)| ByteRange { first, last }).collect())
    }

    #[test]
    fn ranges_are_cut_to_the_body() {
        assert_eq!(ranges(b"bytes=0-4", 10, LIMITS), some(&[(0, 4)]));
        assert_eq!(ranges(b"bytes=5-", 10, LIMITS), some(&[(5, 9)]));
        assert_eq!(ranges(b"bytes=-3", 10, LIMITS), some(&[(7, 9)]));
        assert_eq!(ranges(b"bytes=-30", 10, LIMITS), some(&[(0, 9)]));
        assert_eq!(ranges(b"bytes=0-0, 8-99", 10, LIMITS), some(&[(0, 0), (8, 9)]));
        assert_eq!(ranges(b"bytes=10-", 10, LIMITS), Ranges::Unsatisfiable);
        assert_eq!(ranges(b"bytes=0-", 0, LIMITS), Ranges::Unsatisfiable);
    }

    #[test]
    fn what_is_no_range_is_the_whole() {
        for field in ["lines=1-2", "bytes=", "bytes=a-b", "bytes=5-4", "bytes=--1", "bytes=1"] {
            assert_eq!(ranges(field.as_bytes(), 10, LIMITS), Ranges::Whole, "{field}");
        }
        let many = format!("bytes={}", "0-0,".repeat(10_000));
        assert_eq!(ranges(many.as_bytes(), 10, LIMITS), Ranges::Whole);
        let overlapping = format!("bytes={}", "0-5,".repeat(30));
        assert_eq!(ranges(overlapping.as_bytes(), 10, LIMITS), Ranges::Whole);
    }
}
