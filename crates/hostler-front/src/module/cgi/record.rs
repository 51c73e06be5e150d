//! `ScriptLog`: for each program that failed, what it was given and what it said, in mod_cgi's layout. A help for
//! debugging; it is written only when configured.

use crate::request::Request;
use hostler_config::directives::cgi::Server;
use hostler_gateway::Error;
use hostler_sys::time::{Zone, strftime};
use std::cell::RefCell;
use std::rc::Rc;

/// Most of a body that is kept, in bytes, whatever ScriptLogBuffer says.
const LONGEST_BODY: usize = 1 << 20;

/// Most of a program's output that is kept, in bytes, whatever ScriptLogLength says.
const LONGEST_OUTPUT: usize = 256 << 10;

/// The beginning of a request's body, kept while it goes to the program.
pub(super) type RecordedBody = Rc<RefCell<Beginning>>;

/// The beginning of a body, and of the output of a program that has no proper header.
pub(super) struct Beginning {
    bytes: Vec<u8>,
    /// ScriptLogBuffer, bytes.
    most: usize,
    /// ScriptLogLength, bytes.
    pub(super) longest: usize,
    pub(super) output: Vec<u8>,
}

impl Beginning {
    /// A further piece of the body.
    pub(super) fn add(&mut self, piece: &[u8]) {
        let room = self.most.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

/// The place for the body's beginning, if there is a log to write it to.
pub(super) fn keep(request: &Request) -> Option<RecordedBody> {
    let conf = &request.server.conf.cgi;
    conf.log.as_ref()?;
    let most = conf.log_buffer.unwrap_or(Server::DEFAULT_LOG_BUFFER);
    let most = usize::try_from(most).unwrap_or(usize::MAX).min(LONGEST_BODY);
    let longest = conf.log_length.unwrap_or(Server::DEFAULT_LOG_LENGTH);
    let longest = usize::try_from(longest).unwrap_or(usize::MAX).min(LONGEST_OUTPUT);
    Some(Rc::new(RefCell::new(Beginning { bytes: Vec::new(), most, longest, output: Vec::new() })))
}

/// A program that was not run.
pub(super) async fn refused(request: &Request, status: u16, why: &str) {
    if request.server.conf.cgi.log.is_some() {
        let mut text = head(request, status);
        text.push_str(&format!("%error\n{why}\n"));
        write(request, text).await;
    }
}

/// A program without a proper answer.
pub(super) async fn failed(request: &Request, error: &Error, body: Option<&RecordedBody>) {
    if request.server.conf.cgi.log.is_none() {
        return;
    }
    let mut text = head(request, error.status());
    text.push_str("%request\n");
    for (name, value) in request.target.headers_in.iter() {
        push_field(&mut text, name, value);
    }
    let output = body.map(|kept| kept.borrow().output.clone()).unwrap_or_default();
    if let Some(body) = body.map(|body| body.borrow()).filter(|body| !body.bytes.is_empty()) {
        text.push_str(&format!("\n{}\n", String::from_utf8_lossy(&body.bytes)));
    }
    text.push_str("%response\n");
    for (name, value) in request.reply.err_headers_out.iter() {
        push_field(&mut text, name, value);
    }
    push_output(&mut text, &output);
    text.push_str(&format!("%error\n{error}\n"));
    if !error.last_lines.is_empty() {
        text.push_str(&format!("%stderr\n{}\n", error.last_lines.join("\n")));
    }
    write(request, text).await;
}

/// The line that is no field, and what the program printed after it.
fn push_output(text: &mut String, output: &[u8]) {
    let mut lines = output.split_inclusive(|&byte| byte == b'\n');
    let is_field = |line: &&[u8]| {
        let name = line.split(|&byte| byte == b':').next().unwrap_or(line);
        name.len() < line.len() && !name.is_empty() && name.iter().copied().all(hostler_http1::head::is_token)
    };
    let Some(bad) = lines.by_ref().find(|line| !is_field(line)).filter(|line| !line.trim_ascii().is_empty())
    else {
        return;
    };
    text.push_str(&format!("{}\n", String::from_utf8_lossy(bad.trim_ascii_end())));
    let rest: Vec<u8> = lines.flatten().copied().collect();
    if !rest.is_empty() {
        text.push_str(&format!("%stdout\n{}\n", String::from_utf8_lossy(&rest)));
    }
}

fn head(request: &Request, status: u16) -> String {
    let mut time = Vec::new();
    strftime(b"%a %b %d %H:%M:%S %Y", request.client.second(), Zone::Local, &mut time);
    let query =
        request.target.args.as_ref().map_or(String::new(), |args| format!("?{}", args.escape_ascii()));
    format!(
        "%% [{}] {} {}{query} {}\n%% {status} {}\n",
        String::from_utf8_lossy(&time),
        request.target.method.escape_ascii(),
        request.target.uri.escape_ascii(),
        crate::request::variables::protocol(request),
        request.resource.filename.escape_ascii(),
    )
}

fn push_field(text: &mut String, name: &[u8], value: &[u8]) {
    text.push_str(&format!("{}: {}\n", name.escape_ascii(), value.escape_ascii()));
}

/// The log is opened for each entry, as the site's user; where that user may not, the server has opened it at its start.
/// One write for one program, so that entries never mix, and before the answer: whoever has that finds the entry. A log that
/// can't be written disturbs no request.
async fn write(request: &Request, text: String) {
    let conf = &request.server.conf.cgi;
    let Some(path) = conf.log.as_deref() else { return };
    let most = conf.log_length.unwrap_or(Server::DEFAULT_LOG_LENGTH);
    if let Ok(link) = request.thread.site(&request.server).link().await
        && matches!(link.append(path, most, &text).await, Ok(true))
    {
        return;
    }
    let Some(log) = request.thread.shared.logs.find(path) else { return };
    if rustix::fs::fstat(log).is_ok_and(|found| found.st_size as u64 <= most) {
        let _ = rustix::io::write(log, text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_body_is_kept() {
        let mut beginning = Beginning { bytes: Vec::new(), most: 5, longest: 0, output: Vec::new() };
        for piece in ["abc", "def", "ghi"] {
            beginning.add(piece.as_bytes());
        }
        assert_eq!(beginning.bytes, b"abcde");
    }

    #[test]
    fn what_a_program_says_after_a_bad_line_is_told_apart() {
        let mut text = String::new();
        push_output(&mut text, b"X-A: b\r\nno field\nmore\n\nbody\n");
        assert_eq!(text, "no field\n%stdout\nmore\n\nbody\n\n");
        for nothing in [&b""[..], b"X-A: b\n", b"X-A: b\n\nbody\n"] {
            text.clear();
            push_output(&mut text, nothing);
            assert_eq!(text, "");
        }
    }
}
