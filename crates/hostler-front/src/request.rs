//! A request on its way through the phases; Apache's `request_rec` in what it knows.
//!
//! An internal redirect makes a new request that remembers the old one (`prev`); a sub-request (SSI include,
//! lookups) is a request that knows how deep it is.

use crate::body::RequestBody;
use crate::connection::Peer;
use crate::http1::head::{self, HTTP_09, Head, Version};
use crate::open_file::OpenFile;
use crate::table::Table;
use crate::thread::Thread;
use bytes::Bytes;
use hostler_config::{DirConfig, Server};
use hostler_wire::site::FileInfo;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// What a sub-request's answer does not depend on.
const CONDITIONS: [&str; 6] =
    ["If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Range"];

/// Fields about a body.
const BODY_FIELDS: [&str; 6] = [
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-Type",
    "Transfer-Encoding",
];

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
    pub(crate) budget: Rc<crate::budget::Budget>,
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
    /// How fast the answer is sent (`RATE_LIMIT`).
    pub(crate) rate: Option<crate::filter::rate::Rate>,
    /// It is counted among its site's requests that are being answered.
    pub(crate) busy: Option<Rc<crate::clients::Busy>>,
    /// What compression came to.
    pub(crate) compressed: Option<Rc<crate::filter::compress::Totals>>,

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
    /// `no_local_copy`: conditional requests are not answered 304.
    pub(crate) no_cache: bool,
    /// What workers have done for it.
    pub(crate) progress: crate::handler::worker::Progress,
    /// The worker that waits for this request's next trip.
    pub(crate) held: crate::handler::worker::Held,
    /// The conversation with a worker that it is a part of.
    pub(crate) within: Option<crate::handler::worker::Within>,
    /// The request that it is a part of, as far as a worker is to be told of it.
    pub(crate) main: Option<Rc<Request>>,
    /// The request that has gone on in its place and was answered, for what is done after that.
    pub(crate) next: Option<Rc<Request>>,
    /// Bytes of the answer's body, once it has been sent.
    pub(crate) sent: Option<u64>,
    /// Error answers that a program has set (`custom_response`), by status.
    pub(crate) custom_responses: Vec<(u16, Bytes)>,
    /// Changes that a worker tells while its answer is being sent.
    pub(crate) late: Option<crate::handler::worker::Late>,
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
        let mut headers_in = Table::with_capacity(head.fields.len());
        for field in &head.fields {
            let value: Bytes =
                if field.folded { head::unfold(field.value.of(buffer)).into() } else { slice(field.value) };
            // Several fields of a name are one list (RFC 9110 §5.3).
            headers_in.merge(slice(field.name), &value);
        }
        let mut request = Self::new(thread, peer);
        request.line = slice(head.line);
        request.method = slice(head.method);
        request.target = slice(head.target);
        request.version = head.version;
        if head.field(buffer, "transfer-encoding").is_some() {
            // The coding counts, whatever length came with it (RFC 9112 §6.3).
            headers_in.unset("Content-Length");
        }
        request.headers_in = headers_in;
        request.body = body;
        request
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
            rate: None,
            busy: None,
            compressed: None,
            status: 200,
            reason: None,
            body: RequestBody::Empty,
            prev: None,
            redirects: 0,
            varies: RefCell::default(),
            lasting: true,
            epoch: 0,
            no_cache: false,
            progress: crate::handler::worker::Progress::default(),
            held: crate::handler::worker::Held::default(),
            within: None,
            main: None,
            next: None,
            sent: None,
            custom_responses: Vec::new(),
            late: None,
        }
    }

    /// What lines of the error log need of it, and nothing else.
    pub(crate) fn for_log(&self) -> Self {
        let mut known = Self::new(&self.thread, &self.peer);
        known.server = self.server.clone();
        known.dir = self.dir.clone();
        known.number = self.number;
        known.received = self.received;
        known.line = self.line.clone();
        known.method = self.method.clone();
        known.uri.clone_from(&self.uri);
        known.filename.clone_from(&self.filename);
        known.hostname.clone_from(&self.hostname);
        known.host_port = self.host_port;
        if let Some(referer) = self.headers_in.find("Referer") {
            known.headers_in.set("Referer", referer.clone());
        }
        known
    }

    /// An internal redirect (RFC 3875 §6.2.2, ErrorDocument, Action): this request goes on as another, with
    /// `method`, and with the body only if that is the same. Environment variables get `REDIRECT_` before their name.
    pub(crate) fn redirected(self, method: Bytes, target: &[u8]) -> Self {
        if !self.is_part() {
            // What goes on may need a worker itself.
            self.held.release(&self);
        }
        let mut next = Self::new(&self.thread, &self.peer);
        next.carry_over(&self);
        next.origin = if let Origin::Sub(n) = self.origin { Origin::Sub(n) } else { Origin::Redirect };
        next.method = method;
        // An error's document is sent with the error's status.
        next.status = self.status;
        next.headers_in = self.headers_in.clone();
        // Action and FallbackResource hand a POST on as it is; all others ask anew, with GET.
        if next.method == self.method && !self.is_get() {
            next.body = self.body.clone();
        }
        next.err_headers_out = self.err_headers_out.clone();
        // What has led here depends on these fields, whatever comes of it.
        self.headers_out.all(b"Vary").for_each(|fields| next.headers_out.merge("Vary", fields));
        next.redirects = self.redirects + 1;
        next.within = self.within.as_ref().map(crate::handler::worker::Within::redirected);
        next.main.clone_from(&self.main);
        for (name, value) in self.env.iter() {
            let mut renamed = Vec::with_capacity(name.len() + 9);
            renamed.extend_from_slice(b"REDIRECT_");
            renamed.extend_from_slice(name);
            // Names that differ are different with a prefix, too.
            next.env.add(renamed, value.clone());
        }
        let status = crate::text::decimal(u64::from(self.status)).as_bytes().to_vec();
        next.env.set(Bytes::from_static(b"REDIRECT_STATUS"), status);
        next.set_local_target(target);
        next.prev = Some(Box::new(self));
        next
    }

    /// A request about a URL on this server, as part of this one's answer.
    pub(crate) fn sub(&self, target: &[u8]) -> Self {
        let mut next = Self::new(&self.thread, &self.peer);
        next.carry_over(self);
        next.origin = Origin::Sub(self.depth().saturating_add(1));
        next.method = Bytes::from_static(b"GET");
        next.headers_in = self.headers_in.clone();
        for name in CONDITIONS {
            next.headers_in.unset(name);
        }
        match self.body.again() {
            // A kept body belongs to sub-requests too, and has a length however it came.
            Some(body) => {
                let length = crate::text::decimal(body.len() as u64).as_bytes().to_vec();
                next.headers_in.set("Content-Length", length);
                next.body = RequestBody::kept(body);
            }
            None => BODY_FIELDS.iter().for_each(|name| next.headers_in.unset(*name)),
        }
        next.user.clone_from(&self.user);
        next.auth_type.clone_from(&self.auth_type);
        next.env = self.env.clone();
        next.redirects = self.redirects;
        next.held = self.held.clone();
        next.within = self.within.as_ref().map(crate::handler::worker::Within::sub);
        next.set_local_target(target);
        next
    }

    fn carry_over(&mut self, from: &Self) {
        self.server = from.server.clone();
        self.dir = from.server.defaults.clone();
        self.received = from.received;
        self.started = from.started;
        self.budget = from.budget.clone();
        self.number = from.number;
        self.line = from.line.clone();
        self.version = from.version;
        self.target = from.target.clone();
        self.hostname.clone_from(&from.hostname);
        self.host_port = from.host_port;
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
        self.is_sub() || self.within.as_ref().is_some_and(|within| within.is_part) || self.main.is_some()
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
        let there = self.headers_out.all(b"Vary").any(|v| crate::http1::framing::has_token(v, header));
        if !there {
            self.headers_out.merge("Vary", &Bytes::copy_from_slice(header));
        }
    }

    /// A value of the request's header as text, if it is there once.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers_in.find(name).map(|v| &**v)
    }
}
