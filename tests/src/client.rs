//! A raw HTTP/1 client: sends any bytes, reads answers strictly, never follows or corrects anything.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long the server may stay silent before a scenario fails.
const SILENCE: Duration = Duration::from_secs(20);

/// One answer, body as bytes.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The text behind the status code.
    pub reason: String,
    /// Fields in the order received, names as sent.
    pub fields: Vec<(String, String)>,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// The body ended early: before its Content-Length, or without its last chunk.
    pub truncated: bool,
}

impl Response {
    /// The first field of this name, in any case.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection under the scenario's control.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// Received, not yet read by the scenario.
    pending: Vec<u8>,
}

impl Connection {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_read_timeout(Some(SILENCE)).expect("a time limit");
        stream.set_write_timeout(Some(SILENCE)).expect("a time limit");
        Self { stream, pending: Vec::new() }
    }

    /// Sends bytes. A server that refuses early may have closed already: its answer still counts.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Another hold of the connection, to send on while this one reads.
    ///
    /// # Panics
    /// Without descriptors to spare.
    #[must_use]
    pub fn sender(&self) -> TcpStream {
        self.stream.try_clone().expect("a descriptor")
    }

    /// Ends the sending side, as a client that has said everything.
    pub fn finish(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// The next answer, interim ones skipped.
    ///
    /// # Panics
    /// If the server closes or stays silent instead of sending a header.
    #[must_use]
    pub fn response(&mut self) -> Response {
        self.answer(false)
    }

    /// The next answer to a `HEAD` request: fields without a body.
    #[must_use]
    pub fn head_response(&mut self) -> Response {
        self.answer(true)
    }

    /// Whether the server closes the connection within this time without sending more.
    #[must_use]
    pub fn closes_within(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).expect("a time limit");
        let mut byte = [0];
        let closed = match self.stream.read(&mut byte) {
            Ok(count) => count == 0 && self.pending.is_empty(),
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        };
        self.stream.set_read_timeout(Some(SILENCE)).expect("a time limit");
        closed
    }

    /// Everything until the server closes.
    #[must_use]
    pub fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.pending)
    }

    /// The next byte as it comes; `None` at the end.
    #[must_use]
    pub fn byte(&mut self) -> Option<u8> {
        (!self.pending.is_empty() || self.more()).then(|| self.pending.remove(0))
    }

    /// The next answer of any kind, interim ones (100 to 199) too.
    #[must_use]
    pub fn any_response(&mut self, head: bool) -> Response {
        let mut response = self.header();
        let bodiless = head || response.status < 200 || matches!(response.status, 204 | 304);
        if !bodiless {
            self.body(&mut response);
        }
        response
    }

    fn answer(&mut self, head: bool) -> Response {
        loop {
            let response = self.any_response(head);
            if !(100..200).contains(&response.status) {
                return response;
            }
        }
    }

    fn header(&mut self) -> Response {
        let status_line = self.line().expect("a status line");
        let mut words = status_line.splitn(3, ' ');
        let version = words.next().unwrap_or_default();
        assert!(version.starts_with("HTTP/1."), "no status line: {status_line:?}");
        let status = words.next().and_then(|word| word.parse().ok()).expect("a status code");
        let reason = words.next().unwrap_or_default().to_owned();
        let mut fields = Vec::new();
        loop {
            let line = self.line().expect("the end of the header");
            let Some((name, value)) = line.split_once(':') else {
                assert!(line.is_empty(), "no field: {line:?}");
                break;
            };
            fields.push((name.to_owned(), value.trim().to_owned()));
        }
        Response { status, reason, fields, ..Response::default() }
    }

    /// RFC 9112 §6.3.
    fn body(&mut self, response: &mut Response) {
        if response.field("Transfer-Encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            response.truncated = self.chunks(&mut response.body).is_none();
        } else if let Some(length) = response.field("Content-Length").and_then(|value| value.parse().ok()) {
            response.truncated = !self.fill(length);
            let length = self.pending.len().min(length);
            response.body = self.pending.drain(..length).collect();
        } else {
            response.body = self.rest();
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
                return Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned());
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

    /// Reads more; `false` at the end of the connection.
    fn more(&mut self) -> bool {
        let mut piece = [0; 16_384];
        match self.stream.read(&mut piece) {
            Ok(count) => {
                self.pending.extend_from_slice(&piece[..count]);
                count > 0
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("the server stays silent: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A connection to a peer that sends these bytes, and closes.
    fn sending(bytes: &'static [u8]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connection = Connection::to(listener.local_addr().unwrap());
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(bytes).unwrap();
        connection
    }

    #[test]
    fn answers_of_every_framing_in_a_row() {
        let mut connection = sending(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: 1\r\n\r\nab\
              HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3;e=1\r\nxyz\r\n0\r\n\r\n\
              HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.0 200 OK\r\n\r\nto the end",
        );
        let first = connection.response();
        assert_eq!((first.status, first.text(), first.field("x")), (200, "ab".into(), Some("1")));
        let second = connection.response();
        assert_eq!((second.status, second.reason.as_str(), second.text()), (404, "Not Found", "xyz".into()));
        assert_eq!(connection.response().status, 304);
        assert_eq!(connection.response().text(), "to the end");
        assert!(connection.closes_within(SILENCE));
    }

    #[test]
    fn a_cut_body_is_told() {
        assert!(sending(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab").response().truncated);
        assert!(
            sending(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n").response().truncated
        );
    }
}
