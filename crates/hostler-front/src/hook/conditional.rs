//! Conditional requests (RFC 9110 §13): the client's copy against what would be sent.

use crate::hook::plan::plan;
use crate::request::Request;

/// The outcome of the conditions.
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
    // Old browsers add `; length=...`.
    let text = text.split(|&b| b == b';').next()?;
    let at = httpdate::parse_http_date(std::str::from_utf8(text).ok()?.trim()).ok()?;
    let seconds = at.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs() as i64;
    // Quirk(apache): the very first second means that there is no date.
    Some(seconds).filter(|seconds| *seconds != 0)
}

/// Evaluates the request's conditions in the order of RFC 9110 §13.2.2.
///
/// Quirk(apache): If-Unmodified-Since counts beside If-Match, too. Where it has been met, and where If-Range stands beside Range,
/// no copy of the client's is good enough: it gets what it has asked for.
pub(crate) fn evaluate(request: &Request, validators: Validators<'_>) -> Condition {
    let header = |name: &str| request.target.headers_in.joined(name.as_bytes());
    let is_ranged = request.target.headers_in.contains("Range");
    let unmodified = header("If-Unmodified-Since");
    let sends = unmodified.is_some() || (is_ranged && request.target.headers_in.contains("If-Range"));
    let modified = validators.modified;
    let mut not_modified = None;
    if let Some(tags) = header("If-Match") {
        let strong = validators.etag.is_some_and(|etag| lists_any(request, &tags, etag, false));
        if tags.trim_ascii() != b"*" && !strong {
            return Condition::Failed;
        }
    }
    if let Some(since) = unmodified.and_then(|v| date(&v))
        && modified.map_or(!is_ranged, |m| m > since)
    {
        return Condition::Failed;
    }
    if let Some(tags) = header("If-None-Match") {
        let any = tags.trim_ascii() == b"*";
        // A weak comparison is for GET without ranges only (RFC 9110 §13.1.2).
        let weak = request.is_get() && !is_ranged;
        let matches = any || validators.etag.is_some_and(|etag| lists_any(request, &tags, etag, weak));
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
    if not_modified == Some(true) && !sends { Condition::NotModified } else { Condition::Met }
}

/// Returns whether a list has an entity tag or what compression makes of it for this client. Apache compares the plain
/// tag alone, so its compressed answers are sent again and again.
fn lists_any(request: &Request, list: &[u8], etag: &[u8], weak: bool) -> bool {
    let changed = || plan().changed_tags(request, etag);
    lists(list, etag, weak) || changed().iter().any(|tag| lists(list, tag, weak))
}

/// Returns whether a list of entity tags has this one.
pub(crate) fn lists(list: &[u8], etag: &[u8], weak: bool) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared() {
        assert!(lists(b"\"a\", W/\"b\"", b"\"b\"", true));
        assert!(!lists(b"\"a\", W/\"b\"", b"\"b\"", false));
        assert!(lists(b"\"a,b\"", b"\"a,b\"", false));
    }
}
