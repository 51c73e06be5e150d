//! Responders of the Online Certificate Status Protocol: where a certificate says that one is, how it is meant there, and asking: one
//! HTTP request on a connection of its own (RFC 6960 appendix A).

use bytes::Bytes;
use hostler_gateway::backend::http::{Event, RequestFacts, Sending};
use hostler_gateway::lookup::{self, Asker};
use hostler_gateway::upstream::{Connection, Exchange, Request, in_turn};
use hostler_http1::answer::Limits;
use hostler_ocsp::{ANSWER_TYPE, CertId, QUESTION_TYPE};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use std::future::poll_fn;
use std::time::Duration;
use tokio::net::TcpStream;
use x509_parser::prelude::{GeneralName, ParsedExtension, X509Certificate};

/// `id-ad-ocsp` (RFC 5280 §4.2.2.1)
const RESPONDER: &str = "1.3.6.1.5.5.7.48.1";

/// Longest answer, in bytes.
const LONGEST: usize = 64 << 10;

/// The address of a responder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Responder {
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

    /// The same, asked through a proxy.
    pub(super) fn through(&self, proxy: &Self) -> Self {
        Self {
            host: proxy.host.clone(),
            port: proxy.port,
            authority: self.authority.clone(),
            path: self.url(),
        }
    }

    /// Its URL.
    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.authority, self.path)
    }
}

/// The responder that a certificate names.
pub(super) fn named<'a>(certificate: &X509Certificate<'a>) -> Option<&'a str> {
    let mut extensions = certificate.extensions().iter();
    extensions.find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::AuthorityInfoAccess(access) => {
            access.accessdescs.iter().find_map(|description| match description.access_location {
                GeneralName::URI(url) if description.access_method.to_id_string() == RESPONDER => Some(url),
                _ => None,
            })
        }
        _ => None,
    })
}

/// Returns the identification of a certificate in requests.
pub(super) fn id(certificate: &X509Certificate<'_>, issuer: &X509Certificate<'_>) -> CertId {
    let hash = |bytes: &[u8]| {
        let mut out = [0; 20];
        out.copy_from_slice(digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref());
        out
    };
    CertId {
        issuer_name: hash(certificate.issuer().as_raw()),
        issuer_key: hash(&issuer.public_key().subject_public_key.data),
        serial: certificate.raw_serial().to_vec(),
    }
}

/// Asks the responder.
///
/// # Errors
/// Why it says nothing within this time.
pub(super) async fn ask(
    responder: &Responder,
    question: Vec<u8>,
    limit: Duration,
    asker: &Asker,
) -> Result<Vec<u8>, String> {
    let answered = tokio::time::timeout(limit, exchange(responder, asker, question, limit)).await;
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
        sending: Sending::Length(length as u64),
        asked: RequestFacts { head: false, upgrades: false },
        limits: Limits::default(),
        timeout,
        is_last: true,
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
        let through = Responder::parse("http://ocsp.test/a").unwrap().through(&responder);
        assert_eq!((through.host.as_str(), through.port), ("::1", 8080));
        assert_eq!((through.authority.as_str(), through.path.as_str()), ("ocsp.test", "http://ocsp.test/a"));
        for broken in ["https://a/", "ldap://x", "/a", "http://", "http://a b/"] {
            assert!(Responder::parse(broken).is_err(), "{broken}");
        }
    }
}
