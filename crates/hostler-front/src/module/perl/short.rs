//! The short way to a worker: a URL whose phases come to the same for every request, so that a request for it only
//! needs its own line, fields and time beside what is remembered. The long way makes what is remembered
//! ([`remember`]); it holds while the site's epoch does.
//!
//! Plain answers go out with one write. Whatever is not plain is taken over by the long way in mid-conversation.

mod plain;
mod remembered;

pub(super) use remembered::remember;

use super::Begin;
use super::conversation;
use super::conversation::Conversation;
use super::head;
use super::head::Task;
use super::state::HasPerl;
use crate::hook::reply::Reply;
use crate::hook::serve;
use crate::io::body::RequestBody;
use crate::limits::clients::Busy;
use crate::log::access_log::{self, FastRecord};
use crate::request::Request;
use crate::request::connection::Peer;
use crate::request::id;
use crate::request::settings;
use crate::request::thread::Thread;
use crate::technique::framed;
use crate::values::table::Table;
use bytes::Bytes;
use hostler_config::directives::pool::Isolation;
use hostler_gateway::Error;
use hostler_gateway::backend::OnAbandon;
use hostler_gateway::backend::ring::{Exchange, Frame, Work};
use hostler_http1::framing::{After, KeepAlive};
use hostler_http1::head::{HTTP_10, HTTP_11, Head};
use hostler_wire::work::{Fields, FromWorker, Outcome};
use remembered::Remembered;
use smallvec::SmallVec;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What the fields of a request mean for the short way; `None`: it is not for it.
fn fields<'a>(head: &Head, buffer: &'a [u8]) -> Option<(&'a [u8], KeepAlive, Fields<'a>)> {
    let (mut host, mut connection) = (None, None);
    let mut all: Fields<'a> = Vec::with_capacity(head.fields.len());
    for field in &head.fields {
        let (name, value) = (field.name.of(buffer), field.value.of(buffer));
        let again = all.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if field.folded || again {
            return None;
        }
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => host = Some(value),
            10 if name.eq_ignore_ascii_case(b"connection") => connection = Some(value),
            6 if name.eq_ignore_ascii_case(b"expect") => return None,
            7 if name.eq_ignore_ascii_case(b"upgrade") => return None,
            14 if name.eq_ignore_ascii_case(b"content-length") => return None,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => return None,
            _ => {}
        }
        all.push((name, value));
    }
    Some((host?, KeepAlive::of_field(head.version, connection)?, all))
}

/// A request on the short way.
pub(crate) struct Begun {
    remembered: Rc<Remembered>,
    /// Its site is at it until it has been answered.
    busy: Rc<Busy>,
    start: Option<Begin>,
    head: Head,
    buffer: Bytes,
    wish: KeepAlive,
    received: SystemTime,
    started: Instant,
    number: u64,
}

/// Gives the request to a worker, if its URL is known.
pub(crate) fn begin(thread: &Rc<Thread>, peer: &Peer, head: &Head, buffer: &[u8]) -> Option<Begun> {
    if !matches!(head.version, HTTP_10 | HTTP_11)
        || head.method.of(buffer) != b"GET"
        || thread.draining()
        || remembered::is_empty()
    {
        return None;
    }
    let (host, wish, headers_in) = fields(head, buffer)?;
    let (path, _) = remembered::split(head.target.of(buffer));
    let remembered = remembered::find(peer, host, path)?;
    let (traffic, server) = (&thread.shared.traffic, &remembered.request.server);
    let busy = traffic.enter(remembered.site.id, server)?;
    traffic.may_ask(remembered.site.id, server).ok()?;
    thread.touch(remembered.site.id);
    let (received, number) = (SystemTime::now(), thread.next_request());
    let Remembered { request, isolation, .. } = &*remembered;
    let start = match super::refusal(thread, &request.server, super::engine(request), *isolation) {
        Some(refusal) => Begin::Never(refusal),
        None => {
            let work = work(thread, peer, &remembered, (head, buffer), headers_in, (received, number));
            super::begin(thread, &request.server, super::engine(request), *isolation, work)
        }
    };
    let buffer = Bytes::copy_from_slice(&buffer[..head.length]);
    let head = head.clone();
    Some(Begun {
        remembered,
        busy: Rc::new(busy),
        start: Some(start),
        head,
        buffer,
        wish,
        received,
        started: Instant::now(),
        number,
    })
}

