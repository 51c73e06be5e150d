//! The Range field taken apart (RFC 9110 §14.1.2), for a body whose length is known. What becomes of the ranges
//! is the server's business.

use crate::framing;

/// A byte range, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte.
    pub last: u64,
}

impl ByteRange {
    /// In bytes; never 0.
    #[must_use]
    pub fn length(self) -> u64 {
        self.last - self.first + 1
    }
}

/// The ranges that a Range field requests.
#[derive(Debug, PartialEq, Eq)]
pub enum Ranges {
    /// The whole: no range, a malformed one, or too many.
    Whole,
    /// These parts, in the order in which they were asked for.
    Some(Vec<ByteRange>),
    /// None of them lies in the body (416).
    Unsatisfiable,
}

/// `MaxRanges`, `MaxRangeOverlaps` and `MaxRangeReversals`; `None` is no limit.
#[derive(Clone, Copy, Debug)]
pub struct RangeLimits {
    /// Ranges asked for.
    pub ranges: Option<u32>,
    /// Ranges that overlap the one before them, or touch it.
    pub overlaps: Option<u32>,
    /// Ranges among those that begin before the one that they overlap or touch.
    pub reversals: Option<u32>,
}

/// Parses a Range field for a body of `length` bytes (RFC 9110 §14.1.2).
#[must_use]
pub fn ranges(field: &[u8], length: u64, limits: RangeLimits) -> Ranges {
    let set = field.split_at_checked(6).filter(|(unit, _)| unit.eq_ignore_ascii_case(b"bytes="));
    let Some((_, set)) = set.filter(|_| length > 0) else { return Ranges::Whole };
    let mut found: Vec<ByteRange> = Vec::new();
    let (mut specs, mut overlaps, mut reversals) = (0u32, 0u32, 0u32);
    for (index, spec) in set.split(|&b| b == b',').enumerate() {
        // Quirk(apache): commas in a row are one, but for those before the first range.
        match (index, spec.is_empty()) {
            (0, true) => return Ranges::Whole,
            (_, true) => continue,
            _ => {}
        }
        let spec = if index == 0 { spec } else { spec.trim_ascii() };
        specs += 1;
        if limits.ranges.is_some_and(|max| specs > max) {
            return Ranges::Whole;
        }
        let range = match range(spec, length) {
            Ok(Some(range)) => range,
            Ok(None) => continue,
            Err(NoRange) => return Ranges::Whole,
        };
        if let Some(previous) = found.last_mut()
            && range.first <= previous.last + 1
            && previous.first <= range.last + 1
        {
            // What overlaps the range before it, or touches it, is sent once and as one.
            overlaps += 1;
            reversals += u32::from(range.first < previous.first);
            *previous =
                ByteRange { first: previous.first.min(range.first), last: previous.last.max(range.last) };
            continue;
        }
        found.push(range);
    }
    let too_many = |n: u32, max: Option<u32>| max.is_some_and(|max| n > max);
    if specs == 0 || too_many(overlaps, limits.overlaps) || too_many(reversals, limits.reversals) {
        return Ranges::Whole;
    }
    // More than the whole is what the whole is cheaper for.
    if found.iter().map(|range| range.length()).fold(0, u64::saturating_add) > length {
        return Ranges::Whole;
    }
    if found.is_empty() { Ranges::Unsatisfiable } else { Ranges::Some(found) }
}

struct NoRange;

/// One range, cut to the body; `None`: it begins after the body's end.
fn range(spec: &[u8], length: u64) -> Result<Option<ByteRange>, NoRange> {
    let dash = spec.iter().position(|&b| b == b'-').ok_or(NoRange)?;
    let (first, last) = (&spec[..dash], &spec[dash + 1..]);
    let range = match (framing::decimal(first), framing::decimal(last)) {
        (None, Some(suffix)) if first.is_empty() && suffix > 0 => {
            ByteRange { first: length.saturating_sub(suffix), last: length - 1 }
        }
        (Some(first), None) if last.is_empty() => ByteRange { first, last: length - 1 },
        (Some(first), Some(last)) if first <= last => ByteRange { first, last: last.min(length - 1) },
        _ => return Err(NoRange),
    };
    Ok((range.first < length).then_some(range))
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
        assert_eq!(ranges(b"bytes=0-0,,2-3,", 10, LIMITS), some(&[(0, 0), (2, 3)]));
        assert_eq!(ranges(b"bytes=,2-3", 10, LIMITS), Ranges::Whole);
        assert_eq!(ranges(b"bytes=0-0, ,2-3", 10, LIMITS), Ranges::Whole);
        assert_eq!(ranges(b"bytes=10-", 10, LIMITS), Ranges::Unsatisfiable);
        assert_eq!(ranges(b"bytes=0-", 0, LIMITS), Ranges::Whole);
        assert_eq!(ranges(b"BYTES=0-5,3-8", 10, LIMITS), some(&[(0, 8)]));
        assert_eq!(ranges(b"bytes=1-3,4-5", 10, LIMITS), some(&[(1, 5)]));
        assert_eq!(ranges(b"bytes=4-5,1-3", 10, LIMITS), some(&[(1, 5)]));
        assert_eq!(ranges(b"bytes=5-6,1-3", 10, LIMITS), some(&[(5, 6), (1, 3)]));
        assert_eq!(ranges(b"bytes=0-4,7-8,1-4", 10, LIMITS), Ranges::Whole);
    }

    #[test]
    fn what_is_no_range_is_the_whole() {
        for field in [
            "lines=1-2",
            "bytes=",
            "bytes=a-b",
            "bytes=5-4",
            "bytes=--1",
            "bytes=1",
            "bytes= 0-3",
            "bytes=-0",
        ] {
            assert_eq!(ranges(field.as_bytes(), 10, LIMITS), Ranges::Whole, "{field}");
        }
        let many = format!("bytes={}", "0-0,".repeat(10_000));
        assert_eq!(ranges(many.as_bytes(), 10, LIMITS), Ranges::Whole);
        let overlapping = format!("bytes={}", "0-5,".repeat(30));
        assert_eq!(ranges(overlapping.as_bytes(), 10, LIMITS), Ranges::Whole);
    }
}
