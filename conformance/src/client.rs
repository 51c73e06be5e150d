//! A small HTTP/1 client that can also send what no client should.
//!
//! It reads as all tests do (`hostler_untested::http`).

use hostler_untested::http::{Answer, Answers, State, text};
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// The longest silence of a server within a response.
const SILENCE: Duration = Duration::from_secs(10);
/// The time an idle connection is watched to learn whether the server closes it.
const LINGER: Duration = Duration::from_millis(400);

/// One answer.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// 0 where there was no status line.
    pub status: u16,
    /// The reason phrase.
    pub reason: String,
    /// Fields in order, names as sent.
    pub fields: Vec<(String, String)>,
    /// The body without its framing; not ASCII is kept as Latin-1.
    pub body: String,
    /// The body ended before its length said so.
    pub truncated: bool,
}

/// Everything that came back on one connection.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// The final answers in order.
    pub responses: Vec<Response>,
    /// Status of every interim answer.
    pub interim: Vec<u16>,
    /// The server closed the connection afterwards.
    pub closed: bool,
}

impl From<Answer> for Response {
    fn from(answer: Answer) -> Self {
        let Answer { status, reason, fields, body, truncated, .. } = answer;
        Self { status, reason, fields, body: text(&body), truncated }
    }
}

impl Response {
    /// The values of a field, several joined by ` | `.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self
            .fields
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect();
        (!values.is_empty()).then(|| values.join(" | "))
    }
}

/// Further facts about an exchange.
#[derive(Debug, Clone, Copy, Default)]
pub struct How {
    /// The request is a HEAD: its answer has no body.
    pub head: bool,
    /// True if the server closes the connection is of interest.
    pub watch: bool,
    /// The client closes its sending side behind the request.
    pub half_close: bool,
}

/// Sends bytes and reads as many answers as the caller wants to see.
///
/// # Errors
/// Where the connection cannot be made. A server that hangs up is an answer, not an error.
pub fn exchange(to: SocketAddr, bytes: &[u8], answers: usize, how: How) -> io::Result<Exchange> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    // A server that refuses early may close before everything is written; its answer still counts.
    let _ = stream.write_all(bytes);
    if how.half_close {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut reader = Answers::new(stream);
    let mut exchange = Exchange::default();
    while exchange.responses.len() < answers {
        let Some(response) = reader.next(how.head) else { break };
        if (100..200).contains(&response.status) && response.status != 101 {
            exchange.interim.push(response.status);
        } else {
            exchange.responses.push(response.into());
        }
    }
    exchange.closed = reader.state == State::Ended || (how.watch && closes(&mut reader));
    let _ = reader.stream.shutdown(Shutdown::Both);
    Ok(exchange)
}

fn closes(reader: &mut Answers<TcpStream>) -> bool {
    let _ = reader.stream.set_read_timeout(Some(LINGER));
    let _ = reader.rest();
    reader.state == State::Ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;
    use std::thread;

    fn serve(answer: &'static [u8]) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            if let Ok((mut stream, _)) = listener.accept() {
                let mut piece = [0; 512];
                let _ = stream.read(&mut piece);
                let _ = stream.write_all(answer);
            }
        });
        Ok(address)
    }

    #[test]
    fn reads_pipelined_answers_of_every_framing() -> io::Result<()> {
        let to = serve(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 404 No\r\n\
              Transfer-Encoding: chunked\r\nX: 1\r\nX: 2\r\n\r\n3\r\nxyz\r\n0\r\n\r\n",
        )?;
        let got = exchange(to, b"GET / HTTP/1.1\r\n\r\n", 2, How { watch: true, ..How::default() })?;
        assert_eq!(got.interim, [100]);
        assert_eq!(got.responses[0].body, "ab");
        assert_eq!(got.responses[1].status, 404);
        assert_eq!(got.responses[1].body, "xyz");
        assert_eq!(got.responses[1].field("x").as_deref(), Some("1 | 2"));
        assert!(got.closed);
        Ok(())
    }

    #[test]
    fn tells_a_truncated_body() -> io::Result<()> {
        let to = serve(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")?;
        let got = exchange(to, b"GET / HTTP/1.1\r\n\r\n", 1, How::default())?;
        assert!(got.responses[0].truncated);
        Ok(())
    }
}
