//! Server-side includes (mod_include).

use crate::body::Body;
use crate::files::OpenFile;
use crate::request::Request;
use crate::serve::Halt;
use std::rc::Rc;

/// Whether the request's file is a page to expand.
pub(crate) fn wanted(request: &Request) -> bool {
    request.filters.iter().any(|f| &**f == b"includes")
}

/// Pages may be asked for with path info (mod_include accepts it).
pub(crate) fn accepts_path_info(request: &Request) -> bool {
    wanted(request)
}

/// Expands the page.
pub(crate) async fn handle(request: &mut Request, file: Rc<OpenFile>) -> Result<Body, Halt> {
    let _ = (request, file);
    Err(Halt::Status(501))
}
