//! Internal redirects (RFC 3875 §6.2.2, ErrorDocument, Action): a request goes on as another one.

use crate::hook::host::without_fragment;
use crate::hook::walk;
use crate::io::body::Body;
use crate::request::flow::Halt;
use crate::request::{Request, settings};
use bytes::Bytes;

/// The request that goes on in the place of this one; `Err`: it has been redirected too often
/// (`LimitInternalRecursion`), and stays what it is.
pub(crate) fn next(request: Request, method: Bytes, target: &[u8]) -> Result<Request, Box<Request>> {
    if request.redirects >= settings::recursion(&request.server).0 {
        return Err(Box::new(request));
    }
    Ok(request.redirected(method, without_fragment(target)))
}

/// Follows redirects until something else comes of it. `begin` prepares each request that goes on. A redirect that is
/// given back is one too many.
pub(crate) async fn follow(
    mut request: Request,
    mut outcome: Result<Body, Halt>,
    begin: impl Fn(&mut Request),
) -> (Request, Result<Body, Halt>) {
    while let Err(Halt::Redirect { method, target }) = outcome {
        match next(request, method.clone(), &target) {
            Err(last) => return (*last, Err(Halt::Redirect { method, target })),
            Ok(other) => request = other,
        }
        begin(&mut request);
        outcome = Box::pin(walk::answer(&mut request)).await;
    }
    (request, outcome)
}
