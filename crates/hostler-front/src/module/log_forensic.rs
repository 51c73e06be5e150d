//! `ForensicLog` (mod_log_forensic): a line before a request is looked at (`+ID|request line|field:value|...`), and one
//! after it was logged (`-ID`). A `+` without its `-` is what a server has died of.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::log;
use crate::request::flow::Flow;
use crate::request::{Origin, Request};
use bytes::Bytes;

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::PostRead,
        after: &["remoteip", "unique_id"],
        before: &["names"],
        when: |request| request.origin == Origin::Client && is_wanted(request),
        effect: Effect::Notes,
        run: Run::Now(|request| {
            before(request);
            Ok(Flow::Ok)
        }),
    }],
    before_log: Some(after),
    ..Module::new("log_forensic", is_wanted)
};

/// The note with the request's name, as in Apache.
const NOTE: &str = "forensic-id";

fn is_wanted(request: &Request) -> bool {
    request.server.conf.log_forensic.target.is_some()
}

fn before(request: &mut Request) {
    let id = match request.env.find("UNIQUE_ID") {
        Some(id) => id.clone(),
        None => {
            let since = request.client.received.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let pid = request.thread.shared.pid;
            Bytes::from(format!("{pid}:{:x}:{:x}", since.as_secs(), request.number))
        }
    };
    let mut line = [b"+", &id[..], b"|"].concat();
    push_escaped(&request.client.line, &mut line);
    for (name, value) in request.target.headers_in.iter() {
        line.push(b'|');
        push_escaped(name, &mut line);
        line.push(b':');
        push_escaped(value, &mut line);
    }
    line.push(b'\n');
    log::append_forensic(request, &line);
    request.notes.set(NOTE, id);
}

fn after(request: &mut Request) {
    if !is_wanted(request) {
        return;
    }
    if let Some(id) = request.original().notes.find(NOTE) {
        log::append_forensic(request, &[b"-", &id[..], b"\n"].concat());
    }
}

/// Everything that does not print, and what parts a line.
fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        if (byte.is_ascii_graphic() || byte == b' ') && !b":|%".contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02x}").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_forge_a_line() {
        let mut out = Vec::new();
        push_escaped(b"a b|c:d%e\n\xff", &mut out);
        assert_eq!(out, b"a b%7cc%3ad%25e%0a%ff");
    }
}
