//! WebSockets (RFC 6455, over HTTP/2 RFC 8441). Each has a connection of its own to a worker: there the request is told as
//! any other, and once the application has accepted it bytes go both ways as they are. The front understands nothing of
//! them; their frames are the worker's to read, in the tenant's process.
//!
//! A question over the pool's connections makes sure that the program is there and counts as used. Then the site's process
//! connects to its socket, as its user, by the name that the pool has for it.

use super::application::Application;
use super::protocol::{Hearing, Pool, WorkerMessage, next};
use super::{LOG, scope, talk, tell};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::io::tunnel::Tunnel;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::reply::withdraw_connection;
use crate::technique::respond::fail;
use crate::technique::sockets::{self, Held, Sockets};
use bytes::Bytes;
use hostler_gateway::backend::stream::Event;
use hostler_gateway::upstream::{Connection, Upstream, Usage};
use hostler_gateway::{Error, Kind};
use hostler_http1::framing::has_token;
use hostler_http1::head::{HTTP_2, HTTP_11};
use hostler_python_frames::asgi::Head;
use std::cell::RefCell;
use std::collections::HashSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::task::consume_budget;

/// The time limit for connecting: the socket exists.
const CONNECT: Duration = Duration::from_secs(5);
/// Why there is no further one.
const TOO_MANY: &str = "the site has as many connections to its programs as it may";
/// The interval at which a program with only WebSockets is marked as used.
const LOOK: Duration = Duration::from_secs(1);

/// Returns whether the client wants one.
///
/// # Errors
/// It does not ask as it should (RFC 6455 §4.2.1).
pub(super) fn is_wanted(request: &mut Request) -> Result<bool, Halt> {
    let over_http2 = request.client.is_websocket;
    let field = |name: &str| request.target.headers_in.find(name);
    let is_asked = over_http2
        || ((HTTP_11..HTTP_2).contains(&request.client.version)
            && field("Upgrade").is_some_and(|value| has_token(value, b"websocket"))
            && request.target.headers_in.all(b"Connection").any(|value| has_token(value, b"upgrade")));
    if !is_asked || request.is_sub() {
        return Ok(false);
    }
    if field("Sec-WebSocket-Version").is_none_or(|version| version.trim_ascii() != b"13") {
        request.reply.err_headers_out.set("Sec-WebSocket-Version", Bytes::from_static(b"13"));
        return Err(Halt::Status(426));
    }
    let has_key = field("Sec-WebSocket-Key").is_some_and(|key| is_key(key.trim_ascii()));
    if &request.target.method[..] != b"GET" || !(over_http2 || has_key) {
        return Err(Halt::Status(400));
    }
    Ok(true)
}

/// Sixteen bytes in base64.
fn is_key(key: &[u8]) -> bool {
    let is = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    key.len() == 24 && key.ends_with(b"==") && key[..22].iter().all(is)
}

/// Has the application accept or deny it.
pub(super) async fn respond(
    request: &mut Request,
    application: &Application,
    pool: Arc<Pool>,
    head: Bytes,
) -> Result<Body, Halt> {
    let answered = match begin(request, application, &pool, head).await {
        Ok(mut conversation) => {
            let said = tokio::time::timeout(application.timeout, conversation.head(request)).await;
            said.unwrap_or_else(|_| Err(Error::new(Kind::Timeout))).map(|told| (told, conversation))
        }
        Err(error) => Err(error),
    };
    match answered {
        Ok((WorkerMessage::Accepted(head), conversation)) => {
            keep(application, pool);
            Ok(accept(request, head, conversation))
        }
        Ok((WorkerMessage::Answer(head), conversation)) => {
            talk::fields(request, head);
            withdraw_connection(&mut request.reply.headers_out, &mut request.notes);
            Ok(Body::Stream(Box::new(Denial {
                conversation: Some(conversation),
                request: Box::new(request.for_log()),
            })))
        }
        Ok((WorkerMessage::Failed(why), _)) => Err(fail(request, LOG, &talk::failure(&why))),
        Ok((
            WorkerMessage::Early(_)
            | WorkerMessage::Trailers(_)
            | WorkerMessage::Alive
            | WorkerMessage::BodyWanted
            | WorkerMessage::Goodbye,
            _,
        )) => Err(fail(request, LOG, &Error::new(Kind::ProtocolViolation))),
        Err(error) => Err(fail(request, LOG, &error)),
    }
}

async fn begin(
    request: &Request,
    application: &Application,
    pool: &Arc<Pool>,
    head: Bytes,
) -> Result<Conversation, Error> {
    let upstream = application.websockets.clone();
    let usage = upstream.enter().await.map_err(|why| Error::because(Kind::QueueFull, why.to_string()))?;
    let site = request.thread.shared.sites.of(&application.server);
    let held = request.thread.shared.of::<Sockets>().places().take(site);
    let held = held.ok_or_else(|| Error::because(Kind::WorkerNotMade, TOO_MANY))?;
    talk::ask(request, pool, scope::presence_question(), application.timeout).await?;
    let name = pool.program_socket();
    let name = name.ok_or_else(|| Error::because(Kind::NotConnected, "the program was not started here"))?;
    let socket = sockets::connect(&request.thread, &application.server, &name, CONNECT).await?;
    let mut connection = Connection::unix(socket)?;
    connection.push(head);
    Ok(Conversation {
        connection,
        hearing: Hearing::default(),
        pending: Bytes::new(),
        of: (upstream, usage),
        held,
    })
}

