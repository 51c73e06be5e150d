//! The short way to a worker: a URL whose phases come to the same for every request, so that a request for it only
//! needs its own line, fields and time beside what is remembered. The long way makes what is remembered
//! ([`remember`]); it holds while the site's epoch does.
//!
//! Plain answers go out with one write. Whatever is not plain is taken over by the long way in mid-conversation.

use super::conversation::Conversation;
use super::directory::Known;
use super::head::{self, Task, Texts};
use super::{Begin, Progress};
use crate::access_log::{self, FastRecord};
use crate::body::RequestBody;
use crate::connection::Peer;
use crate::files::Site;
use crate::http1::head::{HTTP_11, Head};
use crate::http1::send::{self, Connection};
use crate::request::{Origin, Request};
use crate::table::Table;
use crate::thread::Thread;
use crate::{access, filter, log, names, settings, text};
use bytes::Bytes;
use hashbrown::HashMap;
use hostler_config::directives::pool::Isolation;
use hostler_gateway::Error;
use hostler_gateway::pool::{Exchange, Frame, Work};
use hostler_wire::work::{FromWorker, Outcome, PhaseSet, ReplyHead};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// URLs remembered per thread; beyond this all are forgotten.
const MAX: usize = 4096;

/// What every request for a URL comes to before its handler.
pub(crate) struct Remembered {
    site: Rc<Site>,
    epoch: u64,
    /// As the phases left it, without what is one client's alone.
    request: Request,
    texts: Texts,
    known: Rc<Known>,
    phases: PhaseSet,
    isolation: Isolation,
    handler: Option<&'static [u8]>,
    /// For the access log; `None`: nothing is logged.
    facts: Option<access_log::Facts>,
}

#[derive(Default)]
struct Cache {
    known: HashMap<Box<[u8]>, Rc<Remembered>, foldhash::fast::RandomState>,
    /// Space to put keys together in.
    key: Vec<u8>,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// Address, name of the handshake, host and path.
fn write_key(key: &mut Vec<u8>, peer: &Peer, host: &[u8], path: &[u8]) {
    key.clear();
    key.extend_from_slice(&(std::sync::Arc::as_ptr(&peer.hosts) as usize).to_ne_bytes());
    if let Some(name) = peer.tls.as_ref().and_then(|tls| tls.server_name.as_deref()) {
        key.extend_from_slice(name.as_bytes());
    }
    key.push(b' ');
    key.extend_from_slice(host);
    key.push(b' ');
    key.extend_from_slice(path);
}

fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// Remembers what the phases before a worker's response have come to, if it would be the same for every `GET`.
pub(super) fn remember(
    request: &Request,
    known: &Rc<Known>,
    task: &Task,
    isolation: Isolation,
    texts: Texts,
) {
    let site = request.thread.site(&request.server);
    let Some(host) = request.headers_in.find("Host") else { return };
    if !is_same_for_all(request) || site.epoch() != request.epoch {
        return;
    }
    let facts = if access_log::is_wanted(&request.thread, &request.server) {
        let Some(facts) = access_log::Facts::of(request) else { return };
        Some(facts)
    } else {
        None
    };
    let mut kept = request.clone();
    kept.headers_in.clear();
    kept.args = None;
    kept.progress = Progress::default();
    let remembered = Remembered {
        site,
        epoch: request.epoch,
        texts,
        request: kept,
        known: known.clone(),
        phases: task.phases,
        isolation,
        handler: task.handler,
        facts,
    };
    CACHE.with_borrow_mut(|Cache { known, key }| {
        if known.len() >= MAX {
            known.clear();
        }
        write_key(key, &request.peer, host, split(&request.target).0);
        known.insert(key.as_slice().into(), Rc::new(remembered));
    });
}

/// Whether nothing on the way to the handler has looked at more than host and path.
fn is_same_for_all(request: &Request) -> bool {
    let (dir, server) = (&request.dir, &request.server.conf);
    request.origin == Origin::Client
        && request.prev.is_none()
        && request.version == HTTP_11
        && &*request.method == b"GET"
        && request.target.starts_with(b"/")
        && request.lasting
        && request.body.is_empty()
        && request.user.is_none()
        && request.status == 200
        && request.custom_responses.is_empty()
        && request.filters.is_empty()
        && request.varies.borrow().is_empty()
        && access::is_open(request)
        && dir.core.ifs.is_empty()
        && dir.core.allow_methods.is_none()
        && dir.core.default_charset.is_none()
        && !dir.alias.is_set()
        && !dir.actions.is_set()
        && !dir.filter.is_set()
        && !(request.peer.tls.is_some() && dir.ssl.is_set())
        && !names::are_wanted(dir)
        && server.perl.handlers.is_empty()
        && !filter::depends_on_request(request)
}

/// What the fields of a request mean for the short way; `None`: it is not for it.
fn fields<'a>(head: &Head, buffer: &'a [u8]) -> Option<(&'a [u8], bool, hostler_wire::work::Fields<'a>)> {
    let (mut host, mut told) = (None, false);
    let mut all: hostler_wire::work::Fields<'a> = Vec::with_capacity(head.fields.len());
    for field in &head.fields {
        let (name, value) = (field.name.of(buffer), field.value.of(buffer));
        let again = all.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if field.folded || again {
            return None;
        }
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => host = Some(value),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                if !value.eq_ignore_ascii_case(b"keep-alive") {
                    return None;
                }
                told = true;
            }
            6 if name.eq_ignore_ascii_case(b"expect") => return None,
            7 if name.eq_ignore_ascii_case(b"upgrade") => return None,
            14 if name.eq_ignore_ascii_case(b"content-length") => return None,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => return None,
            _ => {}
        }
        all.push((name, value));
    }
    Some((host?, told, all))
}

