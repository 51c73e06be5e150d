//! A small HTTP/1 client that can also send what no client should.
//!
//! It frames answers by Content-Length, chunks or the end of the connection, never follows
//! anything and never corrects anything.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a server may stay silent inside an answer.
const SILENCE: Duration = Duration::from_secs(10);
/// How long an idle connection is watched to learn whether the server closes it.
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

/// What else is known of an exchange.
#[derive(Debug, Clone, Copy, Default)]
pub struct How {
    /// The request is a HEAD: its answer has no body.
    pub head: bool,
    /// Whether the server closes the connection is of interest.
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
    let mut reader = Reader { stream: &mut stream, kept: Vec::new(), ended: false };
    let mut exchange = Exchange::default();
    while exchange.responses.len() < answers {
        let Some(response) = reader.response(how.head) else { break };
        if (100..200).contains(&response.status) && response.status != 101 {
            exchange.interim.push(response.status);
        } else {
            exchange.responses.push(response);
        }
    }
    exchange.closed = reader.ended || (how.watch && reader.closes());
    let _ = stream.shutdown(Shutdown::Both);
    Ok(exchange)
}

struct Reader<'a> {
    stream: &'a mut TcpStream,
    kept: Vec<u8>,
    ended: bool,
}

impl Reader<'_> {
    /// Reads more; false at the end, on an error and after too long a silence.
    fn more(&mut self) -> bool {
        let mut piece = [0; 16_384];
        match self.stream.read(&mut piece) {
            Ok(length) if length > 0 => {
                self.kept.extend_from_slice(&piece[..length]);
                true
            }
            result => {
                let silent = result.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
                self.ended = !silent;
                false
            }
        }
    }

    fn closes(&mut self) -> bool {
        let _ = self.stream.set_read_timeout(Some(LINGER));
        while self.more() {}
        self.ended
    }

    fn response(&mut self, head: bool) -> Option<Response> {
        let end = loop {
            if let Some(end) = header_end(&self.kept) {
                break end;
            }
            if !self.more() {
                return self.headless();
            }
        };
        if !self.kept.starts_with(b"HTTP/") {
            while self.more() {}
            return self.headless();
        }
        let block: Vec<u8> = self.kept.drain(..end).collect();
        let mut response = header(&latin1(&block));
        let bodiless = head || response.status < 200 || matches!(response.status, 204 | 304);
        if !bodiless {
            self.body(&mut response);
        }
        Some(response)
    }

    /// Whatever came without a header, as in HTTP/0.9.
    fn headless(&mut self) -> Option<Response> {
        let body = latin1(&std::mem::take(&mut self.kept));
        (!body.is_empty()).then(|| Response { body, ..Response::default() })
    }

    fn body(&mut self, response: &mut Response) {
        let chunked = response.field("Transfer-Encoding").is_some_and(|value| value.ends_with("chunked"));
        let length = response.field("Content-Length").and_then(|value| value.parse::<usize>().ok());
        let body = if chunked {
            self.chunks()
        } else if let Some(length) = length {
            while self.kept.len() < length && self.more() {}
            response.truncated = self.kept.len() < length;
            let length = length.min(self.kept.len());
            Some(self.kept.drain(..length).collect())
        } else {
            while self.more() {}
            Some(std::mem::take(&mut self.kept))
        };
        response.truncated |= body.is_none();
        response.body = latin1(&body.unwrap_or_default());
    }

    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim().to_owned();
            let length = usize::from_str_radix(&digits, 16).ok()?;
            if length == 0 {
                while !self.line()?.is_empty() {}
                return Some(body);
            }
            while self.kept.len() < length + 2 {
                if !self.more() {
                    return None;
                }
            }
            body.extend(self.kept.drain(..length));
            self.kept.drain(..2);
        }
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.kept.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.kept.drain(..=end).collect();
                return Some(latin1(&line).trim_end().to_owned());
            }
            if !self.more() {
                return None;
            }
        }
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

fn header(block: &str) -> Response {
    let mut lines = block.lines();
    let status_line = lines.next().unwrap_or_default();
    let mut words = status_line.splitn(3, ' ');
    words.next();
    let status = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
    let reason = words.next().unwrap_or_default().trim_end().to_owned();
    let fields = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    Response { status, reason, fields, ..Response::default() }
}

/// Bytes as text: UTF-8 where they are, Latin-1 otherwise.
fn latin1(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
