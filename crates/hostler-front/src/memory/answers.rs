//! Answers from memory: a request for a file whose whole way through the phases is known, and depends on nothing but host,
//! path and the codings that the client takes, is answered without a task, a wait or a system call of its own.

use super::urls::{self, FieldFacts, How, KnownUrl};
use crate::hook::reply::Reply;
use crate::io::body::Body;
use crate::limits::clients::Busy;
use crate::log::access_log::{self, FastRecord};
use crate::request::connection::Peer;
use crate::request::looks::Looks;
use crate::request::thread::Thread;
use crate::request::{FileEntry, Request};
use crate::values::{codings, text};
use bytes::Bytes;
use hostler_http1::framing::After;
use hostler_http1::head::{HTTP_11, Head};
use hostler_http1::response::field;
use smallvec::SmallVec;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Sets of codings whose answers are remembered for one URL; others' are made each time.
const MOST: usize = 64;

/// The set of codings that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class(u8);

impl Class {
    fn of(asked: &FieldFacts<'_>) -> Self {
        Self(asked.codings.map_or(0, codings::class))
    }
}

/// An answer that needs only a date.
struct PreparedAnswer {
    /// Header lines but for Date and Connection.
    fields: Box<[u8]>,
    body: Bytes,
    /// For the access log.
    facts: access_log::Facts,
}

impl PreparedAnswer {
    fn size(&self) -> usize {
        self.fields.len() + self.body.len()
    }
}

/// A URL's answers, by class of client.
pub(crate) struct Answers(SmallVec<[(Class, Rc<PreparedAnswer>); 1]>);

impl Answers {
    fn find(&self, class: Class) -> Option<&Rc<PreparedAnswer>> {
        self.0.iter().find(|(of, _)| *of == class).map(|(_, answer)| answer)
    }

    /// Takes over what others have and these have not; bytes of that.
    pub(super) fn join(&mut self, others: &Self) -> usize {
        let mut size = 0;
        for (class, answer) in &others.0 {
            if self.0.len() < MOST && self.find(*class).is_none() {
                size += answer.size();
                self.0.push((*class, answer.clone()));
            }
        }
        size
    }
}

/// An answer that needed nothing but memory; its head is in `out`.
pub(crate) struct Fast {
    pub(crate) out: Vec<u8>,
    pub(crate) body: Bytes,
    /// The connection's state after it.
    pub(crate) after: After,
    /// For the access log, once it is sent.
    log: LogFacts,
    /// Its site is at it until it is sent.
    _busy: Busy,
}

/// The facts for the log line.
struct LogFacts {
    url: Rc<KnownUrl>,
    answer: Rc<PreparedAnswer>,
    head: Option<(Head, Bytes)>,
    started: Instant,
    received: SystemTime,
}

/// The answer for a client, if it is known.
pub(crate) fn answer(
    thread: &Thread,
    peer: &Peer,
    (head, buffer): (&Head, &[u8]),
    url: &Rc<KnownUrl>,
    asked: &FieldFacts<'_>,
) -> Option<Fast> {
    let How::Stored(answers) = &url.how else { return None };
    let is_its_query = url.has_query() || text::split(head.target.of(buffer)).1.is_none();
    if head.version != HTTP_11 || !asked.is_plain || !is_its_query {
        return None;
    }
    let answer = answers.find(Class::of(asked))?.clone();
    let traffic = &thread.shared.traffic;
    let busy = traffic.enter(url.site.id, &url.server)?;
    traffic.may_ask(url.site.id, &url.server).ok()?;
    thread.touch(url.site.id);
    let received = SystemTime::now();
    let seconds = received.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let mut out = Vec::with_capacity(answer.fields.len() + 160);
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nDate: ");
    out.extend_from_slice(&text::http_date(seconds as i64));
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&answer.fields);
    let after = peer.tell_connection(asked.wish, thread.draining(), &mut out);
    out.extend_from_slice(b"\r\n");
    let head = access_log::is_wanted(thread, &url.server)
        .then(|| (head.clone(), Bytes::copy_from_slice(&buffer[..head.length])));
    let body = answer.body.clone();
    let log = LogFacts { url: url.clone(), answer, head, started: Instant::now(), received };
    Some(Fast { out, body, after, log, _busy: busy })
}

/// Logs an answer given by [`answer`].
pub(crate) fn log(thread: &Thread, peer: &Peer, fast: &Fast, whole: bool) {
    let LogFacts { url, answer, head, started, received } = &fast.log;
    let sent = (fast.out.len() + fast.body.len()) as u64;
    thread.answered(&url.server, 200, sent, started.elapsed());
    let Some((head, buffer)) = head else { return };
    let record = FastRecord {
        peer,
        server: &url.server,
        facts: &answer.facts,
        head,
        buffer,
        received: *received,
        elapsed: started.elapsed(),
        body: fast.body.len() as u64,
        sent,
        whole,
        kept: fast.after == After::Stay,
        headers_out: None,
    };
    access_log::write_fast(thread, &record);
}

/// Remembers the answer that the whole way has made, if it would be the same for everybody.
pub(crate) fn remember(head: &Head, buffer: &[u8], reply: &Reply) {
    let request = &reply.request;
    let Body::Bytes(body) = &reply.body else { return };
    if reply.status != 200 || reply.raw || reply.close || reply.head_only || !is_same_for_all(request) {
        return;
    }
    let Some(asked) = FieldFacts::of(head, buffer).filter(|asked| asked.is_plain) else { return };
    let class = Class::of(&asked);
    let Some(facts) = access_log::Facts::of(request) else { return };
    let mut lines = Vec::new();
    for (name, value) in reply.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(b"date")) {
        field(&mut lines, name, value);
    }
    field(&mut lines, b"Content-Length", text::decimal(body.len() as u64).as_bytes());
    let answer = PreparedAnswer { fields: lines.into(), body: body.clone(), facts };
    let size = answer.size();
    urls::remember(request, How::Stored(Answers(SmallVec::from_buf([(class, Rc::new(answer))]))), size);
}

/// Returns whether every request for this URL would get the same response: nothing on its way looked at the request, except
/// compression at the codings that the client accepts, and the properties by which entries of the memory are distinguished.
fn is_same_for_all(request: &Request) -> bool {
    let FileEntry::File(info, Ok(_)) = &request.resource.found else { return false };
    // A young file's entity tag is weak for a moment.
    let settled = request.client.second() - info.mtime > 2;
    settled
        && request.client.version == HTTP_11
        && matches!(request.resource.handler.as_deref(), None | Some(b"default-handler"))
        && varies_as_entries_do(request)
        && urls::is_kept_for_all(request, Looks::AUTHORIZATION)
}

/// Returns whether `Vary` names only codings, by which responses are kept, and the properties by which entries are
/// distinguished.
fn varies_as_entries_do(request: &Request) -> bool {
    let by_agent = request.all_looks().have(Looks::AGENT);
    let is_known = |name: &[u8]| {
        let name = name.trim_ascii();
        name.eq_ignore_ascii_case(b"Accept-Encoding")
            || (by_agent && name.eq_ignore_ascii_case(b"User-Agent"))
    };
    let mut names =
        request.reply.headers_out.all(b"Vary").flat_map(|names| names.split(|byte| *byte == b','));
    names.all(is_known)
}
