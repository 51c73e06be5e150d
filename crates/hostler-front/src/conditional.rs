//! Conditional requests (RFC 9110 §13): the client's copy against what would be sent.

use crate::http1::framing;
use crate::request::Request;

/// What the conditions ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Answer as if there were none.
    Met,
    NotModified,
    Failed,
}

/// The fields that conditions compare, of the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validators<'a> {
    pub(crate) etag: Option<&'a [u8]>,
    /// Seconds since the epoch.
    pub(crate) modified: Option<i64>,
    /// Now, in seconds since the epoch.
    pub(crate) now: i64,
}

/// Parses an HTTP date in any of its three forms; `None` if it is none.
pub(crate) fn date(text: &[u8]) -> Option<i64> {
    let at = httpdate::parse_http_date(std::str::from_utf8(text).ok()?.trim()).ok()?;
    Some(at.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs() as i64)
}

/// Evaluates the request's conditions in the order of RFC 9110 §13.2.2.
pub(crate) fn evaluate(request: &Request, validators: Validators<'_>) -> Condition {
    let header = |name: &str| request.headers_in.joined(name.as_bytes());
    let modified = validators.modified;
    let mut not_modified = None;
    if let Some(tags) = header("If-Match") {
        let strong = validators.etag.is_some_and(|etag| lists(&tags, etag, false));
        if tags.trim_ascii() != b"*" && !strong {
            return Condition::Failed;
        }
    } else if let Some(since) = header("If-Unmodified-Since").and_then(|v| date(&v)) {
        if modified.is_none_or(|m| m > since) {
            return Condition::Failed;
        }
    }
    if let Some(tags) = header("If-None-Match") {
        let any = tags.trim_ascii() == b"*";
        // A weak comparison is for GET without ranges only (RFC 9110 §13.1.2).
        let weak = request.is_get() && !request.headers_in.contains("Range");
        let matches = any || validators.etag.is_some_and(|etag| lists(&tags, etag, weak));
        if matches && !request.is_get() {
            return Condition::Failed;
        }
        not_modified = Some(matches);
    }
    if not_modified != Some(false)
        && request.is_get()
        && let Some(since) = header("If-Modified-Since").and_then(|v| date(&v))
    {
        // A date in the future is not one that we gave.
        let unchanged = modified.is_some_and(|m| m <= since) && since <= validators.now;
        not_modified = Some(unchanged);
    }
    if not_modified == Some(true) { Condition::NotModified } else { Condition::Met }
}

/// Whether a list of entity tags has this one.
fn lists(list: &[u8], etag: &[u8], weak: bool) -> bool {
    let opaque = |tag: &[u8]| -> (bool, Vec<u8>) {
        let stripped = tag.strip_prefix(b"W/").or_else(|| tag.strip_prefix(b"w/"));
        (stripped.is_some(), stripped.unwrap_or(tag).to_vec())
    };
    let (ours_weak, ours) = opaque(etag);
    tags(list).any(|tag| {
        let (theirs_weak, theirs) = opaque(tag);
        theirs == ours && (weak || !(ours_weak || theirs_weak))
    })
}

/// The entity tags of a list; commas inside quotes don't separate.
fn tags(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    list.split(move |&b| {
        quoted ^= b == b'"';
        b == b',' && !quoted
    })
    .map(<[u8]>::trim_ascii)
}

/// `If-Range` (RFC 9110 §13.1.5): whether ranges may be sent.
pub(crate) fn range_applies(request: &Request, validators: Validators<'_>) -> bool {
    let Some(condition) = request.header("If-Range") else { return true };
    let condition = condition.trim_ascii();
    if condition.starts_with(b"\"") || condition.starts_with(b"W/") {
        return validators.etag.is_some_and(|etag| etag == condition && !etag.starts_with(b"W/"));
    }
    match (date(condition), validators.modified) {
        // A date is a strong validator only when it lies some time back.
        (Some(theirs), Some(ours)) => theirs == ours && validators.now - ours >= 60,
        _ => false,
    }
}

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

    #[test]
    fn tags_are_compared() {
        assert!(lists(b"\"a\", W/\"b\"", b"\"b\"", true));
        assert!(!lists(b"\"a\", W/\"b\"", b"\"b\"", false));
        assert!(lists(b"\"a,b\"", b"\"a,b\"", false));
    }
}
