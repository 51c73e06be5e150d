//! Pages of this server's in the place of those that another server or a container has for an error.

use crate::request::Request;
use crate::request::flow::Halt;
use bytes::Bytes;

/// `ProxyErrorOverride`: a page of this server's in the place of the answer.
pub(crate) fn overridden(request: &mut Request) -> Option<Halt> {
    let status = request.reply.status;
    if !request.resource.dir.proxy.error_override.as_ref()?.has(status) {
        return None;
    }
    replaced(request)
}

/// The same, whatever the answer is.
pub(crate) fn replaced(request: &mut Request) -> Option<Halt> {
    let status = request.reply.status;
    // Who is to log in has to know how.
    let challenges: Vec<Bytes> = request.reply.headers_out.all(b"WWW-Authenticate").cloned().collect();
    request.reply.headers_out.clear();
    challenges
        .into_iter()
        .for_each(|challenge| request.reply.err_headers_out.add("WWW-Authenticate", challenge));
    (request.resource.content_type, request.reply.reason, request.reply.status) = (None, None, 200);
    Some(Halt::Status(status))
}
