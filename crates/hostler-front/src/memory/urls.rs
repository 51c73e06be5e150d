//! The memory of URLs whose way through the phases is known, and depends on nothing that differs between clients. What is
//! remembered was made by the whole way, and holds while the site's epoch does.
//!
//! Where rules look at the query or the browser, or have led the request to another URL, requests for a path are told apart by
//! these: under the path stands by what ([`Apart`]), and each of them has an entry of its own.
//!
//! The decision that something may be remembered falls here ([`is_same_for_all`]), by what modules have noted that they look at
//! ([`crate::request::looks`]), and by what they have a say in; nobody keeps a list of modules.

use super::agents;
use super::answers::Answers;
use crate::hook::plan::plan;
use crate::request::connection::Peer;
use crate::request::looks::Looks;
use crate::request::thread::Thread;
use crate::request::vhost::AddressHosts;
use crate::request::{Origin, Request};
use crate::site::files::Site;
use crate::values::text::split;
use hashbrown::HashMap;
use hostler_config::Server;
use hostler_http1::framing::KeepAlive;
use hostler_http1::head::{HTTP_10, HTTP_11, Head};
use hostler_wire::plan::SiteId;
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// URLs remembered by a thread, and their bytes: answers may outlive the files that they were made of. Where there is no
/// more room, the sites that have most forget theirs: clients of one that ask for ever new URLs take nothing from others.
const MOST: usize = 16_384;
const MOST_BYTES: usize = 64 << 20;

/// This part of it is given up at once.
const PART: usize = 8;

/// The way to answer requests for a URL.
pub(crate) enum How {
    /// From memory.
    Stored(Answers),
    /// By a worker; how it is asked is its technique's business.
    Worker(Rc<dyn Any>),
    /// By a handler that sees each request itself; this is one, as the phases before the handler left it.
    Handler(Rc<Request>),
    /// It depends on more than host and path: entries of their own say how.
    Apart(Apart),
}

/// The properties that distinguish requests for one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Apart {
    /// The request's line.
    line: bool,
    /// `User-Agent`.
    agent: bool,
}

impl Apart {
    /// Returns the properties that distinguish requests for this path.
    fn of(request: &Request, how: &How) -> Self {
        let looks = request.all_looks();
        let has_query = split(&request.client.target).1.is_some();
        Self {
            line: looks.have(Looks::LINE)
                || request.prev.is_some()
                || (has_query && matches!(how, How::Stored(_))),
            agent: looks.have(Looks::AGENT),
        }
    }

    const fn and(self, other: Self) -> Self {
        Self { line: self.line || other.line, agent: self.agent || other.agent }
    }

    fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Returns the memory's key of a request.
#[derive(Clone, Copy)]
struct Key<'a> {
    peer: &'a Peer,
    /// Of its browser, where rules of BrowserMatch tell them apart.
    class: u16,
    host: &'a [u8],
    path: &'a [u8],
    line: &'a [u8],
    agent: &'a [u8],
}

/// A URL.
pub(crate) struct KnownUrl {
    pub(crate) site: Rc<Site>,
    epoch: u64,
    pub(crate) server: Arc<Server>,
    pub(crate) how: How,
    /// The properties that distinguish the entry from others of its path.
    apart: Apart,
    /// Keeps the address in the key taken.
    _hosts: Arc<AddressHosts>,
    size: usize,
}

impl KnownUrl {
    /// Returns whether all requests that it is for have the same query.
    pub(crate) fn has_query(&self) -> bool {
        self.apart.line
    }
}

/// A thread's memory.
#[derive(Default)]
pub(crate) struct UrlCache {
    known: HashMap<Box<[u8]>, Rc<KnownUrl>, foldhash::fast::RandomState>,
    /// Of all that is known.
    bytes: usize,
    /// URLs and bytes of each site.
    sites: HashMap<SiteId, (usize, usize)>,
    /// Space to put keys together in.
    key: Vec<u8>,
}

/// The values of a request's fields that matter to the memory.
pub(crate) struct FieldFacts<'a> {
    pub(crate) host: &'a [u8],
    pub(crate) wish: KeepAlive,
    /// Accept-Encoding.
    pub(crate) codings: Option<&'a [u8]>,
    pub(crate) agent: &'a [u8],
    /// It asks for the whole answer, whatever it has already, and in nobody's name.
    pub(crate) is_plain: bool,
}

impl<'a> FieldFacts<'a> {
    /// `None`: some field needs the whole way.
    pub(super) fn of(head: &Head, buffer: &'a [u8]) -> Option<Self> {
        let (mut host, mut connection, mut codings, mut agent) = (None, None, None, None);
        let mut is_plain = true;
        for field in &head.fields {
            let name = field.name.of(buffer);
            let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
            let known = match name.len() {
                4 if is(b"host") => &mut host,
                10 if is(b"connection") => &mut connection,
                10 if is(b"user-agent") => &mut agent,
                15 if is(b"accept-encoding") => &mut codings,
                6 if is(b"expect") => return None,
                7 if is(b"upgrade") => return None,
                14 if is(b"content-length") => return None,
                17 if is(b"transfer-encoding") => return None,
                length => {
                    // If-Modified-Since and its kin, too.
                    is_plain &= !match length {
                        5 => is(b"range"),
                        13 if is(b"authorization") => true,
                        8.. => name[..3].eq_ignore_ascii_case(b"if-"),
                        _ => false,
                    };
                    continue;
                }
            };
            if field.folded || known.replace(field.value.of(buffer)).is_some() {
                return None;
            }
        }
        let wish = KeepAlive::of_field(head.version, connection)?;
        Some(Self { host: host?, wish, codings, agent: agent.unwrap_or_default(), is_plain })
    }
}

