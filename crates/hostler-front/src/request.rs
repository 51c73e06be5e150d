//! A request on its way through the phases; Apache's `request_rec` in what it knows.
//!
//! An internal redirect makes a new request that remembers the old one (`prev`); a sub-request (SSI include,
//! lookups) is a request that knows how deep it is.

pub(crate) mod certificate_facts;
pub(crate) mod conditional;
pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod expr_host;
pub(crate) mod flow;
pub(crate) mod id;
pub(crate) mod looks;
pub(crate) mod merge;
pub(crate) mod methods;
pub(crate) mod names;
mod related;
pub(crate) mod settings;
pub(crate) mod slots;
pub(crate) mod thread;
pub(crate) mod tls_facts;
pub(crate) mod variables;
pub(crate) mod vhost;

use crate::io::body::RequestBody;
use crate::io::early::Early;
use crate::io::open_file::OpenFile;
use crate::request::connection::Peer;
use crate::request::slots::Slots;
use crate::request::thread::Thread;
use crate::values::table::Table;
use bytes::Bytes;
use hostler_config::{DirConfig, Server};
use hostler_http1::head::{self, HTTP_09, Head, Version};
use hostler_wire::site::FileInfo;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// What stands at the request's file name.
#[derive(Clone, Debug, Default)]
pub(crate) enum Found {
    /// Nothing (the walk ended above it), or nothing has been looked for.
    #[default]
    Nothing,
    Directory(FileInfo),
    /// A regular file; open unless reading is not permitted (the errno).
    File(FileInfo, Result<Rc<OpenFile>, i32>),
    Other(FileInfo),
}

impl Found {
    pub(crate) fn info(&self) -> Option<&FileInfo> {
        match self {
            Self::Nothing => None,
            Self::Directory(info) | Self::File(info, _) | Self::Other(info) => Some(info),
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        matches!(self, Self::Directory(_))
    }

    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}

/// Why a request exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A client sent it.
    Client,
    /// An internal redirect: ErrorDocument, DirectoryIndex, Action, a script's Location.
    Redirect,
    /// Part of another request's answer, or a question about a URL; this deep.
    Sub(u8),
}

