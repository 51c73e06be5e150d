//! Listings of directories (mod_autoindex).

use crate::body::Body;
use crate::request::Request;
use crate::serve::Halt;

/// Lists the directory, if Options Indexes.
pub(crate) async fn handle(request: &mut Request) -> Result<Body, Halt> {
    let _ = request;
    Err(Halt::Status(403))
}