impl Key<'_> {
    /// Address, class of client, name of the handshake, host and path, of which the latter two have no space; what it is told
    /// apart by, with the length of what has spaces.
    fn write(&self, key: &mut Vec<u8>, apart: Apart) {
        key.clear();
        key.extend_from_slice(&(Arc::as_ptr(&self.peer.hosts) as usize).to_ne_bytes());
        key.extend_from_slice(&self.class.to_ne_bytes());
        // What was right for a handshake for one name need not be for another (421 Misdirected Request).
        if let Some(name) = self.peer.tls.as_ref().and_then(|tls| tls.server_name.as_deref()) {
            key.extend_from_slice(name.as_bytes());
        }
        key.push(b' ');
        key.extend_from_slice(self.host);
        key.push(b' ');
        key.extend_from_slice(self.path);
        for (is_part, text) in [(apart.line, self.line), (apart.agent, self.agent)] {
            if is_part {
                key.push(b' ');
                key.extend_from_slice(&text.len().to_ne_bytes());
                key.extend_from_slice(text);
            } else if !apart.is_none() {
                key.extend_from_slice(b" -");
            }
        }
    }
}

/// Returns the entry of a request's URL, if it still holds.
pub(crate) fn find<'a>(
    thread: &Thread,
    peer: &Peer,
    head: &Head,
    buffer: &'a [u8],
) -> Option<(Rc<KnownUrl>, FieldFacts<'a>)> {
    let urls = thread.of::<RefCell<UrlCache>>();
    let mut urls = urls.borrow_mut();
    let is_candidate = !urls.known.is_empty()
        && matches!(head.version, HTTP_10 | HTTP_11)
        && head.method.of(buffer) == b"GET"
        && !thread.draining();
    if !is_candidate {
        return None;
    }
    let asked = FieldFacts::of(head, buffer)?;
    let key = Key {
        peer,
        class: agents::class(thread, asked.agent)?,
        host: asked.host,
        path: split(head.target.of(buffer)).0,
        line: head.line.of(buffer),
        agent: asked.agent,
    };
    Some((urls.find(&key)?, asked))
}

/// Remembers how requests for this one's URL are answered; `size`: of it, in bytes.
pub(crate) fn remember(request: &Request, how: How, size: usize) {
    let Some(key) = key(request) else { return };
    let site = request.thread.site(&request.server);
    let epoch = site.epoch();
    if !request.holds_for(&site, epoch) {
        return;
    }
    let urls = request.thread.of::<RefCell<UrlCache>>();
    let mut urls = urls.borrow_mut();
    let known = urls.apart(&key);
    let apart = Apart::of(request, &how).and(known);
    let entry = |how, apart, size| KnownUrl {
        site: site.clone(),
        epoch,
        server: request.server.clone(),
        how,
        apart,
        _hosts: request.client.peer.hosts.clone(),
        size: size + key.host.len() + key.path.len() + size_of::<KnownUrl>(),
    };
    if apart != known {
        urls.insert(&key, entry(How::Apart(apart), Apart::default(), 0));
    }
    let told_apart = if apart.is_none() { 0 } else { key.line.len() + key.agent.len() };
    urls.insert(&key, entry(how, apart, size + told_apart));
}

/// Returns the approximate size of a stored request, in bytes: with its tables, the requests it continues, and the
/// path, which occurs in its line and target, and in the path it maps to.
pub(crate) fn size(request: &Request) -> usize {
    const ONE: usize = 4096;
    request.chain().count() * (ONE + 8 * request.client.target.len())
}

/// Returns whether how requests for this one's URL are answered is known.
pub(crate) fn is_known(request: &Request) -> bool {
    let urls = request.thread.of::<RefCell<UrlCache>>();
    key(request).is_some_and(|key| urls.borrow_mut().find(&key).is_some())
}

/// Returns the memory's key of a request.
fn key(request: &Request) -> Option<Key<'_>> {
    let agent = request.header("User-Agent").unwrap_or_default();
    Some(Key {
        peer: &request.client.peer,
        class: agents::class(&request.thread, agent)?,
        host: request.target.headers_in.find("Host")?,
        path: split(&request.client.target).0,
        line: &request.client.line,
        agent,
    })
}

