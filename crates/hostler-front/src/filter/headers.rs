//! Header and RequestHeader.

use crate::request::Request;

/// `early` ones, before access control.
pub(crate) fn early(request: &mut Request) {
    let _ = request;
}

/// On the way out; `error`: only the `always` table is left.
pub(crate) async fn apply(request: &mut Request, error: bool) {
    let _ = (request, error);
}

/// As [`apply`], where nothing can be waited for.
pub(crate) fn apply_now(request: &mut Request, error: bool) {
    let _ = (request, error);
}
