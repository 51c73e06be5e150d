//! Sends a request to another server, and to another one of a balancer's where that can't be connected to. A balancer's
//! members need not speak the same protocol.

use super::answer;
use super::choice::{Balanced, choose};
use super::fast;
use super::http2::{self, NotBegun};
use super::outgoing::{self, Framing};
use super::output::{Broken, Conversation, Output};
use super::programs;
use super::secure;
use super::target::{self, Destination, Whose};
use super::upload::{BodySoFar, Upload};
use crate::io::body::Body;
use crate::io::tunnel::Tunnel;
use crate::log::{self, Severity};
use crate::module::socket::talk;
use crate::request::Request;
use crate::request::flow::{Continue, Halt};
use crate::technique::gathered::AnswerPieces;
use crate::technique::overridden::overridden;
use crate::technique::sockets;
use crate::technique::websocket;
use hostler_config::directives::proxy::BadHeader;
use hostler_gateway::backend::http::{Event, RequestFacts, ServerAnswer};
use hostler_gateway::upstream::Request as Outgoing;
use hostler_gateway::upstream::{
    Connection, Exchange, Failure, FailureKind, NotConnected, Secure, Target, Upstream, Usage,
};
use hostler_http1::answer::{BadLine, Limits};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// An answer that has come so far is sent in one piece.
pub(super) const WHOLE: usize = 64 << 10;
/// The time that a server may take to say whether it wants a body, before it is sent nevertheless.
const ASKED: Duration = Duration::from_secs(1);
/// The most repetitions of a request to a server that may not have seen it.
const MOST_REPEATS: u32 = 2;

/// Why there is no answer of a server.
enum NoAnswer {
    /// It could not be connected to: another one may.
    NotConnected(String),
    /// Its name has no address: another one's may have.
    NoAddress(String),
    /// The answer to the client.
    Halt(Halt),
}

/// Answers.
pub(super) async fn handle(request: &mut Request) -> Result<Body, Halt> {
    let aim = target::aim(request)?;
    let whose = target::whose(request, &aim)?;
    fast::remember(request, &aim, &whose);
    check_forwards(request)?;
    let mut balanced = Balanced::of(request, &aim, &whose);
    let mut read = BodySoFar::default();
    loop {
        let to = choose(request, &whose, &aim, &mut balanced).await?;
        if to.url.is_program() {
            let missed = match Box::pin(programs::answer(request, &to, &mut read)).await {
                Ok(body) => return Ok(body),
                Err(talk::NoAnswer::Halt(halt)) => return Err(halt),
                Err(missed) => missed,
            };
            to.upstream.fail();
            if !balanced.may_go_on(&whose) {
                return Err(missed.halt(request, programs::LOG));
            }
            if let talk::NoAnswer::NotConnected(error, _) = &missed {
                log::failure_soon(request, programs::LOG, error, to.upstream.name().as_bytes());
            }
            continue;
        }
        let upload = read.for_server(request, to.url.is_http2()).await.map_err(|error| {
            log::request(
                request,
                Severity::Info,
                "proxy",
                &format!("the request's body is incomplete: {error}"),
            );
            Halt::Status(error.status())
        })?;
        let (missed, rest) = match attempt(request, &to, upload).await {
            Ok(body) => return Ok(body),
            Err(missed) => missed,
        };
        let why = match missed {
            NoAnswer::Halt(halt) => return Err(halt),
            // Quirk(apache): without a balancer that is a 500, and asked again the next time.
            NoAnswer::NoAddress(why) if matches!(whose, Whose::One(_)) => {
                log::request(request, Severity::Error, "proxy", &format!("{}: {why}", to.upstream.name()));
                return Err(Halt::Status(500));
            }
            NoAnswer::NotConnected(why) | NoAnswer::NoAddress(why) => why,
        };
        to.upstream.fail();
        log::request(request, Severity::Error, "proxy", &format!("{}: {why}", to.upstream.name()));
        if rest.is_none() || !balanced.may_go_on(&whose) {
            return Err(Halt::Status(503));
        }
        read.upload = rest;
    }
}

/// `Max-Forwards`: a request that has come through too many servers goes in a circle.
fn check_forwards(request: &Request) -> Continue {
    if outgoing::asked_forwards(request).is_some_and(|most| most < 1) {
        log::request(request, Severity::Error, "proxy", "Max-Forwards has reached zero - proxy loop?");
        return Err(Halt::Status(400));
    }
    Ok(())
}

