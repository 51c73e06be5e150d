//! Requests that ask for another protocol (RFC 9110 §7.8), WebSocket above all. AJP has none of that, so they go over HTTP/1.1
//! to a second socket of the virtual machine, which makes it when it is first asked for it, over AJP.
//!
//! Only the site's user can connect to that socket, and the front has the site's process do it. What the front knows of the
//! request and its client stands in one field, which a client's own of that name never reaches.

use super::machine::Machine;
use super::{LOG, PATH};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::io::tunnel::Tunnel;
use crate::log;
use crate::request::flow::Halt;
use crate::request::{Request, settings, variables};
use crate::technique::container::{self, AsJk, ContainerRequest, certificate};
use crate::technique::outgoing::EndToEnd;
use crate::technique::reply::withdraw_connection;
use crate::technique::respond::fail;
use crate::technique::sockets;
use crate::technique::websocket;
use bytes::Bytes;
use hostler_ajp::{Attribute, DEFAULT_PACKET, Head};
use hostler_config::directives::alias::escape_path;
use hostler_gateway::backend::ajp::Pool;
use hostler_gateway::backend::http::{Event, RequestFacts, Sending, ServerAnswer};
use hostler_gateway::upstream::{self, Connection, Exchange, Upstream, Usage};
use hostler_gateway::{Error, Kind};
use hostler_http1::answer::Limits;
use hostler_http1::framing::has_token;
use hostler_http1::head::{HTTP_2, HTTP_11};
use hostler_http1::response::field;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Tells the virtual machine that it is asked for its socket.
const ASK: &[u8] = b"hostler.upgrades";
/// The prefix of a socket's path in the site's state directory (engines/servlet: `place`).
const OWN: &[u8] = b"servlet/";
/// The field of its answer that names it.
const SOCKET: &str = "Hostler-Socket";
/// The field with the request's facts, in the form of a query.
const FACTS: &[u8] = b"Hostler-Facts";
/// Fields that an application is told otherwise, or must not believe.
const NOT_SENT: [&[u8]; 2] = [FACTS, b"Proxy-Authorization"];
/// The time limit for connecting: the socket exists.
const CONNECT: Duration = Duration::from_secs(5);
/// The interval at which a virtual machine with only such connections is marked as used: shorter than the time after
/// which unused pools give way to others (`HostlerMemory`).
const LOOK: Duration = Duration::from_millis(400);

/// Returns the protocol that the client wants to change to; `None`: none that an application could speak.
pub(super) fn wanted(request: &Request) -> Option<Bytes> {
    if let Some(protocol) = websocket::asked(request) {
        return (!request.is_sub()).then(|| protocol.clone());
    }
    let protocol = request.target.headers_in.find("Upgrade")?;
    // What clients offer by the way: the front itself speaks it, or not.
    let is_of_the_front = has_token(protocol, b"h2c") || has_token(protocol, b"tls/1.0");
    let is_asked = request.target.headers_in.all(b"Connection").any(|value| has_token(value, b"upgrade"));
    let is_plain = (HTTP_11..HTTP_2).contains(&request.client.version)
        && request.target.body.is_empty()
        && !request.is_sub();
    (is_asked && is_plain && !is_of_the_front).then(|| protocol.clone())
}

/// Has the application answer, and carries bytes from then on if it changes the protocol.
pub(super) async fn respond(
    request: &mut Request,
    pool: Arc<Pool>,
    machine: &Machine,
    protocol: &[u8],
) -> Result<Body, Halt> {
    let conversation = match begin(request, &pool, machine, protocol).await {
        Ok(conversation) => conversation,
        Err(error) => return Err(fail(request, LOG, &error)),
    };
    match answer(request, conversation).await {
        Ok(Answer::Body(body)) => Ok(body),
        Ok(Answer::Changed(tunnel)) => {
            keep(machine, pool);
            Ok(Body::Tunnel(tunnel))
        }
        Err(error) => Err(fail(request, LOG, &error)),
    }
}

