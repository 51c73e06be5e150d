//! URLs whose phases come to the same for every request.

use super::Way;
use crate::hook::plan::plan;
use crate::log::access_log;
use crate::request::connection::Peer;
use crate::request::looks::{Looks, looks};
use crate::request::{Origin, Request};
use crate::site::files::Site;
use crate::technique::head::Texts;
use hashbrown::HashMap;
use hostler_config::technique::Engine;
use hostler_http1::head::{HTTP_10, HTTP_11};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// URLs remembered per thread, and bytes of what clients have made of them; beyond this all are forgotten.
const MAX: usize = 4096;
const MAX_BYTES: usize = 4 << 20;

/// What is asked of whom.
pub(crate) struct Task {
    pub(crate) engine: &'static Engine,
    /// A process for each request.
    pub(crate) one_shot: bool,
    /// The number of the configuration, and the message that defines it.
    pub(crate) directory: (u32, Arc<[u8]>),
    pub(crate) texts: Texts,
    /// The handler's name, where it is not the request's own.
    pub(crate) handler: Option<&'static [u8]>,
}

/// What every request for a URL comes to before its handler.
pub(super) struct Remembered {
    pub(super) site: Rc<Site>,
    pub(super) epoch: u64,
    /// As the phases left it, without what is one client's alone.
    pub(super) request: Request,
    pub(super) task: Task,
    pub(super) way: Rc<dyn Way>,
    /// For the access log; `None`: nothing is logged.
    pub(super) facts: Option<access_log::Facts>,
}

#[derive(Default)]
struct Cache {
    known: HashMap<Box<[u8]>, Rc<Remembered>, foldhash::fast::RandomState>,
    /// Of paths and what they come to, which are as long as clients make them.
    bytes: usize,
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

pub(super) fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// Remembers what the phases before a worker's response have come to, if it would be the same for every `GET`.
pub(crate) fn remember(request: &Request, task: Task, way: Rc<dyn Way>) {
    let site = request.thread.site(&request.server);
    let Some(host) = request.target.headers_in.find("Host") else { return };
    if !is_same_for_all(request, task.engine) || site.epoch() != request.epoch {
        return;
    }
    let facts = if access_log::is_wanted(&request.thread, &request.server) {
        let Some(facts) = access_log::Facts::of(request) else { return };
        Some(facts)
    } else {
        None
    };
    let mut kept = request.clone();
    kept.target.headers_in.clear();
    kept.target.args = None;
    kept.slots.clear();
    // It is over: its site is not at it for as long as it is remembered.
    kept.busy = None;
    let remembered = Remembered { site, epoch: request.epoch, task, request: kept, way, facts };
    // The path stands in the key, in the request's line and target, and in what it maps to.
    let size = 8 * request.client.target.len() + host.len();
    CACHE.with_borrow_mut(|Cache { known, bytes, key }| {
        if known.len() >= MAX || *bytes + size > MAX_BYTES {
            known.clear();
            *bytes = 0;
        }
        *bytes += size;
        write_key(key, &request.client.peer, host, split(&request.client.target).0);
        known.insert(key.as_slice().into(), Rc::new(remembered));
    });
}

/// Whether nothing on the way to the handler has looked at more than host and path.
fn is_same_for_all(request: &Request, engine: &Engine) -> bool {
    let dir = &request.resource.dir;
    request.origin == Origin::Client
        && request.prev.is_none()
        && matches!(request.client.version, HTTP_10 | HTTP_11)
        && &*request.target.method == b"GET"
        && request.client.target.starts_with(b"/")
        && request.lasting
        && request.target.body.is_empty()
        && request.user.is_none()
        && request.reply.status == 200
        && request.reply.custom_responses.is_empty()
        && !crate::hook::filter::are_any(request)
        && request.reply.varies.borrow().is_empty()
        && dir.core.default_charset.is_none()
        && !dir.alias.is_set()
        && !dir.actions.is_set()
        && !dir.filter.is_set()
        && !(request.client.peer.tls.is_some() && dir.ssl.is_set())
        && !plan().another_has_say(engine.name, request)
        && looks(request) == Looks::Nothing
}

/// Whether nothing is remembered at all.
pub(super) fn is_empty() -> bool {
    CACHE.with_borrow(|cache| cache.known.is_empty())
}

/// What is remembered of a URL, if it still holds.
pub(super) fn find(peer: &Peer, host: &[u8], path: &[u8]) -> Option<Rc<Remembered>> {
    CACHE.with_borrow_mut(|Cache { known, key, .. }| {
        write_key(key, peer, host, path);
        let remembered = known.get(key.as_slice())?;
        if remembered.epoch != remembered.site.epoch() {
            known.remove(key.as_slice());
            return None;
        }
        Some(remembered.clone())
    })
}
