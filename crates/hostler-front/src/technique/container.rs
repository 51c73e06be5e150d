//! A request to a servlet container over AJP and its answer back: the request's body goes there as it is asked for while
//! the answer comes.

mod facts;
mod path;

pub(crate) use facts::{AsJk, ContainerRequest, certificate, encode};
pub(crate) use path::plain;

use crate::io::body::{Body, BodyError, BodyStream};
use crate::log;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::request::settings;
use crate::technique::fast::{Begun, PlainAnswer};
use crate::technique::gathered::{AnswerPieces, Remains};
use crate::technique::outgoing::body_length;
use crate::technique::reply::withdraw_connection;
use crate::technique::respond::fail;
use crate::technique::upload::Upload;
use bytes::Bytes;
use hostler_ajp::{Head, TooLong};
use hostler_gateway::backend::OnAbandon;
use hostler_gateway::backend::ajp::{self, Ajp, Ask, Exchange, Pool};
use hostler_gateway::backend::body::BodyLength;
use hostler_gateway::backend::stream::{Event, EventOf, Work};
use hostler_gateway::{Error, Kind};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The most bytes of a response that are gathered so that its length is known before it is sent.
const WHOLE: usize = 64 << 10;
/// The longest delay that this causes for a response that arrives slowly.
pub(crate) const PATIENCE: Duration = Duration::from_millis(5);

/// The variable with which a container's word on the length of its answer is taken.
pub(crate) const TRUST: &str = "ap_trust_cgilike_cl";

/// Has a container answer. `module`: whose lines its failures are in the log.
pub(crate) async fn respond(
    request: &mut Request,
    pool: Arc<Pool>,
    told: ContainerRequest<'_>,
    module: &'static str,
) -> Result<Body, Halt> {
    match attempt(request, pool, told, module).await? {
        Ok(body) => Ok(body),
        Err(error) => Err(fail(request, module, &error)),
    }
}

/// The same; the error within is that it can't be connected to: nothing of the request's body has been read.
pub(crate) async fn attempt(
    request: &mut Request,
    pool: Arc<Pool>,
    told: ContainerRequest<'_>,
    module: &'static str,
) -> Result<Result<Body, Error>, Halt> {
    let encoded = encode(request, &told, body_length(request));
    let (head, ask) = match encoded {
        Ok(encoded) => encoded,
        Err(error @ TooLong(_)) => {
            log::request(request, log::Severity::Error, module, &error.to_string());
            return Err(Halt::Status(400));
        }
    };
    let timeout = told.timeout.unwrap_or_else(|| settings::timeout(&request.server));
    match trip(request, pool, (head, ask), timeout).await {
        Ok(body) => Ok(Ok(answered(request, body))),
        Err(error) if error.kind.is_unconnected() => Ok(Err(error)),
        Err(error) => Err(fail(request, module, &error)),
    }
}

/// Asks a container something of our own, and returns the head of its answer; a body of it would be thrown away.
///
/// # Errors
/// Those of `Pool::begin` and of the exchange; the request's fields don't fit into a packet.
pub(crate) async fn ask(
    request: &Request,
    pool: &Arc<Pool>,
    told: &ContainerRequest<'_>,
) -> Result<Head, Error> {
    let (head, ask) = encode(request, told, BodyLength::Nothing)
        .map_err(|error| Error::because(Kind::ClientMalformed, error.to_string()))?;
    let work = work_without_body(request, head, ask, settings::timeout(&request.server));
    let mut conversation = Conversation::new(pool.begin(work).await?, Upload::default());
    let mut told = None;
    loop {
        match conversation.next().await? {
            Event::Head(head) => told = Some(head),
            Event::Output(_) | Event::Log(_) => {}
            Event::End { .. } => return told.ok_or_else(|| Error::new(Kind::NoHeader)),
        }
    }
}