/// A request.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) thread: Rc<Thread>,
    pub(crate) peer: Rc<Peer>,
    pub(crate) server: Arc<Server>,
    pub(crate) origin: Origin,
    pub(crate) received: SystemTime,
    pub(crate) started: Instant,
    /// What it may cost, with all that is done for it.
    pub(crate) budget: Rc<crate::limits::budget::Budget>,
    /// Unique within the front's life; with it errors on the page and in the logs find each other.
    pub(crate) number: u64,

    /// The request line as sent.
    pub(crate) line: Bytes,
    pub(crate) method: Bytes,
    pub(crate) version: Version,
    /// The request target as sent (`REQUEST_URI` is made of it).
    pub(crate) target: Bytes,
    /// Decoded and normalised path.
    pub(crate) uri: Vec<u8>,
    pub(crate) args: Option<Bytes>,
    /// Host the client asked for, lower case, without port.
    pub(crate) hostname: Option<Bytes>,
    /// Port in the Host field or the target.
    pub(crate) host_port: Option<u16>,

    pub(crate) headers_in: Table,
    /// Fields that came several times, one by one: `headers_in` has them joined.
    pub(crate) repeated_in: Table,
    pub(crate) headers_out: Table,
    /// Kept in error answers too.
    pub(crate) err_headers_out: Table,
    /// `subprocess_env`.
    pub(crate) env: Table,
    pub(crate) notes: Table,

    pub(crate) user: Option<Bytes>,
    pub(crate) auth_type: Option<Bytes>,

    /// Where the URI maps to.
    pub(crate) filename: Vec<u8>,
    pub(crate) path_info: Vec<u8>,
    pub(crate) found: Found,
    /// Set by Alias and the like (`CONTEXT_PREFIX`, `CONTEXT_DOCUMENT_ROOT`).
    pub(crate) context_prefix: Vec<u8>,
    pub(crate) context_document_root: Option<Vec<u8>>,
    /// Merged configuration for this request.
    pub(crate) dir: Arc<DirConfig>,

    pub(crate) handler: Option<Bytes>,
    pub(crate) content_type: Option<Bytes>,
    pub(crate) content_encoding: Option<Bytes>,
    pub(crate) content_languages: Vec<Bytes>,
    /// Output filters by name (lower case), in order.
    pub(crate) filters: Vec<Bytes>,
    /// It is counted among its site's requests that are being answered.
    pub(crate) busy: Option<Rc<crate::limits::clients::Busy>>,

    pub(crate) status: u16,
    /// A reason phrase of the script's own.
    pub(crate) reason: Option<Bytes>,
    pub(crate) body: RequestBody,
    pub(crate) prev: Option<Box<Request>>,
    /// Sub-requests: names of environment variables start from the parent's.
    pub(crate) redirects: u32,
    /// Request headers that expressions have looked at; they end up in `Vary`.
    pub(crate) varies: RefCell<Vec<Bytes>>,
    /// All that was looked up so far stays true while the site's epoch is [`Request::epoch`].
    pub(crate) lasting: bool,
    /// The site's epoch when the request began.
    pub(crate) epoch: u64,
    /// All access rules have let it pass.
    pub(crate) is_checked: bool,
    /// What its file is has been found out before the phase for that.
    pub(crate) is_typed: bool,
    /// The answer's program has framed it in chunks.
    pub(crate) is_framed: bool,
    /// Nobody has looked at it since too many waited: nothing is wrong with it, nor with its connection.
    pub(crate) is_refused: bool,
    /// `no_local_copy`: conditional requests are not answered 304.
    pub(crate) no_cache: bool,
    /// `no_cache`: caches of HTTP/1.0 are told to keep nothing.
    pub(crate) is_uncacheable: bool,
    /// What modules keep with it.
    pub(crate) slots: Slots,
    /// The request that it is a part of, as far as a worker is to be told of it.
    pub(crate) main: Option<Rc<Request>>,
    /// The request that has gone on in its place and was answered, for what is done after that.
    pub(crate) next: Option<Rc<Request>>,
    /// Bytes of the answer's body, once it has been sent.
    pub(crate) sent: Option<u64>,
    /// Whom interim answers are told, if the client understands them. A request outlives its connection where something is
    /// done after the answer, and must not keep that open.
    pub(crate) early: Option<Weak<dyn Early>>,
    /// Error answers that a program has set (`custom_response`), by status.
    pub(crate) custom_responses: Vec<(u16, Bytes)>,
}

impl Request {
    /// A client's request over HTTP/1; `buffer` is its head.
    pub(crate) fn from_http1(
        thread: &Rc<Thread>,
        peer: &Rc<Peer>,
        buffer: &Bytes,
        head: &Head,
        body: RequestBody,
    ) -> Self {
        let slice = |span: head::Span| buffer.slice(span.start as usize..span.end as usize);
        let mut request = Self::new(thread, peer);
        request.headers_in = Table::with_capacity(head.fields.len());
        for field in &head.fields {
            let value: Bytes =
                if field.folded { head::unfold(field.value.of(buffer)).into() } else { slice(field.value) };
            request.receive(slice(field.name), &value);
        }
        request.line = slice(head.line);
        request.method = slice(head.method);
        request.target = slice(head.target);
        request.version = head.version;
        if head.field(buffer, "transfer-encoding").is_some() {
            // The coding counts, whatever length came with it (RFC 9112 §6.3).
            request.headers_in.unset("Content-Length");
        }
        request.body = body;
        request
    }

    /// A field as it comes. Several of a name are one list (RFC 9110 §5.3).
    pub(crate) fn receive(&mut self, name: Bytes, value: &Bytes) {
        if let Some(before) = self.headers_in.merge(name.clone(), value) {
            if !self.repeated_in.contains(&name) {
                self.repeated_in.add(name.clone(), before);
            }
            self.repeated_in.add(name, value.clone());
        }
    }

