//! The fast path to a worker, to a program at a socket or to another server: a URL whose phases come to the same for every
//! request, so that a request for it only needs its own line, fields and time beside what is remembered. The slow path makes
//! what is remembered ([`remember`], [`remember_socket`]); it holds while the site's epoch does.
//!
//! Plain answers go out with one write. Whatever is not plain is taken over by the slow path in mid-conversation, which is
//! the technique's own ([`Way`], [`SocketAnswer`]).

mod plain;
mod remembered;
mod socket;
mod stream;

pub(crate) use remembered::{Task, remember, remember_socket};
pub(crate) use socket::{PlainAnswer, SocketAnswer, SocketWay};
pub(crate) use stream::{Begun, Said, StreamAnswer, StreamTechnique, head_and_body, output};

use crate::hook::registry::Later;
use crate::hook::reply::Reply;
use crate::hook::serve;
use crate::io::body::{Body, RequestBody};
use crate::io::early::Early;
use crate::limits::clients::Busy;
use crate::log::access_log::{self, FastRecord};
use crate::memory::urls::{FieldFacts, How, KnownUrl};
use crate::request::Request;
use crate::request::connection::Peer;
use crate::request::flow::Halt;
use crate::request::id;
use crate::request::settings;
use crate::request::thread::Thread;
use crate::technique::begin::{self, Begin};
use crate::technique::conversation;
use crate::technique::framed;
use crate::technique::head;
use crate::technique::respond::WHOLE;
use crate::values::table::Table;
use crate::values::text;
use bytes::Bytes;
use hostler_gateway::Error;
use hostler_gateway::backend::ring::{Exchange, Frame, Work};
use hostler_gateway::backend::{OnAbandon, TimeLimit};
use hostler_http1::framing::{After, KeepAlive};
use hostler_http1::head::Head;
use hostler_wire::work::{FromWorker, Outcome, RequestHead};
use remembered::{Route, UrlRoute};
use smallvec::SmallVec;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::Poll;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The technique's own part in requests on the fast path.
pub(crate) trait Way {
    /// The message that begins a request; `remembered`: what every request for the URL comes to.
    fn encoded(&self, remembered: &Request, head: RequestHead<'_>) -> Vec<u8>;

    /// Returns the time limit of a request.
    fn timeout(&self, remembered: &Request) -> TimeLimit {
        settings::worker_timeout(&remembered.server)
    }

    /// Returns the treatment of a request whose client leaves.
    fn on_abandon(&self, remembered: &Request) -> OnAbandon;

    /// Returns whether a request goes on by the slow path as it would have gone by it from the beginning, so that
    /// answers may also be changed on their way.
    fn goes_on_whole(&self) -> bool {
        false
    }

    /// Returns whether workers get the fields that the phases have set, and send them back with the answer's.
    fn returns_fields(&self) -> bool {
        false
    }

    /// Prepares a request that goes on by the slow path.
    fn resume(&self, _request: &mut Request) {}

    /// Goes on with an answer that is not plain, or with why there is none.
    fn go_on<'a>(
        &self,
        request: &'a mut Request,
        answer: Result<Handover, Error>,
    ) -> Later<'a, Result<Body, Halt>>;
}

/// Returns whether the request's fields are as they came: else they have to be put together first, which is for the
/// slow path.
fn are_plain(head: &Head, buffer: &[u8]) -> bool {
    head.fields.iter().enumerate().all(|(at, field)| {
        let name = field.name.of(buffer);
        !field.folded
            && !head.fields[..at].iter().any(|known| known.name.of(buffer).eq_ignore_ascii_case(name))
    })
}

/// A request on the fast path.
pub(crate) struct FastRequest {
    remembered: Rc<UrlRoute>,
    /// The entry is for requests with this one's query.
    with_query: bool,
    /// Its site is at it until it has been answered.
    busy: Rc<Busy>,
    conversation: Conversation,
    head: Head,
    buffer: Bytes,
    wish: KeepAlive,
    received: SystemTime,
    started: Instant,
    number: u64,
}

/// With who answers.
#[allow(
    clippy::large_enum_variant,
    reason = "the large one is the usual one, and its request is in a box already"
)]
enum Conversation {
    /// A worker.
    Ring(Begin),
    /// `None`: nobody could be asked.
    Socket(Option<Box<dyn SocketAnswer>>),
    /// It has been taken further.
    Over,
}