/// Goes on with a conversation about a request without a body that the fast path has begun.
pub(super) async fn go_on(request: &mut Request, mut conversation: Conversation) -> Result<Body, Halt> {
    let aim = target::aim(request)?;
    let Whose::One(to) = target::whose(request, &aim)? else { return Err(Halt::Status(500)) };
    match conversation.failure() {
        // It may not have seen the request.
        Some(Broken::Server(failure)) if failure.is_stale => {
            // It may be the only one that the server may have.
            drop(conversation);
            return handle(request).await;
        }
        Some(Broken::Server(failure)) => return Err(failed(request, &to, &failure)),
        Some(Broken::Client(error)) => return Err(Halt::Status(error.status())),
        None => {}
    }
    match converse(request, &to, conversation).await {
        Ok(body) => body,
        Err((Broken::Server(failure), _)) => Err(failed(request, &to, &failure)),
        Err((Broken::Client(error), _)) => Err(Halt::Status(error.status())),
    }
}

type Attempted = Result<Body, (NoAnswer, Option<Upload>)>;

/// Sends the request to a server. What is left of its body comes back where another one may get it.
async fn attempt(request: &mut Request, to: &Destination, mut upload: Upload) -> Attempted {
    let halt = |halt| (NoAnswer::Halt(halt), None);
    let mut usage = match to.upstream.enter().await {
        Ok(usage) => usage,
        Err(why) => return Err((NoAnswer::NotConnected(why.to_string()), Some(upload))),
    };
    let key = websocket::key(request);
    let outgoing = outgoing(request, to, &upload, key.as_deref());
    let secure = match secure::of(request, to) {
        Ok(secure) => secure,
        Err(halted) => return Err(halt(halted)),
    };
    let mut kept =
        if to.url.is_http2() || is_initial(request) { None } else { to.upstream.kept(secure.as_deref()) };
    let mut repeats = 0;
    loop {
        let exchange = match start(request, to, secure.as_ref(), (&outgoing, &upload), &mut kept).await {
            Ok(exchange) => exchange,
            Err(why) => return Err(not_started(request, to, why, upload)),
        };
        let conversation = Conversation::new(exchange, upload, (to.upstream.clone(), usage), key.clone());
        match converse(request, to, conversation).await {
            Ok(body) => return body.map_err(halt),
            Err((Broken::Client(error), _)) => {
                let message = format!("the request's body is incomplete: {error}");
                log::request(request, Severity::Info, "proxy", &message);
                return Err(halt(Halt::Status(error.status())));
            }
            Err((Broken::Server(failure), conversation)) => {
                let must_ask = conversation.exchange.must_be_asked();
                (upload, usage) = parts(conversation);
                if must_ask {
                    upload.rewind();
                    return Err((NoAnswer::NotConnected(failure.kind.to_string()), Some(upload)));
                }
                if repeats == MOST_REPEATS || !may_repeat(request, &failure, &mut upload) {
                    return Err(halt(failed(request, to, &failure)));
                }
                repeats += 1;
            }
        }
    }
}

/// `proxy-initial-not-pooled`: a client's first request is to have a connection of its own, which can't be just about to be
/// closed.
pub(super) fn is_initial(request: &Request) -> bool {
    request.client.peer.requests.get() == 0 && request.env.contains("proxy-initial-not-pooled")
}

/// Has a connection, and says the request on it.
async fn start(
    request: &Request,
    to: &Destination,
    secure: Option<&Arc<Secure>>,
    (outgoing, upload): (&Outgoing, &Upload),
    kept: &mut Option<Connection>,
) -> Result<Exchange, NotBegun> {
    if to.url.is_http2() {
        return http2::begin(request, to, secure, outgoing).await;
    }
    let connection = match kept.take() {
        Some(connection) => connection,
        None => connect(request, to, secure).await.map_err(NotBegun::Connection)?,
    };
    Ok(begin(request, to, connection, outgoing, upload))
}

fn not_started(
    request: &Request,
    to: &Destination,
    why: NotBegun,
    upload: Upload,
) -> (NoAnswer, Option<Upload>) {
    let halt = |halt| (NoAnswer::Halt(halt), None);
    match why {
        // Quirk(apache): it has been connected to, so it has not failed, and no other one is asked.
        NotBegun::Connection(why @ NotConnected::Handshake(_)) => {
            log::request(request, Severity::Error, "proxy", &format!("{}: {why}", to.upstream.name()));
            halt(Halt::Status(500))
        }
        NotBegun::Connection(why @ NotConnected::Name(_)) => {
            (NoAnswer::NoAddress(why.to_string()), Some(upload))
        }
        NotBegun::Connection(why) => (NoAnswer::NotConnected(why.to_string()), Some(upload)),
        NotBegun::Server(failure) => halt(failed(request, to, &failure)),
        NotBegun::Unsayable => {
            let why = "HTTP/2 has no words for its method, host or path";
            log::request(request, Severity::Error, "proxy", &format!("{}: {why}", to.upstream.name()));
            halt(Halt::Status(400))
        }
    }
}

