//! URLs whose phases come to the same for every request.

use super::super::directory::Known;
use super::super::head::{Task, Texts};
use super::super::state::HasPerl;
use crate::hook::plan::plan;
use crate::log::access_log;
use crate::request::connection::Peer;
use crate::request::looks::{Looks, looks};
use crate::request::{Origin, Request};
use crate::site::files::Site;
use hashbrown::HashMap;
use hostler_config::directives::pool::Isolation;
use hostler_http1::head::{HTTP_10, HTTP_11};
use hostler_perl_frames::PhaseSet;
use std::cell::RefCell;
use std::rc::Rc;

/// URLs remembered per thread; beyond this all are forgotten.
const MAX: usize = 4096;

/// What every request for a URL comes to before its handler.
pub(in super::super) struct Remembered {
    pub(super) site: Rc<Site>,
    pub(super) epoch: u64,
    /// As the phases left it, without what is one client's alone.
    pub(super) request: Request,
    pub(super) texts: Texts,
    pub(super) known: Rc<Known>,
    pub(super) phases: PhaseSet,
    pub(super) isolation: Isolation,
    pub(super) handler: Option<&'static [u8]>,
    /// For the access log; `None`: nothing is logged.
    pub(super) facts: Option<access_log::Facts>,
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

pub(super) fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// Remembers what the phases before a worker's response have come to, if it would be the same for every `GET`.
pub(in super::super) fn remember(
    request: &Request,
    known: &Rc<Known>,
    task: &Task<'_>,
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
    kept.slots.clear();
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
        && !request.progress().asked
        && matches!(request.version, HTTP_10 | HTTP_11)
        && &*request.method == b"GET"
        && request.target.starts_with(b"/")
        && request.lasting
        && request.body.is_empty()
        && request.user.is_none()
        && request.status == 200
        && request.custom_responses.is_empty()
        && request.filters.is_empty()
        && request.varies.borrow().is_empty()
        && dir.core.default_charset.is_none()
        && !dir.alias.is_set()
        && !dir.actions.is_set()
        && !dir.filter.is_set()
        && !(request.peer.tls.is_some() && dir.ssl.is_set())
        && server.perl.handlers.is_empty()
        && !plan().another_has_say("perl", request)
        && looks(request) == Looks::Nothing
}

/// Whether nothing is remembered at all.
pub(super) fn is_empty() -> bool {
    CACHE.with_borrow(|cache| cache.known.is_empty())
}

/// What is remembered of a URL, if it still holds.
pub(super) fn find(peer: &Peer, host: &[u8], path: &[u8]) -> Option<Rc<Remembered>> {
    CACHE.with_borrow_mut(|Cache { known, key }| {
        write_key(key, peer, host, path);
        let remembered = known.get(key.as_slice())?;
        if remembered.epoch != remembered.site.epoch() {
            known.remove(key.as_slice());
            return None;
        }
        Some(remembered.clone())
    })
}