/// Asks a container whether it is there, for so long at most (`ping=`).
///
/// # Errors
/// It is not, or says something else.
pub(crate) async fn ping(request: &Request, pool: &Arc<Pool>, limit: Duration) -> Result<(), Error> {
    let work = work_without_body(request, ajp::ping(), Ask::whether_it_is_there(), limit);
    let mut conversation = Conversation::new(pool.begin(work).await?, Upload::default());
    match conversation.next().await? {
        Event::End { .. } => Ok(()),
        _ => Err(Error::new(Kind::ProtocolViolation)),
    }
}

async fn trip(
    request: &mut Request,
    pool: Arc<Pool>,
    (head, ask): (Bytes, Ask),
    timeout: Duration,
) -> Result<Body, Error> {
    let body = (ask.body != BodyLength::Nothing).then(|| request.target.body.clone());
    let work = Work {
        thread: request.thread.index,
        head,
        has_body: body.is_some(),
        timeout,
        on_abandon: OnAbandon::TakeBackOrKill(timeout),
        ask,
    };
    let conversation = Conversation::new(pool.begin(work).await?, Upload::of(body));
    converse(request, conversation).await
}

/// Goes on with a request without a body that the fast path has begun. `module`: whose lines its failures are in the log.
pub(crate) async fn go_on(
    request: &mut Request,
    begun: Begun<Ajp>,
    module: &'static str,
) -> Result<Body, Halt> {
    let Begun { exchange, said } = begun;
    let said = said.into_iter().collect();
    let conversation = Conversation { said, ..Conversation::new(exchange, Upload::default()) };
    match converse(request, conversation).await {
        Ok(body) => Ok(answered(request, body)),
        Err(error) => Err(fail(request, module, &error)),
    }
}

/// Asks a container about a request without a body, if a connection is idle and the request fits into a packet.
pub(crate) fn begin_at_once(
    request: &Request,
    pool: &Arc<Pool>,
    told: &ContainerRequest<'_>,
) -> Option<Exchange> {
    let (head, ask) = encode(request, told, BodyLength::Nothing).ok()?;
    let timeout = told.timeout.unwrap_or_else(|| settings::timeout(&request.server));
    pool.try_begin(work_without_body(request, head, ask, timeout))
}

fn work_without_body(request: &Request, head: Bytes, ask: Ask, timeout: Duration) -> Work<Ask> {
    let on_abandon = OnAbandon::TakeBackOrKill(timeout);
    Work { thread: request.thread.index, head, has_body: false, timeout, on_abandon, ask }
}

/// A plain answer with the fields of this head; `None`: it is none.
pub(crate) fn with_fields<'a>(mut plain: PlainAnswer<'a>, head: &'a Head) -> Option<PlainAnswer<'a>> {
    let Head { status, reason, headers } = head;
    for (name, value) in headers {
        if !is_framing(name) {
            plain.add(name, value)?;
        }
    }
    (*status == 200 && matches!(&reason[..], b"" | b"200" | b"OK")).then_some(plain)
}

/// Returns whether a field is the front's own, or about the framing, which AJP has in a way of its own: what a
/// container says of the length need not be so (CVE-2024-24795).
fn is_framing(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 4] = [b"Date", b"Server", b"Transfer-Encoding", b"Content-Length"];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn answered(request: &mut Request, body: Body) -> Body {
    if body.len() != Some(0) {
        request.reply.marks.set(Marks::FLUSHED);
    }
    body
}

