//! Methods that no file answers: OPTIONS, TRACE; and what a method may send.

use crate::hook::serve::Halt;
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::request::Request;
use bytes::Bytes;
use hostler_config::directives::core::Trace;
use hostler_http1::framing;

/// Methods that Apache knows by themselves; others are 501 where no handler takes them.
const KNOWN: [&[u8]; 27] = [
    b"GET",
    b"HEAD",
    b"POST",
    b"PUT",
    b"DELETE",
    b"OPTIONS",
    b"TRACE",
    b"CONNECT",
    b"PATCH",
    b"PROPFIND",
    b"PROPPATCH",
    b"MKCOL",
    b"COPY",
    b"MOVE",
    b"LOCK",
    b"UNLOCK",
    b"VERSION-CONTROL",
    b"CHECKOUT",
    b"UNCHECKOUT",
    b"CHECKIN",
    b"UPDATE",
    b"LABEL",
    b"REPORT",
    b"MKWORKSPACE",
    b"MKACTIVITY",
    b"BASELINE-CONTROL",
    b"MERGE",
];

pub(crate) fn is_known_method(request: &Request) -> bool {
    KNOWN.contains(&&*request.method)
        || request.server.conf.core.methods.iter().any(|m| m.as_bytes() == &*request.method)
}

/// The Allow field of a file.
pub(crate) fn allowed(request: &Request) -> Bytes {
    let trace = request.server.conf.core.trace.unwrap_or_default() != Trace::Off;
    Bytes::from_static(if trace { b"OPTIONS,HEAD,GET,POST,TRACE" } else { b"OPTIONS,HEAD,GET,POST" })
}

/// The note in which a program's `allow_methods` are.
const ALLOWED_METHODS: &str = "allowed-methods";

/// The Allow field of 405 and 501 (RFC 9110 §15.5.6), where there is none yet: what a program allows, and TRACE, as in
/// Apache.
pub(crate) fn allow(request: &mut Request) {
    if request.headers_out.contains("Allow") || request.err_headers_out.contains("Allow") {
        return;
    }
    let note = request.notes.find(ALLOWED_METHODS).cloned().unwrap_or_default();
    let trace = request.server.conf.core.trace.unwrap_or_default() != Trace::Off;
    request.err_headers_out.set("Allow", methods(&note, trace));
}

/// A program may have written the note by itself: what is no method's name is left out.
fn methods(note: &[u8], trace: bool) -> Vec<u8> {
    let is_name = |name: &&[u8]| {
        !name.is_empty() && *name != b"TRACE" && name.iter().all(|b| b.is_ascii_uppercase() || *b == b'-')
    };
    let named = note.split(|b| *b == b',').filter(is_name);
    named.chain(trace.then_some(&b"TRACE"[..])).collect::<Vec<_>>().join(&b","[..])
}

/// `OPTIONS` on a file.
pub(crate) fn handle(request: &mut Request) -> Result<Body, Halt> {
    let allow = allowed(request);
    request.headers_out.set("Allow", allow);
    request.content_type = (!request.found.is_nothing()).then(|| request.content_type.clone()).flatten();
    Ok(Body::Empty)
}

/// `OPTIONS *`; other methods mean nothing there.
pub(crate) fn star(request: &mut Request) -> Result<Body, Halt> {
    if &*request.method != b"OPTIONS" {
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
        request.headers_out.set("Allow", allowed(request));
        return Err(Halt::Status(405));
    }
    if !request.body.is_empty() && mode != Trace::Extended {
        return Err(Halt::Status(413));
    }
    let mut text = request.line.to_vec();
    text.extend_from_slice(b"\r\n");
    for (name, value) in request.headers_in.iter() {
        text.extend_from_slice(name);
        text.extend_from_slice(b": ");
        text.extend_from_slice(value);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    while let Some(chunk) = request.body.chunk().await {
        text.extend_from_slice(&chunk.map_err(|error| Halt::Status(error.status()))?);
        if text.len() > 64 << 10 {
            return Err(Halt::Status(413));
        }
    }
    request.content_type = Some(Bytes::from_static(b"message/http"));
    Ok(Body::Bytes(text.into()))
}

/// `LimitRequestBody` and `KeptBodySize`: the body's limit from here on, and the announced length against it.
pub(crate) fn limit_body(request: &Request) -> Result<(), Halt> {
    let core = &request.dir.core;
    let limit = core.limit_request_body.unwrap_or(1 << 30);
    let kept = core.kept_body_size.filter(|&kept| kept > 0 && (limit == 0 || kept < limit));
    let (limit, directive) = kept.map_or((limit, "LimitRequestBody"), |kept| (kept, "KeptBodySize"));
    request.body.limit(limit);
    let to_come = !request.body.is_empty() && request.body.again().is_none();
    let announced = request.headers_in.find("Content-Length").and_then(|v| framing::decimal(v));
    if limit > 0 && to_come && announced.is_some_and(|n| n > limit) {
        let message = format!("the request body is larger than {directive} ({limit} bytes)");
        log::request(request, Severity::Error, "core", &message);
        return Err(Halt::Status(413));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_methods_are_allowed() {
        assert_eq!(methods(b"GET,HEAD,VERSION-CONTROL", true), b"GET,HEAD,VERSION-CONTROL,TRACE");
        assert_eq!(methods(b"TRACE,PUT", false), b"PUT");
        assert_eq!(methods(b"PUT\r\nX: y,,get,P T", false), b"");
    }
}
