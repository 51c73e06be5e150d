//! Asks a server for one case and gathers what comes of it.

use crate::check::{self, Observation};
use crate::client;
use crate::server::Server;
use crate::table::{Case, Expect, Request};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The longest time until a log line appears.
const LOGGED_WITHIN: Duration = Duration::from_secs(2);
/// The time to wait before a log line counts as missing.
const NOT_LOGGED_FOR: Duration = Duration::from_millis(200);

/// Asks for a case: its files first, then the request, then what it says in the logs.
pub(crate) fn observe(server: &Server, case: &Case) -> Observation {
    let tree = &server.tree;
    // Time: the case says so, of what goes by seconds in Apache.
    thread::sleep(Duration::from_millis(case.request.after_ms));
    for name in &case.request.remove {
        let _ = fs::remove_file(tree.root.join(name));
    }
    for (name, file) in &case.request.write {
        let _ = tree.write(name, file);
    }
    if !case.request.write.is_empty() || !case.request.remove.is_empty() {
        // Time: nothing tells that a server has noticed that files have changed.
        thread::sleep(Duration::from_millis(50));
    }
    let access_log = tree.root.join("logs").join(case.expect.log_file.as_deref().unwrap_or("access.log"));
    let error_log = tree.root.join("logs/error.log");
    let before = (length(&access_log), length(&error_log));
    let mut observed = Observation { exchange: exchanged(server, case), ..Observation::default() };
    observed.access_log = logged(server, &access_log, before.0, &case.expect, case.expect.log.as_ref());
    observed.error_log = logged(server, &error_log, before.1, &case.expect, case.expect.error_log.as_ref());
    observed
}

/// Sends the case's request alone.
pub(crate) fn exchanged(server: &Server, case: &Case) -> client::Exchange {
    let tree = &server.tree;
    let mut bytes = tree.fill(&wire(&case.request)).into_bytes();
    if let Some(file) = &case.request.body_file {
        let body = fs::read(tree.root.join(file)).unwrap_or_default();
        bytes.truncate(bytes.len() - 2);
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
        bytes.extend_from_slice(&body);
    }
    let answers = case.expect.statuses.as_ref().map_or(1, Vec::len);
    let head = case.request.request.as_ref().is_some_and(|line| line.starts_with("HEAD "));
    let how = client::How { head, watch: case.expect.closes.is_some(), half_close: case.request.half_close };
    let address = server.address(case.request.port2);
    let bytes = match &case.request.digest {
        Some(login) => signed(address, login, case, &bytes),
        None => bytes,
    };
    for _ in 1..case.request.digest.as_ref().and_then(|login| login.times).unwrap_or(1) {
        let quiet = client::How { watch: false, ..how };
        let _ = client::exchange(address, &bytes, answers, quiet);
    }
    let mut exchange = client::exchange(address, &bytes, answers, how).unwrap_or_default();
    for response in &mut exchange.responses {
        response.body = tree.neutral(&response.body);
        for (_, value) in &mut response.fields {
            *value = tree.neutral(value);
        }
    }
    exchange
}

/// The request with its login, after the challenge that it gets without one.
fn signed(to: std::net::SocketAddr, login: &crate::digest::Login, case: &Case, bytes: &[u8]) -> Vec<u8> {
    let first = client::exchange(to, bytes, 1, client::How::default()).unwrap_or_default();
    let challenge =
        first.responses.first().and_then(|answer| answer.field("WWW-Authenticate")).unwrap_or_default();
    let line = case
        .request
        .request
        .clone()
        .unwrap_or_else(|| format!("GET {}", case.request.get.as_deref().unwrap_or("/")));
    let (method, target) = line.split_once(' ').unwrap_or((&line, "/"));
    let mut request = case.request.clone();
    request.headers.push(login.field(&challenge, method, target));
    wire(&request).into_bytes()
}

/// Numbers of messages about the server's own start, of Apache's prefork MPM and of its event MPM, as Hostler writes it.
const STARTED: [&str; 3] = [" AH00163: ", " AH00094: ", " AH00489: "];

/// The new part of a log, as soon as the expectation is met in it.
fn logged(server: &Server, path: &Path, before: u64, expect: &Expect, pattern: Option<&String>) -> String {
    let read = || -> String {
        let bytes = fs::read(path).unwrap_or_default();
        let new = bytes.get(usize::try_from(before).unwrap_or_default()..).unwrap_or_default();
        let text = server.tree.neutral(&String::from_utf8_lossy(new));
        // A server may say that it has started after it has begun to answer.
        text.split_inclusive('\n').filter(|line| !STARTED.iter().any(|known| line.contains(known))).collect()
    };
    if let Some(pattern) = pattern {
        let deadline = Instant::now() + LOGGED_WITHIN;
        while Instant::now() < deadline && check::matches(pattern, &read()) == Ok(false) {
            // Time: looks again.
            thread::sleep(Duration::from_millis(10));
        }
    } else if expect.no_log.is_some() {
        // Time: that nothing is logged meanwhile is what is tested.
        thread::sleep(NOT_LOGGED_FOR);
    }
    read()
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The bytes of a request, placeholders still in them.
fn wire(request: &Request) -> String {
    if let Some(raw) = &request.raw {
        return repeated(raw);
    }
    let line = match (&request.get, &request.request) {
        (Some(path), _) => format!("GET {path}"),
        (None, Some(line)) => line.clone(),
        (None, None) => "GET /".to_owned(),
    };
    let version = request.version.as_deref().unwrap_or("1.1");
    let host = request.host.as_deref().unwrap_or("localhost");
    let mut text = format!("{line} HTTP/{version}\r\n");
    if !host.is_empty() {
        text.push_str(&format!("Host: {host}\r\n"));
    }
    if !request.headers.iter().any(|line| line.starts_with("Connection:")) {
        text.push_str("Connection: close\r\n");
    }
    for line in &request.headers {
        text.push_str(&format!("{line}\r\n"));
    }
    if let Some(body) = &request.body {
        let body = body.repeat(request.body_times.unwrap_or(1));
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    } else if let Some(pieces) = &request.chunked {
        text.push_str("Transfer-Encoding: chunked\r\n\r\n");
        for piece in pieces {
            text.push_str(&format!("{:x}\r\n{piece}\r\n", piece.len()));
        }
        text.push_str("0\r\n\r\n");
    } else {
        text.push_str("\r\n");
    }
    text
}

/// `@120*text@` stands for the text 120 times.
fn repeated(raw: &str) -> String {
    let mut result = String::new();
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('@') {
        result.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let parsed = after[..digits].parse::<usize>().ok().zip(after[digits..].strip_prefix('*'));
        let parsed = parsed.and_then(|(times, text)| Some((times, text.split_once('@')?)));
        if let Some((times, (text, more))) = parsed {
            result.push_str(&text.repeat(times));
            rest = more;
        } else {
            result.push('@');
            rest = after;
        }
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetition_leaves_placeholders_alone() {
        assert_eq!(repeated("a@3*xy@b @PORT@ u@h"), "axyxyxyb @PORT@ u@h");
    }

    #[test]
    fn a_request_gets_what_it_does_not_name() {
        let request =
            Request { get: Some("/x".to_owned()), body: Some("ab".to_owned()), ..Request::default() };
        let expected =
            "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab";
        assert_eq!(wire(&request), expected);
    }
}
