//! Reading what a server answers over HTTP/1, as it is: nothing is followed and nothing corrected. The scenarios and the
//! comparison with Apache send bytes of their own and read with this.

use std::io::{ErrorKind, Read};

/// One answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// 0 where there was no status line, as in HTTP/0.9.
    pub status: u16,
    /// The text behind the status code.
    pub reason: String,
    /// Fields in the order received, names as sent.
    pub fields: Vec<(String, String)>,
    /// Lines of the header that are no fields.
    pub strange: Vec<String>,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// The body ended early: before its Content-Length, or without its last chunk.
    pub truncated: bool,
}

impl Answer {
    /// The values of a field, in any case.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let is_it = move |known: &str| known.eq_ignore_ascii_case(name);
        self.fields.iter().filter(move |(known, _)| is_it(known)).map(|(_, value)| value.as_str())
    }
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// More may come.
    Open,
    /// Nothing has come for as long as the connection waits.
    Silent,
    /// It is over, in whatever way.
    Ended,
}

/// The answers of a connection.
#[derive(Debug)]
pub struct Answers<S> {
    /// The connection; how long it waits is its own.
    pub stream: S,
    /// Received, and not yet read.
    pub pending: Vec<u8>,
    /// As the last reading has left it.
    pub state: State,
}

impl<S: Read> Answers<S> {
    /// Reads the requests of this connection.
    pub const fn new(stream: S) -> Self {
        Self { stream, pending: Vec::new(), state: State::Open }
    }

    /// Reads more; whether something has come.
    pub fn more(&mut self) -> bool {
        let mut piece = [0; 16_384];
        let read = self.stream.read(&mut piece);
        let length = *read.as_ref().unwrap_or(&0);
        self.pending.extend_from_slice(&piece[..length]);
        self.state = match read {
            Ok(1..) => State::Open,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                State::Silent
            }
            _ => State::Ended,
        };
        length > 0
    }

    /// Everything that comes until it ends, or falls silent.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.pending)
    }

    /// The next answer of any kind, interim ones (100 to 199) too. `head`: its request was HEAD, so it has no body.
    pub fn next(&mut self, head: bool) -> Option<Answer> {
        let end = loop {
            if let Some(end) = header_end(&self.pending) {
                break end;
            }
            if !self.more() {
                return self.headless();
            }
        };
        if !self.pending.starts_with(b"HTTP/") {
            while self.more() {}
            return self.headless();
        }
        let block: Vec<u8> = self.pending.drain(..end).collect();
        let mut answer = header(&text(&block));
        let bodiless = head || answer.status < 200 || matches!(answer.status, 204 | 304);
        if !bodiless {
            self.body(&mut answer);
        }
        Some(answer)
    }

    /// Whatever came without a header.
    fn headless(&mut self) -> Option<Answer> {
        let body = std::mem::take(&mut self.pending);
        (!body.is_empty()).then(|| Answer { body, ..Answer::default() })
    }

    /// RFC 9112 §6.3.
    fn body(&mut self, answer: &mut Answer) {
        let chunked =
            answer.values("Transfer-Encoding").any(|value| value.to_ascii_lowercase().ends_with("chunked"));
        let length = answer.values("Content-Length").next().and_then(|value| value.parse().ok());
        if chunked {
            answer.truncated = self.chunks(&mut answer.body).is_none();
        } else if let Some(length) = length {
            answer.truncated = !self.fill(length);
            let length = self.pending.len().min(length);
            answer.body = self.pending.drain(..length).collect();
        } else {
            answer.body = self.rest();
        }
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Option<()> {
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(digits, 16).ok()?;
            if length == 0 {
                while !self.line()?.is_empty() {}
                return Some(());
            }
            if !self.fill(length + 2) {
                return None;
            }
            body.extend(self.pending.drain(..length));
            self.pending.drain(..2);
        }
    }

    /// A line without its end; `None` where the connection ends first.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Some(text(&line).trim_end_matches(['\r', '\n']).to_owned());
            }
            if !self.more() {
                return None;
            }
        }
    }

    fn fill(&mut self, length: usize) -> bool {
        while self.pending.len() < length {
            if !self.more() {
                return false;
            }
        }
        true
    }
}

fn header_end(bytes: &[u8]) -> Option<usize> {
    let crlf = bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4);
    // nph- programs are relayed raw and may use bare line feeds.
    let lf = bytes.windows(2).position(|window| window == b"\n\n").map(|at| at + 2);
    match (crlf, lf) {
        (Some(crlf), Some(lf)) => Some(crlf.min(lf)),
        (crlf, lf) => crlf.or(lf),
    }
}

fn header(block: &str) -> Answer {
    let mut lines = block.lines();
    let mut words = lines.next().unwrap_or_default().splitn(3, ' ');
    words.next();
    let status = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
    let reason = words.next().unwrap_or_default().trim_end().to_owned();
    let mut answer = Answer { status, reason, ..Answer::default() };
    for line in lines.filter(|line| !line.is_empty()) {
        match line.split_once(':') {
            Some((name, value)) => answer.fields.push((name.to_owned(), value.trim().to_owned())),
            None => answer.strange.push(line.to_owned()),
        }
    }
    answer
}

/// Bytes as text: UTF-8 where they are, Latin-1 otherwise.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_every_framing_in_a_row() {
        let mut answers = Answers::new(
            &b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: 1\r\nx: 2\r\nodd\r\n\r\nab\
               HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3;e=1\r\nxyz\r\n0\r\n\r\n\
               HTTP/1.1 304 Not Modified\n\nHTTP/1.0 200 OK\r\n\r\nto the end"[..],
        );
        assert_eq!(answers.next(false).unwrap().status, 100);
        let first = answers.next(false).unwrap();
        assert_eq!((first.status, &first.body[..], first.strange), (200, &b"ab"[..], vec!["odd".to_owned()]));
        let second = answers.next(false).unwrap();
        assert_eq!(
            (second.status, second.reason.as_str(), &second.body[..]),
            (404, "Not Found", &b"xyz"[..])
        );
        assert_eq!(answers.next(false).unwrap().status, 304);
        assert_eq!(answers.next(false).unwrap().body, b"to the end");
        assert!(answers.next(false).is_none() && answers.state == State::Ended);
    }

    #[test]
    fn a_cut_body_is_told_and_what_has_no_header_is_a_body() {
        for cut in ["Content-Length: 9\r\n\r\nab", "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"] {
            let bytes = format!("HTTP/1.1 200 OK\r\n{cut}");
            assert!(Answers::new(bytes.as_bytes()).next(false).unwrap().truncated);
        }
        let old = Answers::new(&b"<p>HTTP/0.9\n\n"[..]).next(false).unwrap();
        assert_eq!((old.status, old.body), (0, b"<p>HTTP/0.9\n\n".to_vec()));
    }
}
