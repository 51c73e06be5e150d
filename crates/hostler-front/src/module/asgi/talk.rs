//! A request to an application and its answer back: the request's body goes there as there is room while the answer comes.

use super::protocol::{Asgi, Exchange, Pool, WorkerMessage};
use super::{LOG, tell};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::log;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::technique::fast::Begun;
use crate::technique::gathered::{AnswerPieces, Remains};
use crate::technique::reply::withdraw_connection;
use crate::technique::respond::fail;
use crate::technique::upload::{Upload, is_withheld};
use crate::values::table::Table;
use crate::values::trailers::may_follow;
use bytes::Bytes;
use hostler_gateway::backend::OnAbandon;
use hostler_gateway::backend::stream::{Event, EventOf, Work};
use hostler_gateway::{Error, Kind};
use hostler_python_frames::asgi::Head;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The most bytes of a response that are gathered so that its length is known before it is sent.
const WHOLE: usize = 64 << 10;
/// The longest delay that this causes for a response that arrives slowly.
pub(super) const PATIENCE: Duration = Duration::from_millis(2);
/// Words with which a worker says that there is none.
const NOT_STARTED: &str = "the application can't be started: ";

/// Has the application answer.
pub(super) async fn respond(
    request: &mut Request,
    pool: Arc<Pool>,
    head: Bytes,
    timeout: Duration,
) -> Result<Body, Halt> {
    trip(request, pool, head, timeout).await.map_err(|error| fail(request, LOG, &error))
}

/// Asks the worker something of our own, and returns the head of its answer.
pub(super) async fn ask(
    request: &Request,
    pool: &Arc<Pool>,
    head: Bytes,
    timeout: Duration,
) -> Result<Head, Error> {
    let mut conversation = Conversation::begin(request, pool, work(request, head, false, timeout)).await?;
    let mut told = None;
    loop {
        match conversation.next().await? {
            Event::Head(WorkerMessage::Answer(head)) => told = Some(head),
            Event::Head(WorkerMessage::Failed(why)) => return Err(failure(&why)),
            Event::Head(_) | Event::Output(_) | Event::Log(_) => {}
            Event::End { .. } => return told.ok_or_else(|| Error::new(Kind::NoHeader)),
        }
    }
}

/// Returns the error that a worker reported instead of a response.
pub(super) fn failure(why: &str) -> Error {
    match why.strip_prefix(NOT_STARTED) {
        Some(why) => Error::because(Kind::EngineNotLoaded, why),
        None => Error::because(Kind::ProgramFailed, why),
    }
}

pub(super) fn work(request: &Request, head: Bytes, has_body: bool, timeout: Duration) -> Work<()> {
    let on_abandon = OnAbandon::TakeBackOrKill(timeout);
    Work { thread: request.thread.index, head, has_body, timeout, on_abandon, ask: () }
}

async fn trip(request: &mut Request, pool: Arc<Pool>, head: Bytes, timeout: Duration) -> Result<Body, Error> {
    let work = work(request, head, !request.target.body.is_empty(), timeout);
    let mut conversation = Conversation::begin(request, &pool, work.clone()).await?;
    // The application hears of a client that leaves (`http.disconnect`).
    request.end_with_client();
    let mut event = conversation.next().await;
    if matches!(&event, Ok(Event::Head(WorkerMessage::Goodbye))) && !conversation.upload.has_begun() {
        // A worker that has served as many requests as it may was about to close the connection.
        conversation = Conversation::begin(request, &pool, work).await?;
        event = conversation.next().await;
    }
    converse(request, conversation, event).await
}

/// Goes on with a request without a body that the fast path has begun.
pub(super) async fn go_on(request: &mut Request, begun: Begun<Asgi>) -> Result<Body, Halt> {
    let Begun { exchange, said } = begun;
    if matches!(said.first(), Some(Ok(Event::Head(WorkerMessage::Goodbye)))) {
        drop(exchange);
        return super::handle(request).await;
    }
    request.end_with_client();
    let said = said.into_iter().collect();
    let mut conversation = Conversation { said, ..Conversation::new(exchange, Upload::default()) };
    let first = conversation.next().await;
    converse(request, conversation, first).await.map_err(|error| fail(request, LOG, &error))
}

async fn converse(
    request: &mut Request,
    mut conversation: Conversation,
    mut event: Result<EventOf<Asgi>, Error>,
) -> Result<Body, Error> {
    let mut gathered = AnswerPieces::of(request);
    loop {
        match event {
            Ok(Event::Head(WorkerMessage::Answer(head))) => apply(request, head),
            Ok(Event::Head(WorkerMessage::Early(head))) => {
                request.tell_early(103, head.fields.iter().map(|(name, value)| (&**name, &**value)));
            }
            Ok(Event::Head(WorkerMessage::Failed(why))) if gathered.length() == 0 => {
                conversation.read_out(request).await;
                return Err(failure(&why));
            }
            Ok(Event::Head(WorkerMessage::Failed(why))) => {
                return Ok(Body::Stream(Box::new(Remains { gathered, why: Some(why) })));
            }
            Ok(Event::Head(WorkerMessage::Accepted(_))) => {
                let why = "it accepts a WebSocket where none was asked for";
                return Err(Error::because(Kind::ProtocolViolation, why));
            }
            Ok(Event::Head(WorkerMessage::Alive | WorkerMessage::BodyWanted)) => {}
            Ok(Event::Head(WorkerMessage::Trailers(_))) => {
                return Ok(stream(request, conversation, gathered));
            }
            Ok(Event::Head(WorkerMessage::Goodbye)) => return Err(Error::new(Kind::ConnectionClosed)),
            Ok(Event::Output(piece)) => gathered.push(piece),
            Ok(Event::Log(text)) => tell(request, &text),
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
        event = if conversation.has_head {
            // The head goes without waiting for a body that comes slowly.
            match tokio::time::timeout(PATIENCE, conversation.next()).await {
                Ok(event) => event,
                Err(_) => return Ok(stream(request, conversation, gathered)),
            }
        } else {
            conversation.next().await
        };
    }
}

/// Makes an application's head that of the request's answer.
fn apply(request: &mut Request, head: Head) {
    self::fields(request, head);
    withdraw_connection(&mut request.reply.headers_out, &mut request.notes);
    request.reply.marks.set(Marks::UNRANGED);
}

/// Returns whether a field is the front's own.
pub(super) fn is_front_s(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"Date") || name.eq_ignore_ascii_case(b"Server")
}