/// A request on the short way.
pub(crate) struct Begun {
    remembered: Rc<Remembered>,
    start: Option<Begin>,
    head: Head,
    buffer: Bytes,
    /// The client asks for keep-alive in words.
    told: bool,
    received: SystemTime,
    started: Instant,
    number: u64,
}

/// Gives the request to a worker, if its URL is known.
pub(crate) fn begin(thread: &Rc<Thread>, peer: &Peer, head: &Head, buffer: &[u8]) -> Option<Begun> {
    if head.version != HTTP_11
        || head.method.of(buffer) != b"GET"
        || !peer.may_continue()
        || thread.draining()
        || CACHE.with_borrow(|cache| cache.known.is_empty())
    {
        return None;
    }
    let (host, told, headers_in) = fields(head, buffer)?;
    let target = head.target.of(buffer);
    let (path, args) = split(target);
    let remembered = CACHE.with_borrow_mut(|Cache { known, key }| {
        write_key(key, peer, host, path);
        let remembered = known.get(key.as_slice())?;
        if remembered.epoch != remembered.site.epoch() {
            known.remove(key.as_slice());
            return None;
        }
        Some(remembered.clone())
    })?;
    thread.touch(remembered.site.id);
    let (received, number) = (SystemTime::now(), thread.next_request());
    let (remote, log_id) = (peer.remote.ip().to_string(), log::id_of(number));
    let Remembered { request, texts, known, phases, isolation, handler, .. } = &*remembered;
    let task = Task { phases: *phases, handler: *handler, body: false };
    let mut message = head::head(request, texts, known, &task);
    message.number = number;
    message.time = received.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64);
    message.remote_port = peer.remote.port();
    message.the_request = head.line.of(buffer);
    message.unparsed_uri = target;
    message.args = args;
    message.remote_ip = remote.as_bytes();
    message.log_id = log_id.as_bytes();
    message.headers_in = headers_in;
    let work = Work {
        thread: thread.index,
        directory: (known.id, known.message.clone()),
        request: head::encoded(message),
        timeout: settings::timeout(&request.server),
    };
    let start = super::begin(thread, &request.server, *isolation, work);
    let buffer = Bytes::copy_from_slice(&buffer[..head.length]);
    let head = head.clone();
    Some(Begun {
        remembered,
        start: Some(start),
        head,
        buffer,
        told,
        received,
        started: Instant::now(),
        number,
    })
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
    headers_out: Option<Table>,
}

