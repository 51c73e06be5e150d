//! A raw HTTP/1 client: sends any bytes, reads answers strictly (`hostler_untested::http`), never follows or corrects
//! anything.

use hostler_untested::http::{Answer, Answers, State};
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// The longest silence of the server before a scenario fails.
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

impl From<Answer> for Response {
    fn from(answer: Answer) -> Self {
        let Answer { status, reason, fields, body, truncated, .. } = answer;
        Self { status, reason, fields, body, truncated }
    }
}

/// A connection under the scenario's control.
#[derive(Debug)]
pub struct Connection(Answers<TcpStream>);

impl Connection {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_read_timeout(Some(SILENCE)).expect("a time limit");
        stream.set_write_timeout(Some(SILENCE)).expect("a time limit");
        Self(Answers::new(stream))
    }

    /// Sends bytes. A server that refuses early may have closed already: its answer still counts.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.stream.write_all(bytes.as_ref());
    }

    /// Another hold of the connection, to send on while this one reads.
    ///
    /// # Panics
    /// Without descriptors to spare.
    #[must_use]
    pub fn sender(&self) -> TcpStream {
        self.0.stream.try_clone().expect("a descriptor")
    }

    /// Ends the sending side, as a client that has said everything.
    pub fn finish(&mut self) {
        let _ = self.0.stream.shutdown(Shutdown::Write);
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

    /// Returns whether the server closes the connection within this time without sending more.
    #[must_use]
    pub fn closes_within(&mut self, time: Duration) -> bool {
        self.0.stream.set_read_timeout(Some(time)).expect("a time limit");
        let closed = !self.0.more() && self.0.state == State::Ended && self.0.pending.is_empty();
        self.0.stream.set_read_timeout(Some(SILENCE)).expect("a time limit");
        if self.0.state == State::Silent {
            self.0.state = State::Open;
        }
        closed
    }

    /// Everything until the server closes.
    #[must_use]
    pub fn rest(&mut self) -> Vec<u8> {
        let rest = self.0.rest();
        self.is_heard();
        rest
    }

    /// The next byte as it comes; `None` at the end.
    #[must_use]
    pub fn byte(&mut self) -> Option<u8> {
        let is_there = !self.0.pending.is_empty() || self.0.more();
        self.is_heard();
        is_there.then(|| self.0.pending.remove(0))
    }

    /// The next answer of any kind, interim ones (100 to 199) too.
    #[must_use]
    pub fn any_response(&mut self, head: bool) -> Response {
        let answer = self.0.next(head);
        self.is_heard();
        let answer = answer.expect("the server closes instead of answering");
        assert_ne!(answer.status, 0, "no status line: {}", String::from_utf8_lossy(&answer.body));
        assert!(answer.strange.is_empty(), "no fields: {:?}", answer.strange);
        answer.into()
    }

    fn answer(&mut self, head: bool) -> Response {
        loop {
            let response = self.any_response(head);
            if !(100..200).contains(&response.status) {
                return response;
            }
        }
    }

    fn is_heard(&self) {
        assert_ne!(self.0.state, State::Silent, "the server stays silent");
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
    fn interim_answers_are_skipped_and_the_end_is_seen() {
        let mut connection =
            sending(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: 1\r\n\r\nab");
        let first = connection.response();
        assert_eq!((first.status, first.text(), first.field("x")), (200, "ab".into(), Some("1")));
        assert!(connection.closes_within(SILENCE));
    }
}
