//! Which answers filters by media type see (mod_filter).

use crate::request::Request;

/// Whether filters by media type see the answer: mod_filter leaves alone what is no 200, unless `filter-errordocs` is
/// set. (A 304 stands for a 200 that the client has.)
pub(crate) fn are_by_type(request: &Request) -> bool {
    matches!(request.status, 200 | 304) || request.env.contains("filter-errordocs")
}
