//! HTTP/2 to other servers (mod_proxy_http2): the head in its words, and the connection, which other requests may be at.

use super::outgoing;
use super::run::connect;
use super::target::Destination;
use crate::request::Request;
use crate::technique::outgoing::says_zero;
use hostler_gateway::backend::http::Sending;
use hostler_gateway::upstream::{
    Exchange, Failure, Http2Connection, Http2Head, NotConnected, Request as Outgoing, Secure,
};
use hostler_http1::framing::has_token;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Why no exchange has begun.
pub(super) enum NotBegun {
    Connection(NotConnected),
    Server(Failure),
    /// HTTP/2 has no words for the request.
    Unsayable,
}

/// The request's head.
fn head(request: &Request, to: &Destination, sending: Sending) -> Option<Http2Head> {
    let scheme = if to.url.is_secure() { "https" } else { "http" };
    let mut head = Http2Head::new(&request.target.method, scheme, &outgoing::host(request, to), &to.path)?;
    outgoing::fields(request, |name, value| head.add(name, value));
    // The only word that it may have here (RFC 9113 §8.2.2); who asks for trailers is given them.
    if request.target.headers_in.all(b"TE").any(|value| has_token(value, b"trailers")) {
        head.add(b"te", b"trailers");
    }
    match sending {
        Sending::Length(length) => head.add(b"content-length", length.to_string().as_bytes()),
        Sending::None if says_zero(request) => head.add(b"content-length", b"0"),
        Sending::None | Sending::Chunked => {}
    }
    Some(head)
}

/// Begins an exchange, on a connection that there is or on a new one.
pub(super) async fn begin(
    request: &Request,
    to: &Destination,
    secure: Option<&Arc<Secure>>,
    outgoing: &Outgoing,
) -> Result<Exchange, NotBegun> {
    let head = head(request, to, outgoing.sending).ok_or(NotBegun::Unsayable)?;
    if let Some(known) = to.upstream.multiplexed(secure.map(|secure| &**secure)) {
        match known.begin(head.clone(), outgoing).await {
            // It may have ended in this moment.
            Err(failure) if failure.is_stale => {}
            begun => return begun.map_err(NotBegun::Server),
        }
    }
    let made = make(request, to, secure).await.map_err(NotBegun::Connection)?;
    made.begin(head, outgoing).await.map_err(NotBegun::Server)
}

async fn make(
    request: &Request,
    to: &Destination,
    secure: Option<&Arc<Secure>>,
) -> Result<Rc<Http2Connection>, NotConnected> {
    let connection = connect(request, to, secure).await?;
    let limit: Duration = to.connect_timeout(request);
    match tokio::time::timeout(limit, to.upstream.multiplex(connection)).await {
        Ok(made) => made,
        Err(_) => Err(NotConnected::Handshake(std::io::ErrorKind::TimedOut.into())),
    }
}
