//! Action and Script: a URL that handles other URLs.

use crate::request::Request;
use crate::serve::Phase;

/// Redirects to the script of the request's handler, type or method.
pub(crate) fn check(request: &mut Request) -> Phase {
    let _ = request;
    Ok(())
}