/// Status and fields, with those that are the front's own left out.
pub(super) fn fields(request: &mut Request, head: Head) {
    request.reply.status = head.status;
    // What the URL looks like is not what the application answers with.
    request.resource.content_type = None;
    request.resource.content_encoding = None;
    request.resource.content_languages.clear();
    for (name, value) in head.fields {
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        if is(b"Content-Type") {
            request.resource.content_type = Some(value.into());
        } else if !is_front_s(&name) {
            request.reply.headers_out.add(name, value);
        }
    }
}

fn stream(request: &Request, conversation: Conversation, gathered: AnswerPieces) -> Body {
    let request = Box::new(request.for_log());
    Body::Stream(Box::new(Output { conversation: Some(conversation), gathered, trailers: None, request }))
}

/// A conversation, and what is left of the request's body.
struct Conversation {
    exchange: Exchange,
    upload: Upload,
    has_head: bool,
    /// Fields that come behind the answer's body.
    trailers: Option<Table>,
    /// Messages that the fast path has received and not yet looked at.
    said: VecDeque<Result<EventOf<Asgi>, Error>>,
}

impl Conversation {
    async fn begin(request: &Request, pool: &Arc<Pool>, work: Work<()>) -> Result<Self, Error> {
        let body = work.has_body.then(|| request.target.body.clone());
        let upload = if is_withheld(request) { Upload::withheld(body) } else { Upload::of(body) };
        Ok(Self::new(pool.begin(work).await?, upload))
    }

    fn new(exchange: Exchange, upload: Upload) -> Self {
        Self { exchange, upload, has_head: false, trailers: None, said: VecDeque::new() }
    }

    async fn next(&mut self) -> Result<EventOf<Asgi>, Error> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<EventOf<Asgi>, Error>> {
        if let Some(event) = self.said.pop_front() {
            return Poll::Ready(self.note(event));
        }
        self.upload.poll(&mut self.exchange, context)?;
        match ready!(self.exchange.poll_next(context)) {
            Some(event) => Poll::Ready(self.note(event)),
            None => Poll::Ready(Err(Error::new(Kind::ConnectionClosed))),
        }
    }

    fn note(&mut self, event: Result<EventOf<Asgi>, Error>) -> Result<EventOf<Asgi>, Error> {
        match &event {
            Ok(Event::Head(WorkerMessage::Answer(_))) => self.has_head = true,
            Ok(Event::Head(WorkerMessage::Trailers(head))) => self.trailers = Some(trailers(head)),
            // It goes with the next poll.
            Ok(Event::Head(WorkerMessage::BodyWanted)) => drop(self.upload.release()),
            _ => {}
        }
        event
    }

    /// The connection can have another request then.
    async fn read_out(mut self, about: &Request) {
        let end = async {
            loop {
                match self.next().await {
                    Ok(Event::Log(text)) => tell(about, &text),
                    Ok(Event::End { .. }) | Err(_) => break,
                    Ok(_) => {}
                }
            }
        };
        // It has been said already; who does not say so gets no further request.
        let _ = tokio::time::timeout(PATIENCE, end).await;
    }
}

/// Fields behind a body, without those that would say how long it is or what it means (RFC 9110 §6.5.1).
fn trailers(head: &Head) -> Table {
    let mut table = Table::with_capacity(head.fields.len());
    for (name, value) in &head.fields {
        if may_follow(name) {
            table.add(name.clone(), value.clone());
        }
    }
    table
}

/// An answer's body on its way.
struct Output {
    /// `None`: the answer is complete, or has broken off.
    conversation: Option<Conversation>,
    /// Output that arrived before anything took it.
    gathered: AnswerPieces,
    trailers: Option<Table>,
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
                Ok(Event::Log(text)) => tell(&self.request, &text),
                Ok(Event::Head(WorkerMessage::Failed(why))) => return self.break_off(why),
                Ok(Event::Head(_)) => {}
                Ok(Event::End { .. }) => {
                    self.trailers = self.conversation.take().and_then(|conversation| conversation.trailers);
                    for (name, value) in self.trailers.iter().flat_map(Table::iter) {
                        self.request.client.trailers.answer(name, value);
                    }
                    return Poll::Ready(None);
                }
                Err(error) => {
                    let why = log::cause(&self.request, &error, &self.request.resource.filename);
                    return self.break_off(why);
                }
            }
        }
    }

    fn trailers(&mut self) -> Option<Table> {
        self.trailers.take()
    }

    fn ends_with_client(&self) -> bool {
        true
    }
}

impl Output {
    fn break_off(&mut self, why: String) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.conversation = None;
        Poll::Ready(Some(Err(BodyError::Script(why))))
    }
}