/// The request as it is kept for others: as the phases left it, without what is its client's alone.
pub(crate) fn kept(request: &Request) -> Request {
    let mut kept = request.clone();
    let mut next = Some(&mut kept);
    while let Some(request) = next {
        request.target.headers_in.clear();
        request.target.repeated_in.clear();
        // It is over: its site is not at it for as long as it is remembered.
        request.busy = None;
        next = request.prev.as_deref_mut();
    }
    kept
}

impl UrlCache {
    /// The entry that is for a request.
    fn find(&mut self, key: &Key<'_>) -> Option<Rc<KnownUrl>> {
        let url = self.entry(key, Apart::default())?;
        match url.how {
            How::Apart(apart) => self.entry(key, apart),
            _ => Some(url),
        }
    }

    /// Returns the properties that distinguish requests for a request's path, as far as known.
    fn apart(&mut self, key: &Key<'_>) -> Apart {
        match self.entry(key, Apart::default()).as_deref() {
            Some(KnownUrl { how: How::Apart(apart), .. }) => *apart,
            _ => Apart::default(),
        }
    }

    fn entry(&mut self, key: &Key<'_>, apart: Apart) -> Option<Rc<KnownUrl>> {
        key.write(&mut self.key, apart);
        let url = self.known.get(self.key.as_slice())?;
        if url.epoch == url.site.epoch() {
            return Some(url.clone());
        }
        let gone = self.known.remove(self.key.as_slice())?;
        self.forget(&gone);
        None
    }

    fn insert(&mut self, key: &Key<'_>, mut url: KnownUrl) {
        if self.known.len() >= MOST || self.bytes >= MOST_BYTES {
            self.make_room();
        }
        key.write(&mut self.key, url.apart);
        if let Some(before) = self.known.remove(self.key.as_slice()) {
            self.forget(&before);
            url.join(&before);
        }
        self.bytes += url.size;
        let site = self.sites.entry(url.site.id).or_default();
        *site = (site.0 + 1, site.1 + url.size);
        self.known.insert(self.key.as_slice().into(), Rc::new(url));
    }

    /// The sites that have most forget what they have, until enough is free.
    fn make_room(&mut self) {
        let mut sites: Vec<_> = self.sites.drain().collect();
        sites.sort_unstable_by_key(|(_, (urls, bytes))| urls * (MOST_BYTES / MOST) + bytes);
        let (mut urls, mut bytes) = (self.known.len(), self.bytes);
        while let Some((_, (most, large))) =
            sites.pop_if(|_| urls > MOST - MOST / PART || bytes > MOST_BYTES - MOST_BYTES / PART)
        {
            (urls, bytes) = (urls - most, bytes - large);
        }
        self.sites.extend(sites);
        // All at once: they may be very many.
        self.known.retain(|_, known| self.sites.contains_key(&known.site.id));
        self.bytes = bytes;
    }

    /// Counts one less.
    fn forget(&mut self, url: &KnownUrl) {
        self.bytes -= url.size;
        if let Some((urls, bytes)) = self.sites.get_mut(&url.site.id) {
            (*urls, *bytes) = (*urls - 1, *bytes - url.size);
        }
    }
}

impl KnownUrl {
    /// Takes over what holds as long as this does.
    fn join(&mut self, before: &Self) {
        if let (How::Stored(answers), How::Stored(known)) = (&mut self.how, &before.how)
            && self.epoch == before.epoch
            && Arc::ptr_eq(&self.server, &before.server)
        {
            self.size += answers.join(known);
        }
    }
}

/// Returns whether every `GET` for the request's URL comes to the same before its handler and after it, though clients
/// differ in `these`; `but`: the module whose program answers, and sees each request itself.
pub(crate) fn is_same_for_all(request: &Request, these: Looks, but: &str) -> bool {
    is_alike(request, these)
        && !plan().another_has_say(but, request)
        && request.chain().skip(1).all(|earlier| !plan().another_has_say("", earlier))
}

/// The same for a file's answer, which is kept as it was sent.
pub(crate) fn is_kept_for_all(request: &Request, these: Looks) -> bool {
    is_alike(request, these) && request.chain().all(|request| !plan().any_has_say_in_kept(request))
}

/// The same before its handler alone, whoever asks.
pub(crate) fn is_same_before_handler(request: &Request, but: &str) -> bool {
    is_alike(request, Looks::NOTHING)
        && !plan().another_has_say_before_handler(but, request)
        && request.chain().skip(1).all(|earlier| !plan().another_has_say_before_handler("", earlier))
}

/// `LINE` and `AGENT` are what entries are told apart by.
fn is_alike(request: &Request, these: Looks) -> bool {
    let is_alike = |request: &Request| {
        let origin = if request.prev.is_some() { Origin::Redirect } else { Origin::Client };
        request.origin == origin
            && &*request.target.method == b"GET"
            && request.lasting
            && request.user.is_none()
    };
    matches!(request.client.version, HTTP_10 | HTTP_11)
        && request.client.target.starts_with(b"/")
        && request.all_looks().are_among(these.and(Looks::LINE).and(Looks::AGENT))
        && request.chain().all(is_alike)
        && request.chain().skip(1).all(|earlier| earlier.is_led_on)
}

#[cfg(test)]
mod tests;
