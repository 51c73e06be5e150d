//! The short way: a request for a file whose whole way through the phases is known and depends on nothing but
//! host, URL and the codings that the client takes is answered from memory, without a task, a wait or a system call of its own.
//!
//! What is remembered was made by the long way ([`remember`]), and holds while the site's epoch does.

use crate::hook::plan::plan;
use crate::hook::reply::Reply;
use crate::io::body::Body;
use crate::limits::clients::Busy;
use crate::log::access_log::{self, FastRecord};
use crate::module::deflate;
use crate::request::connection::Peer;
use crate::request::thread::Thread;
use crate::request::vhost::AddressHosts;
use crate::request::{Found, Origin, Request};
use crate::site::files::Site;
use crate::values::text;
use bytes::Bytes;
use hashbrown::HashMap;
use hostler_config::Server;
use hostler_http1::framing::{After, KeepAlive};
use hostler_http1::head::{HTTP_11, Head};
use hostler_http1::response::field;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// URLs remembered per thread; beyond this all are forgotten.
const MAX: usize = 16_384;

/// Bytes of answers remembered per thread; they may outlive the files they were made of.
const MAX_BYTES: usize = 64 << 20;

/// An answer that needs only a date.
pub(crate) struct PreparedAnswer {
    site: Rc<Site>,
    epoch: u64,
    server: Arc<Server>,
    /// Header lines but for Date and Connection.
    fields: Box<[u8]>,
    body: Bytes,
    /// For the access log.
    facts: access_log::Facts,
    /// Keeps the address in the key taken.
    _hosts: Arc<AddressHosts>,
}

impl PreparedAnswer {
    fn size(&self) -> usize {
        self.fields.len() + self.body.len()
    }
}

/// URLs whose answer is known.
#[derive(Default)]
pub(crate) struct UrlCache {
    known: HashMap<Box<[u8]>, Rc<PreparedAnswer>, foldhash::fast::RandomState>,
    /// Space to put keys together in.
    key: Vec<u8>,
    /// Bytes of all that is known.
    bytes: usize,
}

/// An answer that needed nothing but memory; its head is in `out`.
pub(crate) struct Fast {
    pub(crate) out: Vec<u8>,
    pub(crate) body: Bytes,
    /// What becomes of the connection.
    pub(crate) after: After,
    /// For the access log, once it is sent.
    log: LogFacts,
    /// Its site is at it until it is sent.
    _busy: Busy,
}

/// What is needed for the log line.
struct LogFacts {
    remembered: Rc<PreparedAnswer>,
    head: Option<(Head, Bytes)>,
    started: Instant,
    received: SystemTime,
}

/// Address, codings, class of the client, host and target; neither of the latter has a space.
fn write_key(key: &mut Vec<u8>, peer: &Peer, fields: &Fields<'_>, agent: u16, target: &[u8]) {
    key.clear();
    key.extend_from_slice(&(Arc::as_ptr(&peer.hosts) as usize).to_ne_bytes());
    // What was right for a handshake for one name need not be for another (421 Misdirected Request).
    if let Some(name) = peer.tls.as_ref().and_then(|tls| tls.server_name.as_deref()) {
        key.extend_from_slice(name.as_bytes());
    }
    key.push(b' ');
    key.push(fields.codings.unwrap_or(0));
    key.extend_from_slice(&agent.to_ne_bytes());
    key.extend_from_slice(fields.host);
    key.push(b' ');
    key.extend_from_slice(target);
}

/// What the fields of a request mean for the short way.
struct Fields<'a> {
    host: &'a [u8],
    wish: KeepAlive,
    /// Class of the content codings that it takes; `None`: it says nothing of them.
    codings: Option<u8>,
    agent: &'a [u8],
}

/// `None`: some field may change the answer.
fn fields<'a>(head: &Head, buffer: &'a [u8]) -> Option<Fields<'a>> {
    let (mut host, mut connection, mut codings, mut agent) = (None, None, None, None);
    for field in &head.fields {
        let name = field.name.of(buffer);
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => {
                let another = host.replace(field.value.of(buffer)).is_some();
                if field.folded || another {
                    return None;
                }
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                let another = connection.replace(field.value.of(buffer)).is_some();
                if another {
                    return None;
                }
            }
            10 if name.eq_ignore_ascii_case(b"user-agent") => {
                let another = agent.replace(field.value.of(buffer)).is_some();
                if field.folded || another {
                    return None;
                }
            }
            15 if name.eq_ignore_ascii_case(b"accept-encoding") => {
                let class = deflate::class(field.value.of(buffer));
                if field.folded || codings.replace(class).is_some() {
                    return None;
                }
            }
            // Range, If-..., Expect, Upgrade, Transfer-Encoding, Content-Length, Authorization.
            5 if name.eq_ignore_ascii_case(b"range") => return None,
            6 if name.eq_ignore_ascii_case(b"expect") => return None,
            7 if name.eq_ignore_ascii_case(b"upgrade") => return None,
            14 if name.eq_ignore_ascii_case(b"content-length") => return None,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => return None,
            13 if name.eq_ignore_ascii_case(b"authorization") => return None,
            8.. if name[..3].eq_ignore_ascii_case(b"if-") => return None,
            _ => {}
        }
    }
    let wish = KeepAlive::of_field(head.version, connection)?;
    Some(Fields { host: host?, wish, codings, agent: agent.unwrap_or_default() })
}