/// The client's connection is the application's from here on.
fn accept(request: &mut Request, head: Head, conversation: Conversation) -> Body {
    talk::fields(request, head);
    withdraw_connection(&mut request.reply.headers_out, &mut request.notes);
    request.reply.headers_out.unset("Content-Length");
    request.reply.status = 101;
    if let Some(content_type) = request.resource.content_type.take() {
        request.reply.headers_out.set("Content-Type", content_type);
    }
    request.reply.headers_out.set("Upgrade", Bytes::from_static(b"websocket"));
    request.reply.headers_out.set("Connection", Bytes::from_static(b"Upgrade"));
    let Conversation { connection, pending, of, held, .. } = conversation;
    let mut tunnel = Tunnel::new(connection, of, None);
    tunnel.early = [&pending[..], &tunnel.early].concat().into();
    tunnel.ends_with_server = true;
    tunnel.held = Some(Box::new(held));
    Body::Tunnel(Box::new(tunnel))
}

/// The exchange before the WebSocket exists.
struct Conversation {
    connection: Connection,
    hearing: Hearing,
    pending: Bytes,
    of: (Arc<Upstream>, Usage),
    held: Held,
}

impl Conversation {
    /// The application's decision.
    async fn head(&mut self, about: &Request) -> Result<WorkerMessage, Error> {
        loop {
            match poll_fn(|context| self.poll_next(context)).await? {
                Event::Head(WorkerMessage::Alive | WorkerMessage::Early(_)) => {}
                Event::Head(told) => return Ok(told),
                Event::Log(text) => tell(about, &text),
                Event::Output(_) | Event::End { .. } => return Err(Error::new(Kind::NoHeader)),
            }
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Event<WorkerMessage>, Error>> {
        // What is said goes on for as long as the worker likes.
        ready!(pin!(consume_budget()).poll(context));
        let closed = |why: std::io::Error| Error::because(Kind::ConnectionClosed, why);
        if let Poll::Ready(Err(why)) = self.connection.poll_flush(context) {
            return Poll::Ready(Err(closed(why)));
        }
        loop {
            let said = next(&mut self.hearing, &mut self.pending);
            if let Some(event) = said.map_err(|why| Error::because(Kind::ProtocolViolation, why))? {
                return Poll::Ready(Ok(event));
            }
            if ready!(self.connection.poll_fill(context)).map_err(closed)? == 0 {
                return Poll::Ready(Err(Error::new(Kind::ConnectionClosed)));
            }
            self.pending = self.connection.take_input();
        }
    }
}

/// The body of an answer that denies it.
struct Denial {
    /// `None`: it is complete, or has broken off.
    conversation: Option<Conversation>,
    /// For the log.
    request: Box<Request>,
}

impl BodyStream for Denial {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let Some(conversation) = &mut self.conversation else { return Poll::Ready(None) };
        let why = loop {
            match ready!(conversation.poll_next(context)) {
                Ok(Event::Output(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(Event::Log(text)) => tell(&self.request, &text),
                Ok(Event::End { .. }) => {
                    self.conversation = None;
                    return Poll::Ready(None);
                }
                Ok(Event::Head(WorkerMessage::Failed(why))) => break why,
                Ok(Event::Head(_)) => {}
                Err(error) => break error.to_string(),
            }
        };
        self.conversation = None;
        Poll::Ready(Some(Err(BodyError::Script(why))))
    }
}

thread_local! {
    /// Applications of which a task of this thread says that they are in use.
    static KEPT: RefCell<HashSet<usize>> = RefCell::default();
}

/// As long as there are WebSockets the program is in use, though nothing goes over the pool's connections. One task of each
/// thread looks after that, whoever comes and goes.
fn keep(application: &Application, pool: Arc<Pool>) {
    let counted = application.websockets.clone();
    let mark = Arc::as_ptr(&counted) as usize;
    if !KEPT.with_borrow_mut(|kept| kept.insert(mark)) {
        return;
    }
    tokio::task::spawn_local(async move {
        loop {
            pool.touch();
            tokio::time::sleep(LOOK).await;
            if counted.figures()[0] == 0 {
                break;
            }
        }
        KEPT.with_borrow_mut(|kept| kept.remove(&mark));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sixteen_bytes_in_base64() {
        assert!(is_key(b"dGhlIHNhbXBsZSBub25jZQ=="));
        for key in
            [&b"dGhlIHNhbXBsZSBub25jZQ"[..], b"", b"dGhlIHNhbXBsZSBub25j!Q==", b"dGhlIHNhbXBsZSBub25jZQ=A"]
        {
            assert!(!is_key(key));
        }
    }
}
