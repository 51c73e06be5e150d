//! What is done to an answer between handler and client: environment and header directives, compression, ranges.

use crate::io::body::Body;
use crate::module::{deflate, ratelimit};
use crate::request::Request;
use bytes::Bytes;

/// Output filters by name, in order; unknown names were refused when the configuration was read.
pub(crate) async fn apply(request: &mut Request, body: Body) -> Body {
    let body = crate::module::include::filter(request, body).await;
    let filters = std::mem::take(&mut request.filters);
    request.rate = ratelimit::wanted(request, &filters);
    deflate::apply(request, body, &filters)
}

/// Whether filters by media type see the answer: mod_filter leaves alone what is no 200, unless `filter-errordocs` is
/// set. (A 304 stands for a 200 that the client has.)
pub(crate) fn are_by_type(request: &Request) -> bool {
    matches!(request.status, 200 | 304) || request.env.contains("filter-errordocs")
}

/// `AllowMethods` (mod_allowmethods).
pub(crate) fn methods_allowed(request: &mut Request) -> bool {
    let Some(methods) = request.dir.core.allow_methods.clone() else { return true };
    let method: &[u8] = if request.is_head() { b"GET" } else { &request.method };
    let allowed = methods.is_empty() || methods.iter().any(|m| m.as_bytes() == method);
    if !allowed {
        request.headers_out.set("Allow", Bytes::from(methods.join(",")));
    }
    allowed
}

/// Whether filters or header directives may answer two requests for the same file differently.
pub(crate) fn depends_on_request(request: &Request) -> bool {
    let dir = &request.dir;
    // Each of these modules may look at the request; none of them is on the way of a plain file.
    let by_variables = dir.setenvif.is_set() || !crate::values::agents::are_alone(&request.server);
    dir.headers.is_set() || by_variables || dir.expires.is_set()
}