async fn begin(
    request: &Request,
    pool: &Arc<Pool>,
    machine: &Machine,
    protocol: &[u8],
) -> Result<Conversation, Error> {
    let usage = machine.upgraded.enter().await;
    let usage = usage.map_err(|why| Error::because(Kind::QueueFull, why.to_string()))?;
    let told = ContainerRequest {
        path: b"/",
        server_name: Some(machine.host.as_bytes()),
        attributes: vec![Attribute::Named(ASK, b"1")],
        packet: DEFAULT_PACKET,
        timeout: None,
        as_jk: AsJk::default(),
        is_last: false,
    };
    let head = container::ask(request, pool, &told).await?;
    let path = socket(&head, machine).map_err(|why| Error::because(Kind::NotConnected, why))?;
    let socket = sockets::connect(&request.thread, &machine.server, path, CONNECT).await?;
    let connection = Connection::unix(socket)?;
    let key = websocket::key(request);
    let outgoing = upstream::Request {
        head: self::head(request, &machine.host, protocol, key.as_deref()),
        sending: Sending::None,
        asked: RequestFacts { head: request.is_head(), upgrades: true },
        limits: Limits::default(),
        timeout: settings::timeout(&request.server),
        is_last: true,
    };
    let exchange = Exchange::begin(connection, &outgoing);
    Ok(Conversation { exchange, upstream: machine.upgraded.clone(), usage, key })
}

/// The socket that the virtual machine has named: in a folder of the site's, and nowhere else.
fn socket<'a>(head: &'a Head, machine: &Machine) -> Result<&'a [u8], String> {
    let named = head.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(SOCKET.as_bytes()));
    let Some((_, path)) = named else {
        return Err(format!(
            "the virtual machine has no socket for other protocols (status {})",
            head.status
        ));
    };
    // A relative one is below the site's state directory.
    let is_below = match &machine.folder {
        _ if path.starts_with(OWN) => true,
        Some(folder) => path.starts_with(folder.as_bytes()),
        None => false,
    };
    if is_below && !path.windows(3).any(|part| part == b"/..") {
        Ok(path)
    } else {
        Err("the virtual machine names a socket that is not the site's".to_owned())
    }
}

/// The request as it is sent.
fn head(request: &Request, host: &str, protocol: &[u8], key: Option<&str>) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(&request.target.method);
    out.push(b' ');
    let path = request.notes.find(PATH).map_or(&request.target.uri[..], |path| &path[..]);
    out.extend_from_slice(&escape_path(path));
    if let Some(args) = &request.target.args {
        out.push(b'?');
        out.extend_from_slice(args);
    }
    out.extend_from_slice(b" HTTP/1.1\r\n");
    field(&mut out, b"Host", host.as_bytes());
    let end_to_end = EndToEnd::of(request);
    for (name, value) in request.target.headers_in.iter() {
        let is_one = NOT_SENT.iter().any(|one| name.eq_ignore_ascii_case(one));
        if !is_one && end_to_end.has(name) {
            field(&mut out, name, value);
        }
    }
    field(&mut out, FACTS, &facts(request));
    field(&mut out, b"Upgrade", protocol);
    field(&mut out, b"Connection", b"Upgrade");
    key.into_iter().for_each(|key| field(&mut out, b"Sec-WebSocket-Key", key.as_bytes()));
    out.extend_from_slice(b"\r\n");
    out.into()
}

/// Encodes the facts that AJP has fields for.
fn facts(request: &Request) -> Vec<u8> {
    let peer = &request.client.peer;
    let mut out = Vec::with_capacity(256);
    let mut fact = |name: &str, value: &[u8]| {
        if !out.is_empty() {
            out.push(b'&');
        }
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        for byte in value {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_') {
                out.push(*byte);
            } else {
                out.extend_from_slice(format!("%{byte:02x}").as_bytes());
            }
        }
    };
    fact("addr", peer.remote.ip().to_string().as_bytes());
    fact("port", peer.remote.port().to_string().as_bytes());
    fact("local", peer.local.ip().to_string().as_bytes());
    fact("name", &variables::server_name(request));
    fact("at", variables::server_port(request).to_string().as_bytes());
    let optional = [
        ("called", peer.names.client().map(str::as_bytes)),
        ("host", request.target.headers_in.find("Host").map(|value| &value[..])),
        ("user", request.user.as_deref()),
        ("auth", request.auth_type.as_deref()),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            fact(name, value);
        }
    }
    if let Some(tls) = &peer.tls {
        fact("cipher", tls.cipher.as_bytes());
        if let Some(pem) = certificate(tls) {
            fact("certificate", pem.as_bytes());
        }
    }
    out
}

