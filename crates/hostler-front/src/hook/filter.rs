//! Which answers filters by media type see (mod_filter).

use crate::request::Request;

/// Whether filters by media type see the answer: mod_filter leaves alone what is no 200, unless `filter-errordocs` is
/// set. (A 304 stands for a 200 that the client has.)
pub(crate) fn are_by_type(request: &Request) -> bool {
    matches!(request.status, 200 | 304) || request.env.contains("filter-errordocs")
}

/// Whether a filter of this name, in lower case, is to see the answer: by SetOutputFilter and AddOutputFilter, or by its
/// media type.
pub(crate) fn wants(request: &Request, name: &[u8]) -> bool {
    if request.filters.iter().any(|filter| filter.eq_ignore_ascii_case(name)) {
        return true;
    }
    let filter = &request.dir.filter;
    if !filter.is_set() || !are_by_type(request) {
        return false;
    }
    let kind = request.content_type.as_deref().and_then(|kind| std::str::from_utf8(kind).ok());
    kind.is_some_and(|kind| {
        filter.filters_for(kind).any(|filter| filter.as_bytes().eq_ignore_ascii_case(name))
    })
}