impl Begun {
    /// Waits for the answer.
    pub(crate) async fn answer(&mut self, peer: &Peer) -> Answer {
        let exchange = match self.start.take() {
            Some(Begin::Now(exchange)) => exchange,
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
        Conversation::taken_over(exchange, Frames::new()).part(&self.remembered.request);
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
        write_head(&mut out, &self.remembered, &head, self.received, body.len())?;
        if self.told {
            let timeout = peer.settings.keep_alive_timeout.as_secs();
            send::connection(&mut out, Connection::Tell(timeout, peer.requests_left()));
        }
        out.extend_from_slice(b"\r\n");
        let logged = || logged_fields(&first.body, &head);
        Some(Plain { out, body, headers_out: self.remembered.facts.is_some().then(logged) })
    }

    /// The request, for the long way.
    pub(crate) fn request(&self, thread: &Rc<Thread>, peer: &Rc<Peer>) -> Request {
        let mut request = Request::from_http1(thread, peer, &self.buffer, &self.head, RequestBody::Empty);
        let known = &self.remembered.request;
        request.number = self.number;
        request.received = self.received;
        request.started = self.started;
        request.server = known.server.clone();
        request.uri.clone_from(&known.uri);
        request.args = split(&request.target).1.map(|args| request.target.slice_ref(args));
        request.hostname.clone_from(&known.hostname);
        request.host_port = known.host_port;
        request.headers_out = known.headers_out.clone();
        request.err_headers_out = known.err_headers_out.clone();
        request.env = known.env.clone();
        request.notes = known.notes.clone();
        request.filename.clone_from(&known.filename);
        request.path_info.clone_from(&known.path_info);
        request.found = known.found.clone();
        request.context_prefix.clone_from(&known.context_prefix);
        request.context_document_root.clone_from(&known.context_document_root);
        request.dir = known.dir.clone();
        request.handler.clone_from(&known.handler);
        request.content_type.clone_from(&known.content_type);
        request.content_encoding.clone_from(&known.content_encoding);
        request.content_languages.clone_from(&known.content_languages);
        request.lasting = known.lasting;
        request.epoch = known.epoch;
        request.progress.is_script = self.remembered.handler.is_some();
        request.progress.logged = super::logs(self.remembered.phases);
        request
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

/// Frames of an answer: most have a head, a body and an end.
pub(super) type Frames = SmallVec<[Frame; 4]>;

/// Takes frames until the answer is complete (`true`), or is one for the long way (`false`).
async fn gather(exchange: &mut Exchange, frames: &mut Frames) -> Result<bool, Error> {
    let mut length = 0;
    poll_fn(|context| {
        loop {
            let frame = match exchange.poll_next(context) {
                Poll::Pending if length > 0 => return Poll::Ready(Ok(false)),
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
                FromWorker::BODY if first || length > super::WHOLE => return Poll::Ready(Ok(false)),
                FromWorker::BODY => {}
                _ if first => {}
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

/// Fields that the long way has something to say about.
fn is_special(name: &[u8]) -> bool {
    const NAMES: [&str; 9] = [
        "Connection",
        "Keep-Alive",
        "Proxy-Connection",
        "Transfer-Encoding",
        "Upgrade",
        "Date",
        "Server",
        "Vary",
        "Content-Range",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Writes all but what is about the connection; `None`: the head is not plain.
fn write_head(
    out: &mut Vec<u8>,
    remembered: &Remembered,
    head: &ReplyHead<'_>,
    received: SystemTime,
    length: usize,
) -> Option<()> {
    let is_plain = head.flags.0 == 0
        && head.status == 200
        && head.status_line.is_none_or(|line| line == b"200 OK" || line == b"200")
        && head.content_encoding.is_none()
        && head.content_languages.is_empty()
        && head.content_length.is_none_or(|said| said == length as u64);
    if !is_plain {
        return None;
    }
    let seconds = received.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nDate: ");
    out.extend_from_slice(&text::http_date(seconds as i64));
    out.extend_from_slice(b"\r\nServer: ");
    out.extend_from_slice(settings::product(&remembered.request.server).as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in head.err_headers_out.iter().chain(&head.headers_out) {
        if is_special(name) {
            return None;
        }
        let replaced = (head.content_type.is_some() && name.eq_ignore_ascii_case(b"content-type"))
            || name.eq_ignore_ascii_case(b"content-length");
        if !replaced {
            send::field(out, name, value);
        }
    }
    if let Some(content_type) = head.content_type {
        send::field(out, b"Content-Type", content_type);
    }
    send::field(out, b"Content-Length", text::decimal(length as u64).as_bytes());
    Some(())
}

/// The fields for the access log.
fn logged_fields(message: &Bytes, head: &ReplyHead<'_>) -> Table {
    let mut table = Table::with_capacity(head.headers_out.len() + head.err_headers_out.len() + 1);
    for (name, value) in head.err_headers_out.iter().chain(&head.headers_out) {
        table.add(message.slice_ref(name), message.slice_ref(value));
    }
    if let Some(content_type) = head.content_type {
        table.set("Content-Type", message.slice_ref(content_type));
    }
    table
}
