//! The memory of URLs whose way through the phases is known, and depends on nothing that differs between clients. What is
//! remembered was made by the whole way, and holds while the site's epoch does.
//!
//! Whether something may be remembered is decided here ([`is_same_for_all`]), by what modules have noted that they look at
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

/// How requests for a URL are answered.
pub(crate) enum How {
    /// From memory.
    Stored(Answers),
    /// By a worker; how it is asked is its technique's business.
    Worker(Rc<dyn Any>),
    /// By a handler that sees each request itself; this is one, as the phases before the handler left it.
    Handler(Rc<Request>),
}

/// A URL.
pub(crate) struct KnownUrl {
    pub(crate) site: Rc<Site>,
    epoch: u64,
    pub(crate) server: Arc<Server>,
    pub(crate) how: How,
    /// Keeps the address in the key taken.
    _hosts: Arc<AddressHosts>,
    size: usize,
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

/// What a request's fields say that matters to what is remembered.
pub(crate) struct Asked<'a> {
    pub(crate) host: &'a [u8],
    pub(crate) wish: KeepAlive,
    /// Accept-Encoding.
    pub(crate) codings: Option<&'a [u8]>,
    pub(crate) agent: &'a [u8],
    /// It asks for the whole answer, whatever it has already, and in nobody's name.
    pub(crate) is_plain: bool,
}

impl<'a> Asked<'a> {
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

/// Path and query of a request's target.
pub(crate) fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// Address, class of client, name of the handshake, host and path; none of the latter has a space.
fn write_key(key: &mut Vec<u8>, peer: &Peer, class: u16, host: &[u8], path: &[u8]) {
    key.clear();
    key.extend_from_slice(&(Arc::as_ptr(&peer.hosts) as usize).to_ne_bytes());
    key.extend_from_slice(&class.to_ne_bytes());
    // What was right for a handshake for one name need not be for another (421 Misdirected Request).
    if let Some(name) = peer.tls.as_ref().and_then(|tls| tls.server_name.as_deref()) {
        key.extend_from_slice(name.as_bytes());
    }
    key.push(b' ');
    key.extend_from_slice(host);
    key.push(b' ');
    key.extend_from_slice(path);
}

/// What is remembered of a request's URL, if it still holds.
pub(crate) fn find<'a>(
    thread: &Thread,
    peer: &Peer,
    head: &Head,
    buffer: &'a [u8],
) -> Option<(Rc<KnownUrl>, Asked<'a>)> {
    let urls = thread.of::<RefCell<UrlCache>>();
    let mut urls = urls.borrow_mut();
    let is_candidate = !urls.known.is_empty()
        && matches!(head.version, HTTP_10 | HTTP_11)
        && head.method.of(buffer) == b"GET"
        && !thread.draining();
    if !is_candidate {
        return None;
    }
    let asked = Asked::of(head, buffer)?;
    let class = agents::class(thread, asked.agent)?;
    Some((urls.find(peer, class, asked.host, split(head.target.of(buffer)).0)?, asked))
}

/// Remembers how requests for this one's URL are answered; `size`: of it, in bytes.
pub(crate) fn remember(request: &Request, how: How, size: usize) {
    let (thread, peer) = (&request.thread, &request.client.peer);
    let Some(host) = request.target.headers_in.find("Host") else { return };
    let Some(class) = class(request) else { return };
    let site = thread.site(&request.server);
    let epoch = site.epoch();
    if !request.holds_for(&site, epoch) {
        return;
    }
    let path = split(&request.client.target).0;
    let url = KnownUrl {
        site,
        epoch,
        server: request.server.clone(),
        how,
        _hosts: peer.hosts.clone(),
        size: size + host.len() + path.len() + size_of::<KnownUrl>(),
    };
    thread.of::<RefCell<UrlCache>>().borrow_mut().insert(peer, class, host, path, url);
}

/// Whether how requests for this one's URL are answered is known.
pub(crate) fn is_known(request: &Request) -> bool {
    let (thread, peer) = (&request.thread, &request.client.peer);
    let Some((host, class)) = request.target.headers_in.find("Host").zip(class(request)) else {
        return false;
    };
    let path = split(&request.client.target).0;
    thread.of::<RefCell<UrlCache>>().borrow_mut().find(peer, class, host, path).is_some()
}

/// The class of the request's client.
fn class(request: &Request) -> Option<u16> {
    agents::class(&request.thread, request.header("User-Agent").unwrap_or_default())
}

/// The request as it is kept for others: as the phases left it, without what is its client's alone.
pub(crate) fn kept(request: &Request) -> Request {
    let mut kept = request.clone();
    kept.target.headers_in.clear();
    kept.target.repeated_in.clear();
    kept.target.args = None;
    // It is over: its site is not at it for as long as it is remembered.
    kept.busy = None;
    kept
}

impl UrlCache {
    fn find(&mut self, peer: &Peer, class: u16, host: &[u8], path: &[u8]) -> Option<Rc<KnownUrl>> {
        write_key(&mut self.key, peer, class, host, path);
        let url = self.known.get(self.key.as_slice())?;
        if url.epoch == url.site.epoch() {
            return Some(url.clone());
        }
        let gone = self.known.remove(self.key.as_slice())?;
        self.forget(&gone);
        None
    }

    fn insert(&mut self, peer: &Peer, class: u16, host: &[u8], path: &[u8], mut url: KnownUrl) {
        if self.known.len() >= MOST || self.bytes >= MOST_BYTES {
            self.make_room();
        }
        write_key(&mut self.key, peer, class, host, path);
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

/// Whether every `GET` for the request's URL comes to the same before its handler and after it, though clients differ in
/// `these`; `but`: the module whose program answers, and sees each request itself.
pub(crate) fn is_same_for_all(request: &Request, these: Looks, but: &str) -> bool {
    is_alike(request, these) && !plan().another_has_say(but, request)
}

/// The same before its handler alone, whoever asks.
pub(crate) fn is_same_before_handler(request: &Request, but: &str) -> bool {
    is_alike(request, Looks::NOTHING) && !plan().another_has_say_before_handler(but, request)
}

fn is_alike(request: &Request, these: Looks) -> bool {
    request.origin == Origin::Client
        && request.prev.is_none()
        && matches!(request.client.version, HTTP_10 | HTTP_11)
        && &*request.target.method == b"GET"
        && request.client.target.starts_with(b"/")
        && request.lasting
        && request.looks.are_among(these)
        && request.user.is_none()
}

#[cfg(test)]
mod tests;