    /// A request of which nothing is known yet.
    pub(crate) fn new(thread: &Rc<Thread>, peer: &Rc<Peer>) -> Self {
        let server = peer.hosts.default_server().clone();
        Self {
            thread: thread.clone(),
            peer: peer.clone(),
            dir: server.defaults.clone(),
            server,
            origin: Origin::Client,
            received: SystemTime::now(),
            started: Instant::now(),
            budget: Rc::default(),
            number: thread.next_request(),
            line: Bytes::new(),
            method: Bytes::from_static(b"GET"),
            version: HTTP_09,
            target: Bytes::new(),
            uri: Vec::new(),
            args: None,
            hostname: None,
            host_port: None,
            headers_in: Table::default(),
            repeated_in: Table::default(),
            headers_out: Table::default(),
            err_headers_out: Table::default(),
            env: Table::default(),
            notes: Table::default(),
            user: None,
            auth_type: None,
            filename: Vec::new(),
            path_info: Vec::new(),
            found: Found::Nothing,
            context_prefix: Vec::new(),
            context_document_root: None,
            handler: None,
            content_type: None,
            content_encoding: None,
            content_languages: Vec::new(),
            filters: Vec::new(),
            busy: None,
            status: 200,
            reason: None,
            body: RequestBody::Empty,
            prev: None,
            redirects: 0,
            varies: RefCell::default(),
            lasting: true,
            epoch: 0,
            is_checked: false,
            is_typed: false,
            is_framed: false,
            is_refused: false,
            no_cache: false,
            is_uncacheable: false,
            slots: Slots::default(),
            main: None,
            next: None,
            sent: None,
            early: None,
            custom_responses: Vec::new(),
        }
    }

    /// Sets path and query from an already escaped local target.
    pub(crate) fn set_local_target(&mut self, target: &[u8]) {
        let (path, query) = match memchr::memchr(b'?', target) {
            Some(at) => (&target[..at], Some(Bytes::copy_from_slice(&target[at + 1..]))),
            None => (target, None),
        };
        self.uri = path.to_vec();
        self.args = query;
    }

    /// How deep a sub-request it is; 0: none.
    pub(crate) fn depth(&self) -> u8 {
        if let Origin::Sub(depth) = self.origin { depth } else { 0 }
    }

    pub(crate) fn is_sub(&self) -> bool {
        self.depth() > 0
    }

    /// Whether its answer is a part of another's, also where that is made as if it were one of its own.
    pub(crate) fn is_part(&self) -> bool {
        self.is_sub() || self.slots.are_part() || self.main.is_some()
    }

    pub(crate) fn is_head(&self) -> bool {
        &*self.method == b"HEAD"
    }

    /// GET or HEAD, which Apache takes for the same method.
    pub(crate) fn is_get(&self) -> bool {
        matches!(&*self.method, b"GET" | b"HEAD")
    }

    /// The request that the client sent.
    pub(crate) fn original(&self) -> &Self {
        let mut request = self;
        while let Some(prev) = &request.prev {
            request = prev;
        }
        request
    }

    /// Sends fields ahead of the answer (RFC 8297), where the client's protocol knows such.
    pub(crate) fn early_hints(&self, fields: &[(Vec<u8>, Vec<u8>)]) {
        let early = self.early.as_ref().filter(|_| !self.is_part()).and_then(Weak::upgrade);
        let Some(early) = early else { return };
        let mut head = b"HTTP/1.1 103 Early Hints\r\n".to_vec();
        for (name, value) in fields {
            hostler_http1::response::field(&mut head, name, value);
        }
        head.extend_from_slice(b"\r\n");
        early.tell(&head);
    }

    /// The file's last path segment.
    pub(crate) fn basename(&self) -> &[u8] {
        let start = self.filename.iter().rposition(|&b| b == b'/').map_or(0, |n| n + 1);
        &self.filename[start..]
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.peer.tls.is_some() { "https" } else { "http" }
    }

    /// Notes in `Vary` that the answer depends on this request header.
    pub(crate) fn vary(&mut self, header: &[u8]) {
        let there = self.headers_out.all(b"Vary").any(|v| hostler_http1::framing::has_token(v, header));
        if !there {
            self.headers_out.merge("Vary", &Bytes::copy_from_slice(header));
        }
    }

    /// A value of the request's header as text, if it is there once.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers_in.find(name).map(|v| &**v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is moved and copied; whoever adds to it gives something up, or has a reason.
    #[test]
    fn a_request_does_not_grow() {
        assert!(size_of::<Request>() <= 1048, "{}", size_of::<Request>());
    }
}
