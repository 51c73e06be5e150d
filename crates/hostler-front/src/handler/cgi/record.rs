//! `ScriptLog`: for each program that failed, what it was given and what it said, in mod_cgi's layout. A help for
//! debugging; it is written only when configured.

use crate::request::Request;
use hostler_config::directives::cgi::Server;
use hostler_gateway::Error;
use hostler_sys::time::{Zone, strftime};
use std::os::fd::OwnedFd;

/// A program that was not run.
pub(super) fn refused(request: &Request, status: u16, why: &str) {
    if let Some(log) = log(request) {
        let mut text = head(request, status);
        text.push_str(&format!("%error\n{why}\n"));
        write(log, &text);
    }
}

/// A program without a proper answer.
pub(super) fn failed(request: &Request, error: &Error) {
    let Some(log) = log(request) else { return };
    let mut text = head(request, error.status());
    text.push_str("%request\n");
    for (name, value) in request.headers_in.iter() {
        push_field(&mut text, name, value);
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
    strftime(b"%a %b %d %H:%M:%S %Y", super::super::file::now(request), Zone::Local, &mut time);
    let query = request.args.as_ref().map_or(String::new(), |args| format!("?{}", args.escape_ascii()));
    format!(
        "%% [{}] {} {}{query} {}\n%% {status} {}\n",
        String::from_utf8_lossy(&time),
        request.method.escape_ascii(),
        request.uri.escape_ascii(),
        crate::variables::protocol(request),
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