fn parts(conversation: Conversation) -> (Upload, Usage) {
    (conversation.upload, conversation.usage)
}

/// Returns whether the server may have seen nothing of the request, so that it is sent once more on a new connection.
fn may_repeat(request: &Request, failure: &Failure, upload: &mut Upload) -> bool {
    let unsent = upload.is_some() && upload.sent == 0;
    let idempotent =
        matches!(&*request.target.method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"PUT" | b"DELETE");
    failure.is_stale && (unsent || idempotent) && upload.rewind()
}

/// The request as it is sent.
pub(super) fn outgoing(request: &Request, to: &Destination, upload: &Upload, key: Option<&str>) -> Outgoing {
    let upgrade = to.upgrade(request);
    let is_old =
        ["proxy-nokeepalive", "force-proxy-request-1.0"].iter().any(|name| request.env.contains(name));
    let framing = Framing {
        sending: upload.sending,
        says_zero: upload.says_zero,
        upgrade,
        key,
        expect: upload.is_some() && (expects(request) || to.parameters.ping.is_some()),
        close: is_old || to.is_unknown || to.parameters.reuse == Some(false),
    };
    let bad_line = match request.server.conf.proxy.bad_header.unwrap_or_default() {
        BadHeader::IsError => BadLine::Refuse,
        BadHeader::Ignore => BadLine::Skip,
        BadHeader::StartBody => BadLine::Body,
    };
    let limits = Limits::default();
    Outgoing {
        head: outgoing::head(request, to, framing),
        sending: upload.sending,
        asked: RequestFacts { head: request.is_head(), upgrades: upgrade.is_some() },
        limits: Limits { bad_line, line: to.parameters.field_size.unwrap_or(limits.line), ..limits },
        timeout: to.timeout(request),
        is_last: framing.close,
    }
}

/// Returns whether the client waits for the server's word before it sends its body, and the server is to be asked.
fn expects(request: &Request) -> bool {
    let said = request
        .target
        .headers_in
        .find("Expect")
        .is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"));
    said && request.resource.dir.proxy.forward_continue != Some(false)
}

pub(super) async fn connect(
    request: &Request,
    to: &Destination,
    secure: Option<&Arc<Secure>>,
) -> Result<Connection, NotConnected> {
    let plain = connect_plain(request, to).await?;
    let Some(secure) = secure else { return Ok(plain) };
    let limit = to.connect_timeout(request);
    match tokio::time::timeout(limit, plain.shake_hands(secure.clone())).await {
        Ok(secure) => secure.map_err(NotConnected::Handshake),
        Err(_) => Err(NotConnected::Handshake(std::io::ErrorKind::TimedOut.into())),
    }
}

async fn connect_plain(request: &Request, to: &Destination) -> Result<Connection, NotConnected> {
    match to.upstream.target() {
        Target::Tcp(..) => {
            let from = request.server.conf.proxy.source_address;
            to.upstream.connect(from, to.connect_timeout(request)).await
        }
        Target::Unix(path) => {
            let (thread, within) = (&request.thread, to.connect_timeout(request));
            let socket = sockets::connect(thread, &request.server, path.as_bytes(), within).await;
            let socket =
                socket.map_err(|error| NotConnected::Failed(std::io::Error::other(error.to_string())))?;
            Connection::unix(socket).map_err(NotConnected::Failed)
        }
    }
}

fn begin(
    request: &Request,
    to: &Destination,
    connection: Connection,
    outgoing: &Outgoing,
    upload: &Upload,
) -> Exchange {
    // A server that has the request hears of a client that leaves: its connection is closed.
    request.end_with_client();
    let mut exchange = Exchange::begin(connection, outgoing);
    match to.parameters.ping {
        Some(limit) if upload.is_some() => exchange.hold(limit, true),
        _ if upload.is_some() && expects(request) => exchange.hold(ASKED, false),
        _ => {}
    }
    exchange
}

type Conversed = Result<Result<Body, Halt>, (Broken, Conversation)>;