async fn converse(request: &mut Request, mut conversation: Conversation) -> Result<Body, Error> {
    let (mut gathered, mut has_head) = (AnswerPieces::of(request), false);
    loop {
        let event = if !has_head {
            conversation.next().await
        } else {
            // The head goes without waiting for a body that comes slowly.
            match tokio::time::timeout(PATIENCE, conversation.next()).await {
                Ok(event) => event,
                Err(_) => return Ok(stream(request, conversation, gathered)),
            }
        };
        match event {
            Ok(Event::Head(head)) => {
                apply(request, head);
                has_head = true;
            }
            Ok(Event::Output(piece)) => gathered.push(piece),
            Ok(Event::Log(_)) => {}
            Ok(Event::End { .. }) => return Ok(gathered.into_body()),
            Err(error) if gathered.length() == 0 => return Err(error),
            Err(error) => {
                let why = Some(log::cause(request, &error, &request.resource.filename));
                return Ok(Body::Stream(Box::new(Remains { gathered, why })));
            }
        }
        if gathered.exceeds(WHOLE) {
            return Ok(stream(request, conversation, gathered));
        }
    }
}

/// Makes a container's head that of the request's answer.
fn apply(request: &mut Request, head: Head) {
    let Head { status, reason, headers } = head;
    // As the page of an error it has that one's status (mod_proxy_ajp: `original_status`).
    let is_page = status == 200 && request.reply.status != 200;
    if !is_page {
        request.reply.status = status;
    }
    // Quirk(tomcat): it repeats the number as its text.
    let says_something = !reason.is_empty() && reason != status.to_string().into_bytes();
    if !is_page {
        request.reply.reason = says_something.then(|| Bytes::from(reason));
    }
    let trusts = request.env.contains(TRUST);
    for (name, value) in headers {
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        if is(b"Content-Type") {
            request.resource.content_type = Some(value.into());
        } else if !is_framing(&name) || (is(b"Content-Length") && trusts) {
            request.reply.headers_out.add(name, value);
        }
    }
    withdraw_connection(&mut request.reply.headers_out, &mut request.notes);
    request.reply.marks.set(Marks::UNRANGED);
}

fn stream(request: &Request, conversation: Conversation, gathered: AnswerPieces) -> Body {
    let request = Box::new(request.for_log());
    Body::Stream(Box::new(Output { conversation: Some(conversation), gathered, request }))
}

/// A conversation, and what is left of the request's body.
struct Conversation {
    exchange: Exchange,
    upload: Upload,
    /// Messages that the fast path has received and not yet looked at.
    said: VecDeque<Result<EventOf<Ajp>, Error>>,
}

impl Conversation {
    fn new(exchange: Exchange, upload: Upload) -> Self {
        Self { exchange, upload, said: VecDeque::new() }
    }

    async fn next(&mut self) -> Result<EventOf<Ajp>, Error> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<EventOf<Ajp>, Error>> {
        if let Some(event) = self.said.pop_front() {
            return Poll::Ready(event);
        }
        self.upload.poll(&mut self.exchange, context)?;
        match ready!(self.exchange.poll_next(context)) {
            Some(event) => Poll::Ready(event),
            None => Poll::Ready(Err(Error::new(Kind::ConnectionClosed))),
        }
    }
}

/// An answer's body on its way.
struct Output {
    /// `None`: the answer is complete, or has broken off.
    conversation: Option<Conversation>,
    /// Output that arrived before anything took it.
    gathered: AnswerPieces,
    /// The request, for the log.
    request: Box<Request>,
}

impl BodyStream for Output {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(piece) = self.gathered.pop() {
            return Poll::Ready(Some(Ok(piece)));
        }
        let Some(conversation) = &mut self.conversation else { return Poll::Ready(None) };
        loop {
            match ready!(conversation.poll_next(context)) {
                Ok(Event::Output(piece)) => return Poll::Ready(Some(Ok(piece))),
                // The protocol has one head, which has come, and no log.
                Ok(Event::Head(_) | Event::Log(_)) => {}
                Ok(Event::End { .. }) => {
                    self.conversation = None;
                    return Poll::Ready(None);
                }
                Err(error) => {
                    self.conversation = None;
                    let why = log::cause(&self.request, &error, &self.request.resource.filename);
                    return Poll::Ready(Some(Err(BodyError::Script(why))));
                }
            }
        }
    }
}