/// What a worker is told of the request.
fn work(
    thread: &Thread,
    peer: &Peer,
    remembered: &Remembered,
    (head, buffer): (&Head, &[u8]),
    headers_in: Fields<'_>,
    (received, number): (SystemTime, u64),
) -> Work {
    let target = head.target.of(buffer);
    let (remote, log_id) = (peer.remote.ip().to_string(), id::id_of(number));
    let Remembered { request, texts, known, phases, handler, .. } = remembered;
    let errors_stay = super::errors_stay(request, remembered.isolation);
    let task = Task { phases: *phases, handler: *handler, errors_stay, ..Task::default() };
    let mut message = head::head(request, texts, known, &task);
    message.number = number;
    message.protocol = head.version;
    message.time = received.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64);
    message.remote_port = peer.remote.port();
    message.the_request = head.line.of(buffer);
    message.unparsed_uri = target;
    message.args = remembered::split(target).1;
    message.remote_ip = remote.as_bytes();
    message.log_id = log_id.as_bytes();
    message.headers_in = headers_in;
    let timeout = settings::timeout(&request.server);
    Work {
        thread: thread.index,
        directory: (known.id, known.message.clone()),
        request: head::encoded(&message),
        timeout,
        on_abandon: OnAbandon::TakeBackOrKill(timeout),
    }
}

/// Goes on with a request whose answer is not plain.
pub(crate) async fn go_on(request: Request, answer: Answer, isolation: Isolation) -> Reply {
    serve::serve_from(request, async move |request| {
        let body = Box::pin(super::go_on(request, answer, isolation)).await?;
        Ok(framed::take_off(request, body))
    })
    .await
}

/// What a worker's answer has come to.
pub(crate) enum Answer {
    /// Head and body are there to be sent as they are.
    Plain(Plain),
    /// It is for the long way, see [`Begun::request`].
    Other(Box<Conversation>),
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

impl Begun {
    /// Waits for the answer.
    pub(crate) async fn answer(&mut self, peer: &Peer) -> Answer {
        let exchange = match self.start.take() {
            Some(Begin::Now(exchange)) => exchange,
            Some(Begin::Never(refusal)) => return Answer::Failed(refusal),
            Some(Begin::Later(pool, work)) => match pool.begin(work).await {
                Ok(exchange) => exchange,
                Err(error) => return Answer::Failed(error),
            },
            None => return Answer::Failed(Error::new(hostler_gateway::Kind::System)),
        };
        let (mut exchange, mut frames) = (exchange, Frames::new());
        match gather(&mut exchange, &mut frames).await {
            Ok(true) => {}
            Ok(false) => return Answer::Other(Box::new(Conversation::taken_over(exchange, frames))),
            Err(error) if frames.is_empty() => return Answer::Failed(error),
            Err(error) => {
                let mut conversation = Conversation::taken_over(exchange, frames);
                conversation.failed = Some(error);
                return Answer::Other(Box::new(conversation));
            }
        }
        let Some(plain) = self.plain(peer, &frames) else {
            return Answer::Other(Box::new(Conversation::taken_over(exchange, frames)));
        };
        conversation::part(exchange, &self.remembered.request);
        Answer::Plain(plain)
    }

    /// The answer as bytes, if it has nothing that the long way would have to look at.
    fn plain(&self, peer: &Peer, frames: &Frames) -> Option<Plain> {
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
        let after = peer.tell_connection(self.wish, &mut out);
        out.extend_from_slice(b"\r\n");
        let logged = || plain::logged_fields(&first.body, &head);
        Some(Plain { out, body, after, headers_out: self.remembered.facts.is_some().then(logged) })
    }

    /// The request, for the long way.
    pub(crate) fn request(&self, thread: &Rc<Thread>, peer: &Rc<Peer>) -> Request {
        let mut request = Request::from_http1(thread, peer, &self.buffer, &self.head, RequestBody::Empty);
        request.number = self.number;
        request.received = self.received;
        request.started = self.started;
        request.busy = Some(self.busy.clone());
        request.args = remembered::split(&request.target).1.map(|args| request.target.slice_ref(args));
        request.resume(&self.remembered.request);
        request.perl_mut().progress.is_script = self.remembered.handler.is_some();
        request.perl_mut().progress.logged = super::logs(self.remembered.phases);
        request
    }

    /// How its programs are run.
    pub(crate) fn isolation(&self) -> Isolation {
        self.remembered.isolation
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
            headers_out: plain.headers_out.as_ref(),
        };
        access_log::write_fast(thread, &record);
    }
}

/// Frames that a plain answer may come in.
const MOST: usize = 64;

/// Frames of an answer: most have a head, a body and an end.
pub(super) type Frames = SmallVec<[Frame; 4]>;

/// Takes frames until the answer is complete (`true`), or is one for the long way (`false`).
async fn gather(exchange: &mut Exchange, frames: &mut Frames) -> Result<bool, Error> {
    let mut length = 0;
    poll_fn(|context| {
        loop {
            let frame = match exchange.poll_next(context) {
                Poll::Pending if length > 0 && !exchange.rests() => return Poll::Ready(Ok(false)),
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
                FromWorker::BODY if first || length > super::WHOLE || frames.len() > MOST => {
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