/// Gives the request to who answers for its URL, if that is known.
pub(crate) fn begin(
    thread: &Rc<Thread>,
    peer: &Rc<Peer>,
    (head, buffer): (&Head, &[u8]),
    url: &KnownUrl,
    asked: &FieldFacts<'_>,
) -> Option<FastRequest> {
    let How::Worker(remembered) = &url.how else { return None };
    let remembered: Rc<UrlRoute> = remembered.clone().downcast().ok()?;
    if !are_plain(head, buffer) {
        return None;
    }
    let traffic = &thread.shared.traffic;
    let busy = traffic.enter(url.site.id, &url.server)?;
    traffic.may_ask(url.site.id, &url.server).ok()?;
    thread.touch(url.site.id);
    let (received, started, number) = (SystemTime::now(), Instant::now(), thread.next_request());
    let with_query = url.has_query();
    let buffer = Bytes::copy_from_slice(&buffer[..head.length]);
    let conversation = match &remembered.route {
        Route::Worker(task, way) => {
            let known = (&remembered.request, &**task, &**way, with_query);
            Conversation::Ring(ask_worker(thread, peer, known, (head, &buffer), (received, number)))
        }
        Route::Socket(way, stand_in) => {
            let (client, told) = ((peer, &buffer, head), (received, started, number));
            let ask = |request: &Request| way.ask(request);
            Conversation::Socket(stand_in.borrow_mut().standing_in(client, told, with_query, ask))
        }
    };
    Some(FastRequest {
        remembered,
        with_query,
        busy: Rc::new(busy),
        conversation,
        head: head.clone(),
        buffer,
        wish: asked.wish,
        received,
        started,
        number,
    })
}

/// Gives it to a worker.
fn ask_worker(
    thread: &Rc<Thread>,
    peer: &Peer,
    (remembered, task, way, with_query): (&Request, &Task, &dyn Way, bool),
    client: (&Head, &[u8]),
    told: (SystemTime, u64),
) -> Begin {
    let server = &remembered.server;
    match begin::refusal(thread, server, task.engine, task.one_shot, task.group.as_ref()) {
        Some(refusal) => Begin::Never(refusal),
        None => {
            let known = (remembered, task, way, with_query);
            let work = work(thread, peer, known, client, told);
            begin::begin(thread, server, task.engine, task.one_shot, task.group.as_ref(), work)
        }
    }
}

/// Encodes the request for a worker.
fn work(
    thread: &Thread,
    peer: &Peer,
    (request, task, way, with_query): (&Request, &Task, &dyn Way, bool),
    (head, buffer): (&Head, &[u8]),
    (received, number): (SystemTime, u64),
) -> Work {
    let target = head.target.of(buffer);
    let (remote, log_id) = (peer.remote.ip().to_string(), id::id_of(number));
    let Task { engine, directory, texts, handler, .. } = task;
    let mut message = head::common(request, engine, texts, directory.0, head::flags(request), *handler);
    message.number = number;
    message.connection = peer.id;
    message.keepalives = peer.requests.get();
    message.protocol = head.version;
    message.time = received.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64);
    message.remote_port = peer.remote.port();
    message.the_request = head.line.of(buffer);
    message.unparsed_uri = target;
    if !with_query {
        message.args = text::split(target).1;
    }
    message.remote_ip = remote.as_bytes();
    message.log_id = log_id.as_bytes();
    message.headers_in =
        head.fields.iter().map(|field| (field.name.of(buffer), field.value.of(buffer))).collect();
    Work {
        thread: thread.index,
        directory: directory.clone(),
        request: way.encoded(request, message),
        timeout: way.timeout(request),
        on_abandon: way.on_abandon(request),
    }
}

/// Messages that the fast path has taken of a conversation before it gave that up.
pub(crate) struct Handover {
    pub(crate) exchange: Exchange,
    pub(crate) frames: Frames,
    /// The error after them.
    pub(crate) failed: Option<Error>,
}

/// The result of a worker's response.
pub(crate) enum Answer {
    /// Head and body are there to be sent as they are.
    Plain(Plain),
    /// It is for the slow path, see [`FastRequest::go_on`].
    Other(Box<Handover>),
    /// The same; `None`: nobody has been asked.
    OtherSocket(Option<Box<dyn SocketAnswer>>),
    /// There is none.
    Failed(Error),
}

