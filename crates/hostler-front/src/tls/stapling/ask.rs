//! Asking a responder: one HTTP request on a connection of its own (RFC 6960 appendix A).

use super::Staple;
use bytes::Bytes;
use hostler_gateway::backend::http::{Event, RequestFacts, Sending};
use hostler_gateway::lookup::{self, Asker};
use hostler_gateway::upstream::{Connection, Exchange, Request, in_turn};
use hostler_http1::answer::Limits;
use hostler_ocsp::{ANSWER_TYPE, QUESTION_TYPE};
use std::future::poll_fn;
use std::time::Duration;
use tokio::net::TcpStream;

/// Longest answer, in bytes.
const LONGEST: usize = 64 << 10;

/// Where a responder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tls) struct Responder {
    /// Without brackets.
    host: String,
    port: u16,
    /// As a Host field has it.
    authority: String,
    path: String,
}

impl Responder {
    /// # Errors
    /// Why nobody can be asked there.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let uri: http::Uri = url.parse().map_err(|_| format!("the responder's URL {url:?} is none"))?;
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http"));
        let authority = authority.ok_or_else(|| format!("the responder's URL {url:?} is not of http://"))?;
        Ok(Self {
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            authority: authority.as_str().rsplit('@').next().unwrap_or_default().to_owned(),
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        })
    }

    /// Its URL.
    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.authority, self.path)
    }
}

/// What the responder says.
///
/// # Errors
/// Why it says nothing.
pub(super) async fn ask(staple: &Staple, asker: &Asker) -> Result<Vec<u8>, String> {
    let limit = staple.patience();
    let answered = tokio::time::timeout(limit, exchange(staple.at(), asker, staple.question(), limit)).await;
    answered.unwrap_or_else(|_| Err(format!("no answer within {limit:?}")))
}

async fn exchange(
    responder: &Responder,
    asker: &Asker,
    question: Vec<u8>,
    timeout: Duration,
) -> Result<Vec<u8>, String> {
    let connection = connect(responder, asker).await?;
    let (path, host, length) = (&responder.path, &responder.authority, question.len());
    let head = format!(
        "POST {path} HTTP/1.0\r\nHost: {host}\r\nContent-Type: {QUESTION_TYPE}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    let request = Request {
        head: head.into(),
        sending: Sending::Plain,
        asked: RequestFacts { head: false, upgrades: false },
        limits: Limits::default(),
        timeout,
    };
    let mut exchange = Exchange::begin(connection, &request);
    exchange.send(Bytes::from(question));
    exchange.finish();
    let mut body = Vec::new();
    loop {
        let event = poll_fn(|context| exchange.poll_next(context)).await;
        match event.map_err(|failure| failure.kind.to_string())? {
            Event::Head(said) => {
                let status = said.head.status;
                let kind = said.head.all(&said.bytes, "content-type").next().unwrap_or_default();
                if status != 200 || !kind.eq_ignore_ascii_case(ANSWER_TYPE.as_bytes()) {
                    let kind = String::from_utf8_lossy(kind);
                    return Err(format!("it answers {status} with the content type {kind:?}"));
                }
            }
            Event::Body(piece) if body.len() + piece.len() > LONGEST => {
                return Err(format!("its answer has more than {LONGEST} bytes"));
            }
            Event::Body(piece) => body.extend_from_slice(&piece),
            Event::End | Event::Upgraded => return Ok(body),
            Event::Interim(_) | Event::Trailers(_) => {}
        }
    }
}

async fn connect(responder: &Responder, asker: &Asker) -> Result<Connection, String> {
    let leave = asker.leave().await.ok_or("the resolver can't be asked")?;
    let found = lookup::addresses(leave, &responder.host, responder.port).await;
    let addresses = found.map_err(|error| format!("its name has no address: {error}"))?;
    let mut last = "its name has no address".to_owned();
    for address in in_turn(&addresses) {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(Connection::tcp(stream)),
            Err(error) => last = format!("it can't be connected to: {error}"),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_responders_are() {
        let responder = Responder::parse("http://ocsp.test/a?b").unwrap();
        assert_eq!(
            (responder.host.as_str(), responder.port, responder.path.as_str()),
            ("ocsp.test", 80, "/a?b")
        );
        let responder = Responder::parse("http://[::1]:8080").unwrap();
        assert_eq!((responder.host.as_str(), responder.port, responder.path.as_str()), ("::1", 8080, "/"));
        assert_eq!(responder.url(), "http://[::1]:8080/");
        for broken in ["https://a/", "ldap://x", "/a", "http://", "http://a b/"] {
            assert!(Responder::parse(broken).is_err(), "{broken}");
        }
    }
}
