//! Methods: which are known, and which are told to be allowed.

use crate::request::Request;
use bytes::Bytes;
use hostler_config::directives::core::Trace;

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
    KNOWN.contains(&&*request.target.method)
        || request.server.conf.core.methods.iter().any(|m| m.as_bytes() == &*request.target.method)
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
    if request.reply.headers_out.contains("Allow") || request.reply.err_headers_out.contains("Allow") {
        return;
    }
    let note = request.notes.find(ALLOWED_METHODS).cloned().unwrap_or_default();
    let trace = request.server.conf.core.trace.unwrap_or_default() != Trace::Off;
    request.reply.err_headers_out.set("Allow", methods(&note, trace));
}

/// A program may have written the note by itself: what is no method's name is left out.
fn methods(note: &[u8], trace: bool) -> Vec<u8> {
    let is_name = |name: &&[u8]| {
        !name.is_empty() && *name != b"TRACE" && name.iter().all(|b| b.is_ascii_uppercase() || *b == b'-')
    };
    let named = note.split(|b| *b == b',').filter(is_name);
    named.chain(trace.then_some(&b"TRACE"[..])).collect::<Vec<_>>().join(&b","[..])
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