/// A plain answer.
pub(crate) struct Plain {
    pub(crate) out: Vec<u8>,
    pub(crate) body: Bytes,
    pub(crate) after: After,
    headers_out: Option<Table>,
}

/// The client's connection and its thread.
type Client<'a> = (&'a Thread, &'a Peer);

impl FastRequest {
    /// Waits for the answer.
    pub(crate) async fn answer(&mut self, thread: &Thread, peer: &Peer) -> Answer {
        match std::mem::replace(&mut self.conversation, Conversation::Over) {
            Conversation::Ring(begun) => self.worker_answer(begun, (thread, peer)).await,
            Conversation::Socket(answer) => self.socket_answer(answer, (thread, peer)).await,
            Conversation::Over => Answer::Failed(Error::new(hostler_gateway::Kind::System)),
        }
    }

    async fn socket_answer(&self, answer: Option<Box<dyn SocketAnswer>>, to: Client<'_>) -> Answer {
        let Some(mut answer) = answer else { return Answer::OtherSocket(None) };
        let is_whole = poll_fn(|context| answer.poll_whole(context)).await;
        let plain = is_whole.then(|| self.socket_plain(&*answer, to)).flatten();
        let Some(plain) = plain else { return Answer::OtherSocket(Some(answer)) };
        answer.end();
        Answer::Plain(plain)
    }

    /// The answer as bytes, if it has nothing that the slow path would have to look at.
    fn socket_plain(&self, answer: &dyn SocketAnswer, (thread, peer): Client<'_>) -> Option<Plain> {
        let mut plain = answer.plain()?;
        let mut out = Vec::with_capacity(512);
        plain.write_head(&mut out, &self.remembered.request, self.received)?;
        let after = peer.tell_connection(self.wish, thread.draining(), &mut out);
        out.extend_from_slice(b"\r\n");
        let headers_out = self.remembered.facts.is_some().then(|| plain.logged_fields());
        Some(Plain { out, body: std::mem::take(&mut plain.body), after, headers_out })
    }

    async fn worker_answer(&self, begun: Begin, to: Client<'_>) -> Answer {
        let exchange = match begun {
            Begin::Now(exchange) => exchange,
            Begin::Never(refusal) => return Answer::Failed(refusal),
            Begin::Later(pool, work) => match pool.begin(work).await {
                Ok(exchange) => exchange,
                Err(error) => return Answer::Failed(error),
            },
        };
        let (mut exchange, mut frames) = (exchange, Frames::new());
        match gather(&mut exchange, &mut frames).await {
            Ok(true) => {}
            Ok(false) => return Answer::Other(Box::new(Handover { exchange, frames, failed: None })),
            Err(error) if frames.is_empty() => return Answer::Failed(error),
            Err(error) => return Answer::Other(Box::new(Handover { exchange, frames, failed: Some(error) })),
        }
        let plain = self.remembered.is_plain.then(|| self.plain(to, &frames)).flatten();
        let Some(plain) = plain else {
            return Answer::Other(Box::new(Handover { exchange, frames, failed: None }));
        };
        if let Route::Worker(task, _) = &self.remembered.route {
            conversation::part(exchange, &self.remembered.request, task.engine.log);
        }
        Answer::Plain(plain)
    }

    /// The answer as bytes, if it has nothing that the slow path would have to look at.
    fn plain(&self, (thread, peer): Client<'_>, frames: &Frames) -> Option<Plain> {
        let (first, pieces) = frames.split_first()?;
        let (_, pieces) = pieces.split_last()?;
        let Ok(FromWorker::Head(head)) = FromWorker::decode(first.kind, &first.body) else { return None };
        let body = match pieces {
            [] => Bytes::new(),
            [only] => only.body.clone(),
            _ => pieces.iter().flat_map(|piece| piece.body.iter().copied()).collect(),
        };
        let mut out = Vec::with_capacity(512);
        plain::write_head(&mut out, &self.remembered, &head, self.received, body.len())?;
        let after = peer.tell_connection(self.wish, thread.draining(), &mut out);
        out.extend_from_slice(b"\r\n");
        let logged = || plain::logged_fields(&first.body, &head);
        Some(Plain { out, body, after, headers_out: self.remembered.facts.is_some().then(logged) })
    }

