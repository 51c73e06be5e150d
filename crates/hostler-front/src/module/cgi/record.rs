//! `ScriptLog`: for each program that failed, what it was given and what it said, in mod_cgi's layout. A help for
//! debugging; it is written only when configured.

use crate::request::Request;
use hostler_config::directives::cgi::Server;
use hostler_gateway::Error;
use hostler_sys::time::{Zone, strftime};
use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Most of a body that is kept, in bytes, whatever ScriptLogBuffer says.
const LONGEST_BODY: usize = 1 << 20;

/// The beginning of a request's body, kept while it goes to the program.
pub(super) type Kept = Rc<RefCell<Beginning>>;

/// The beginning of a body.
pub(super) struct Beginning {
    bytes: Vec<u8>,
    /// ScriptLogBuffer, bytes.
    most: usize,
}

impl Beginning {
    /// A further piece of the body.
    pub(super) fn add(&mut self, piece: &[u8]) {
        let room = self.most.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

/// The place for the body's beginning, if there is a log to write it to.
pub(super) fn keep(request: &Request) -> Option<Kept> {
    let conf = &request.server.conf.cgi;
    conf.log.as_ref()?;
    let most = conf.log_buffer.unwrap_or(Server::USUAL_LOG_BUFFER);
    let most = usize::try_from(most).unwrap_or(usize::MAX).min(LONGEST_BODY);
    Some(Rc::new(RefCell::new(Beginning { bytes: Vec::new(), most })))
}

/// A program that was not run.
pub(super) fn refused(request: &Request, status: u16, why: &str) {
    if let Some(log) = log(request) {
        let mut text = head(request, status);
        text.push_str(&format!("%error\n{why}\n"));
        write(log, &text);
    }
}

/// A program without a proper answer.
pub(super) fn failed(request: &Request, error: &Error, body: Option<&Kept>) {
    let Some(log) = log(request) else { return };
    let mut text = head(request, error.status());
    text.push_str("%request\n");
    for (name, value) in request.headers_in.iter() {
        push_field(&mut text, name, value);
    }
    if let Some(body) = body.map(|body| body.borrow()).filter(|body| !body.bytes.is_empty()) {
        text.push_str(&format!("\n{}\n", String::from_utf8_lossy(&body.bytes)));
    }
    text.push_str("%response\n");
    for (name, value) in request.err_headers_out.iter() {
        push_field(&mut text, name, value);
    }
    text.push_str(&format!("%error\n{error}\n"));
    if !error.last_lines.is_empty() {
        text.push_str(&format!("%stderr\n{}\n", error.last_lines.join("\n")));
    }
    write(log, &text);
}

/// The log, if there is one that is not full.
fn log(request: &Request) -> Option<&OwnedFd> {
    let conf = &request.server.conf.cgi;
    let log = request.thread.shared.logs.find(conf.log.as_deref()?)?;
    let size = rustix::fs::fstat(log).ok()?.st_size;
    (size as u64 <= conf.log_length.unwrap_or(Server::USUAL_LOG_LENGTH)).then_some(log)
}

fn head(request: &Request, status: u16) -> String {
    let mut time = Vec::new();
    strftime(b"%a %b %d %H:%M:%S %Y", crate::module::core::file::now(request), Zone::Local, &mut time);
    let query = request.args.as_ref().map_or(String::new(), |args| format!("?{}", args.escape_ascii()));
    format!(
        "%% [{}] {} {}{query} {}\n%% {status} {}\n",
        String::from_utf8_lossy(&time),
        request.method.escape_ascii(),
        request.uri.escape_ascii(),
        crate::request::variables::protocol(request),
        request.filename.escape_ascii(),
    )
}

fn push_field(text: &mut String, name: &[u8], value: &[u8]) {
    text.push_str(&format!("{}: {}\n", name.escape_ascii(), value.escape_ascii()));
}

/// One write for one program, so that entries never mix. A log that can't be written must not disturb requests.
fn write(log: &OwnedFd, text: &str) {
    let _ = rustix::io::write(log, text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_body_is_kept() {
        let mut beginning = Beginning { bytes: Vec::new(), most: 5 };
        for piece in ["abc", "def", "ghi"] {
            beginning.add(piece.as_bytes());
        }
        assert_eq!(beginning.bytes, b"abcde");
    }
}