/// An exchange, and its place among those of the virtual machine.
struct Conversation {
    exchange: Exchange,
    upstream: Arc<Upstream>,
    usage: Usage,
    /// The key with which the application has to prove that it has understood.
    key: Option<String>,
}

impl Conversation {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, Error>> {
        self.exchange.poll_next(context).map_err(|failure| {
            let kind = match failure.kind {
                upstream::FailureKind::Timeout => Kind::Timeout,
                upstream::FailureKind::Malformed(_) => Kind::BadHeader,
                _ => Kind::ConnectionClosed,
            };
            Error::because(kind, failure.kind.to_string())
        })
    }
}

enum Answer {
    Body(Body),
    Changed(Box<Tunnel>),
}

async fn answer(request: &mut Request, mut conversation: Conversation) -> Result<Answer, Error> {
    let said = loop {
        if let Event::Head(said) = poll_fn(|context| conversation.poll_next(context)).await? {
            break said;
        }
    };
    apply(request, &said);
    if said.head.status != 101 {
        let request = Box::new(request.for_log());
        return Ok(Answer::Body(Body::Stream(Box::new(Output {
            conversation: Some(conversation),
            request,
        }))));
    }
    let accepted = said.head.all(&said.bytes, "sec-websocket-accept").next();
    if !websocket::is_accepted(conversation.key.as_deref(), accepted) {
        return Err(Error::because(Kind::ProtocolViolation, "its Sec-WebSocket-Accept does not fit the key"));
    }
    if let Some(protocol) = said.head.all(&said.bytes, "upgrade").next() {
        request.reply.headers_out.set("Upgrade", Bytes::copy_from_slice(protocol));
    }
    request.reply.headers_out.set("Connection", "Upgrade");
    let Conversation { exchange, upstream, usage, .. } = conversation;
    let connection = exchange.into_tunnel().ok_or_else(|| Error::new(Kind::System))?;
    Ok(Answer::Changed(Box::new(Tunnel::new(connection, (upstream, usage), None))))
}

/// Makes the head the request's answer.
fn apply(request: &mut Request, said: &ServerAnswer) {
    request.reply.status = said.head.status;
    for (name, value) in &said.head.fields {
        let piece =
            |span: hostler_http1::head::Span| said.bytes.slice(span.start as usize..span.end as usize);
        let (name, value) = (piece(*name), piece(*value));
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        if is(b"Content-Type") {
            request.resource.content_type = Some(value);
        } else if !(is(b"Date") || is(b"Server") || is(b"Content-Length")) {
            request.reply.headers_out.add(name, value);
        }
    }
    withdraw_connection(&mut request.reply.headers_out, &mut request.notes);
}

/// The answer of an application that stays with HTTP.
struct Output {
    /// `None`: it is complete, or has broken off.
    conversation: Option<Conversation>,
    /// For the log.
    request: Box<Request>,
}

impl BodyStream for Output {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let Some(conversation) = &mut self.conversation else { return Poll::Ready(None) };
        loop {
            match ready!(conversation.poll_next(context)) {
                Ok(Event::Body(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(Event::End) => {
                    self.conversation = None;
                    return Poll::Ready(None);
                }
                Ok(Event::Interim(_) | Event::Head(_) | Event::Trailers(_) | Event::Upgraded) => {}
                Err(error) => {
                    self.conversation = None;
                    let why = log::cause(&self.request, &error, &self.request.resource.filename);
                    return Poll::Ready(Some(Err(BodyError::Script(why))));
                }
            }
        }
    }
}

/// As long as there are such connections the virtual machine is in use, though nothing goes over AJP. One task looks after that,
/// whoever comes and goes.
fn keep(machine: &Machine, pool: Arc<Pool>) {
    let (upgraded, kept) = (machine.upgraded.clone(), machine.kept.clone());
    if kept.swap(true, Relaxed) {
        return;
    }
    tokio::task::spawn_local(async move {
        loop {
            pool.touch();
            tokio::time::sleep(LOOK).await;
            if upgraded.figures()[0] > 0 {
                continue;
            }
            kept.store(false, Relaxed);
            // Whoever has come in this moment may have found it kept.
            if upgraded.figures()[0] == 0 || kept.swap(true, Relaxed) {
                break;
            }
        }
    });
}