/// Waits for the answer's head, and as much of its body as comes with it.
async fn converse(request: &mut Request, to: &Destination, mut conversation: Conversation) -> Conversed {
    let said = loop {
        match poll_fn(|context| conversation.poll_event(context)).await {
            Ok(Event::Head(said)) => break said,
            Ok(Event::Interim(said)) => answer::tell_early(request, &said),
            Ok(_) => {}
            Err(broken) => return Err((broken, conversation)),
        }
    };
    note_failure(request, to, said.head.status);
    if said.head.status == 101 {
        return Ok(upgraded(request, to, &said, conversation));
    }
    answer::apply(request, to, &said);
    if let Some(halt) = overridden(request) {
        return Ok(Err(halt));
    }
    let (mut gathered, mut trailers) = (AnswerPieces::of(request), None);
    loop {
        let event = poll_fn(|context| match conversation.poll_event(context) {
            // What has come is passed on before more is waited for.
            Poll::Pending => Poll::Ready(None),
            polled => polled.map(Some),
        });
        match event.await {
            Some(Ok(Event::Body(piece))) => {
                gathered.push(piece);
                if gathered.exceeds(WHOLE) {
                    break;
                }
            }
            Some(Ok(Event::End)) => {
                conversation.end();
                return Ok(Ok(gathered.into_body()));
            }
            // They come behind a body whose length nobody has been told.
            Some(Ok(Event::Trailers(fields))) => {
                trailers = answer::trailers(request, fields);
                break;
            }
            Some(Ok(_)) => {}
            Some(Err(broken)) if gathered.length() == 0 => return Err((broken, conversation)),
            Some(Err(broken)) => return Ok(Ok(cut(request, &to.upstream, gathered, broken))),
            None => break,
        }
    }
    let request = Box::new(request.for_log());
    Ok(Ok(Body::Stream(Box::new(Output { conversation: Some(conversation), gathered, trailers, request }))))
}

/// `failonstatus=`: a member that answers so has failed.
pub(super) fn note_failure(request: &Request, to: &Destination, status: u16) {
    if to.fails_on.0.contains(&status) {
        let message = format!("{}: it is left alone after a {status} (failonstatus=)", to.upstream.name());
        log::request(request, Severity::Error, "proxy", &message);
        to.upstream.fail();
    }
}

/// An answer that has broken off after some of it has come.
fn cut(request: &Request, upstream: &Upstream, gathered: AnswerPieces, broken: Broken) -> Body {
    let why = match broken {
        Broken::Client(error) => error.to_string(),
        Broken::Server(failure) => format!("{}: {}", upstream.name(), failure.kind),
    };
    log::request(request, Severity::Error, "proxy", &why);
    Body::Stream(Box::new(crate::technique::gathered::Remains { gathered, why: Some(why) }))
}

/// The connection speaks another protocol from here on.
fn upgraded(
    request: &mut Request,
    to: &Destination,
    said: &ServerAnswer,
    conversation: Conversation,
) -> Result<Body, Halt> {
    let Conversation { exchange, usage, upstream, key, .. } = conversation;
    if !websocket::is_accepted(key.as_deref(), said.head.all(&said.bytes, "sec-websocket-accept").next()) {
        let why = "it agrees to a WebSocket, but its Sec-WebSocket-Accept does not fit the key";
        log::request(request, Severity::Error, "proxy", &format!("{}: {why}", upstream.name()));
        return Err(Halt::Status(502));
    }
    answer::apply_upgrade(request, to, said);
    let timeout = to.parameters.timeout.or(request.server.conf.proxy.timeout);
    // Only a connection of its own has been asked to change.
    Ok(exchange.into_tunnel().map_or(Body::Empty, |connection| {
        Body::Tunnel(Box::new(Tunnel::new(connection, (upstream, usage), timeout)))
    }))
}

/// Why a server that was connected to has not answered.
fn failed(request: &Request, to: &Destination, failure: &Failure) -> Halt {
    log::request(request, Severity::Error, "proxy", &format!("{}: {}", to.upstream.name(), failure.kind));
    let is_late = matches!(failure.kind, FailureKind::Timeout);
    if is_late && to.fails_on.1 {
        to.upstream.fail();
    }
    // Quirk(mod_proxy_http2): a connection that breaks is no bad answer.
    let is_broken = to.url.is_http2() && matches!(failure.kind, FailureKind::Broken(_));
    Halt::Status(if is_late {
        504
    } else if is_broken {
        503
    } else {
        502
    })
}