    /// Goes on with a request whose answer is not plain.
    pub(crate) async fn go_on(
        &self,
        thread: &Rc<Thread>,
        peer: &Rc<Peer>,
        early: Option<Weak<dyn Early>>,
        answer: Answer,
    ) -> Reply {
        let remembered = self.remembered.clone();
        let mut request = Box::new(self.request(thread, peer));
        request.reply.early = early;
        serve::serve_from(request, async move |request| match &remembered.route {
            Route::Worker(_, way) => {
                let answer = match answer {
                    Answer::Other(taken) => Ok(*taken),
                    Answer::Failed(error) => Err(error),
                    Answer::Plain(_) | Answer::OtherSocket(_) => return Err(Halt::Status(500)),
                };
                let body = way.go_on(request, answer).await?;
                Ok(framed::take_off(request, body))
            }
            Route::Socket(way, _) => match answer {
                Answer::OtherSocket(Some(answer)) => answer.go_on(request).await,
                _ => way.respond_slowly(request).await,
            },
        })
        .await
    }

    /// The request, for the slow path.
    fn request(&self, thread: &Rc<Thread>, peer: &Rc<Peer>) -> Request {
        let mut request = Request::from_http1(thread, peer, &self.buffer, &self.head, RequestBody::Empty);
        request.number = self.number;
        request.client.received = self.received;
        request.client.started = self.started;
        request.busy = Some(self.busy.clone());
        request = request.resumed(&self.remembered.request, self.with_query);
        request.slots = self.remembered.request.slots.clone();
        if let Route::Worker(_, way) = &self.remembered.route {
            way.resume(&mut request);
        }
        request
    }

    /// Returns whether it is not served to its end if its client leaves.
    pub(crate) fn ends_with_client(&self) -> bool {
        matches!(&self.remembered.route, Route::Socket(way, _) if way.ends_with_client())
    }

    /// The request's head as it came.
    pub(crate) fn head(&self) -> (&Head, &Bytes) {
        (&self.head, &self.buffer)
    }

    /// Logs a plain answer.
    pub(crate) fn log(&self, thread: &Thread, peer: &Peer, plain: &Plain, whole: bool) {
        let server = &self.remembered.request.server;
        let sent = (plain.out.len() + plain.body.len()) as u64;
        thread.answered(server, 200, sent, self.started.elapsed());
        let Some(facts) = &self.remembered.facts else { return };
        let record = FastRecord {
            peer,
            server,
            facts,
            head: &self.head,
            buffer: &self.buffer,
            received: self.received,
            elapsed: self.started.elapsed(),
            body: plain.body.len() as u64,
            sent,
            whole,
            kept: plain.after == After::Stay,
            headers_out: plain.headers_out.as_ref(),
        };
        access_log::write_fast(thread, &record);
    }
}

/// Frames, or pieces, that a plain answer may come in.
pub(crate) const MOST: usize = 64;

/// Frames of an answer: most have a head, a body and an end.
pub(crate) type Frames = SmallVec<[Frame; 4]>;

/// Takes frames until the answer is complete (`true`), or is one for the slow path (`false`).
async fn gather(exchange: &mut Exchange, frames: &mut Frames) -> Result<bool, Error> {
    let mut length = 0;
    poll_fn(|context| {
        loop {
            let frame = match exchange.poll_next(context) {
                Poll::Pending if !frames.is_empty() && !exchange.rests() => return Poll::Ready(Ok(false)),
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Ok(false)),
            };
            let kind = frame.kind;
            length += if kind == FromWorker::BODY { frame.body.len() } else { 0 };
            let first = frames.is_empty();
            frames.push(frame);
            match kind {
                FromWorker::FINISHED => return Poll::Ready(Ok(is_done(frames))),
                FromWorker::BODY if first || length > WHOLE || frames.len() > MOST => {
                    return Poll::Ready(Ok(false));
                }
                FromWorker::BODY => {}
                FromWorker::HEAD if first => {}
                // A question, among others, whose answer the worker waits for.
                _ => return Poll::Ready(Ok(false)),
            }
        }
    })
    .await
}

fn is_done(frames: &Frames) -> bool {
    frames.len() > 1
        && frames.last().is_some_and(|frame| {
            matches!(FromWorker::decode(frame.kind, &frame.body), Ok(FromWorker::Finished(Outcome::Done)))
        })
}
