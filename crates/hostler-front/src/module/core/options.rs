//! Methods that no file answers: OPTIONS and TRACE; and what is expected of the server.

use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::methods::{allowed, is_known_method};
use bytes::Bytes;
use hostler_config::directives::core::Trace;

/// `OPTIONS` on a file.
pub(crate) fn handle(request: &mut Request) -> Result<Body, Halt> {
    let allow = allowed(request);
    request.reply.headers_out.set("Allow", allow);
    request.resource.content_type =
        (!request.resource.found.is_nothing()).then(|| request.resource.content_type.clone()).flatten();
    Ok(Body::Empty)
}

/// `OPTIONS *`; other methods mean nothing there.
pub(crate) fn star(request: &mut Request) -> Result<Body, Halt> {
    if &*request.target.method != b"OPTIONS" {
        return Err(Halt::Status(if is_known_method(request) { 400 } else { 501 }));
    }
    Ok(Body::Empty)
}

/// `TRACE` (RFC 9110 §9.3.8), unless `TraceEnable` is off.
pub(crate) async fn trace(request: &mut Request) -> Result<Body, Halt> {
    let mode = request.server.conf.core.trace.unwrap_or_default();
    if mode == Trace::Off {
        log::request(
            request,
            Severity::Error,
            "core",
            "TRACE is denied by the server's configuration (TraceEnable)",
        );
        request.reply.headers_out.set("Allow", allowed(request));
        return Err(Halt::Status(405));
    }
    if !request.target.body.is_empty() && mode != Trace::Extended {
        return Err(Halt::Status(413));
    }
    let mut text = request.client.line.to_vec();
    text.extend_from_slice(b"\r\n");
    for (name, value) in request.target.headers_in.iter() {
        text.extend_from_slice(name);
        text.extend_from_slice(b": ");
        text.extend_from_slice(value);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    while let Some(chunk) = request.target.body.chunk().await {
        text.extend_from_slice(&chunk.map_err(|error| Halt::Status(error.status()))?);
        if text.len() > 64 << 10 {
            return Err(Halt::Status(413));
        }
    }
    request.resource.content_type = Some(Bytes::from_static(b"message/http"));
    Ok(Body::Bytes(text.into()))
}

/// RFC 9110 §10.1.1: an expectation that nobody knows can't be met.
pub(crate) fn check_expectation(request: &Request) -> Result<(), Halt> {
    let Some(expectation) = request.header("Expect") else { return Ok(()) };
    if expectation.eq_ignore_ascii_case(b"100-continue") || expectation.is_empty() {
        return Ok(());
    }
    let message = format!("client sent an unknown Expect value: {}", expectation.escape_ascii());
    log::request(request, Severity::Info, "core", &message);
    Err(Halt::Status(417))
}