/// The answer, if it is known.
pub(crate) fn answer(thread: &Rc<Thread>, peer: &Peer, head: &Head, buffer: &[u8]) -> Option<Fast> {
    if head.version != HTTP_11 || head.method.of(buffer) != b"GET" || thread.draining() {
        return None;
    }
    let fields = fields(head, buffer)?;
    let agent = thread.agents.borrow_mut().class(fields.agent)?;
    let remembered = {
        let mut urls = thread.urls.borrow_mut();
        let UrlCache { known, key, bytes } = &mut *urls;
        write_key(key, peer, &fields, agent, head.target.of(buffer));
        let remembered = known.get(key.as_slice())?;
        if remembered.epoch != remembered.site.epoch() {
            *bytes -= remembered.size();
            known.remove(key.as_slice());
            return None;
        }
        remembered.clone()
    };
    let traffic = &thread.shared.traffic;
    let busy = traffic.enter(remembered.site.id, &remembered.server)?;
    traffic.may_ask(remembered.site.id, &remembered.server).ok()?;
    thread.touch(remembered.site.id);
    let received = SystemTime::now();
    let seconds = received.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let mut out = Vec::with_capacity(remembered.fields.len() + 160);
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nDate: ");
    out.extend_from_slice(&text::http_date(seconds as i64));
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&remembered.fields);
    let after = peer.tell_connection(fields.wish, &mut out);
    out.extend_from_slice(b"\r\n");
    let logged = access_log::is_wanted(thread, &remembered.server)
        .then(|| (head.clone(), Bytes::copy_from_slice(&buffer[..head.length])));
    let log = LogFacts { remembered: remembered.clone(), head: logged, started: Instant::now(), received };
    Some(Fast { out, body: remembered.body.clone(), after, log, _busy: busy })
}

/// Logs an answer given by [`answer`].
pub(crate) fn log(thread: &Thread, peer: &Peer, fast: &Fast, whole: bool) {
    let sent = (fast.out.len() + fast.body.len()) as u64;
    thread.answered(&fast.log.remembered.server, 200, sent, fast.log.started.elapsed());
    let Some((head, buffer)) = &fast.log.head else { return };
    let record = FastRecord {
        peer,
        server: &fast.log.remembered.server,
        facts: &fast.log.remembered.facts,
        head,
        buffer,
        received: fast.log.received,
        elapsed: fast.log.started.elapsed(),
        body: fast.body.len() as u64,
        sent,
        whole,
        headers_out: None,
    };
    access_log::write_fast(thread, &record);
}

/// Remembers the answer that the long way has made, if it would be the same for everybody.
pub(crate) fn remember(thread: &Thread, peer: &Peer, head: &Head, buffer: &[u8], reply: &Reply) {
    let request = &reply.request;
    let Body::Bytes(body) = &reply.body else { return };
    if reply.status != 200 || reply.raw || reply.close || reply.head_only || head.version != HTTP_11 {
        return;
    }
    let Some(fields) = fields(head, buffer) else { return };
    let Some(agent) = thread.agents.borrow_mut().class(fields.agent) else { return };
    let site = thread.site(&request.server);
    if !is_same_for_all(request) || site.epoch() != request.epoch {
        return;
    }
    let Some(facts) = access_log::Facts::of(request) else { return };
    let mut lines = Vec::new();
    for (name, value) in reply.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(b"date")) {
        field(&mut lines, name, value);
    }
    field(&mut lines, b"Content-Length", text::decimal(body.len() as u64).as_bytes());
    let mut urls = thread.urls.borrow_mut();
    let UrlCache { known, key, bytes } = &mut *urls;
    if known.len() >= MAX || *bytes >= MAX_BYTES {
        known.clear();
        *bytes = 0;
    }
    write_key(key, peer, &fields, agent, head.target.of(buffer));
    let remembered = PreparedAnswer {
        site,
        epoch: request.epoch,
        server: request.server.clone(),
        fields: lines.into(),
        body: body.clone(),
        facts,
        _hosts: peer.hosts.clone(),
    };
    *bytes += remembered.size();
    if let Some(before) = known.insert(key.as_slice().into(), Rc::new(remembered)) {
        *bytes -= before.size();
    }
}

/// Whether every request for this URL would be answered alike: nothing on its way looked at the request, but for
/// compression at the codings that the client takes.
pub(crate) fn is_same_for_all(request: &Request) -> bool {
    let Found::File(info, Ok(_)) = &request.resource.found else { return false };
    // A young file's entity tag is weak for a moment.
    let settled = crate::module::core::file::now(request) - info.mtime > 2;
    request.origin == Origin::Client
        && settled
        && request.lasting
        && request.target.args.is_none()
        && &*request.target.method == b"GET"
        && request.user.is_none()
        && matches!(request.resource.handler.as_deref(), None | Some(b"default-handler"))
        && request.reply.headers_out.all(b"Vary").all(|names| names.eq_ignore_ascii_case(b"Accept-Encoding"))
        && !plan().has_say(request)
}
