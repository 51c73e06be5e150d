//! The reusable result for all requests of a URL that a worker answers.

use super::Way;
use super::socket::SocketWay;
use crate::log::access_log;
use crate::memory::handlers;
use crate::memory::urls::{self, How};
use crate::request::Request;
use crate::request::looks::Looks;
use crate::technique::head::Texts;
use hostler_config::technique::Engine;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A request to a worker or server.
pub(crate) struct Task {
    pub(crate) engine: &'static Engine,
    /// A process for each request.
    pub(crate) one_shot: bool,
    /// The group, if the engine's programs are divided.
    pub(crate) group: Option<Arc<str>>,
    /// The number of the configuration, and the message that defines it.
    pub(crate) directory: (u32, Arc<[u8]>),
    pub(crate) texts: Texts,
    /// The handler's name, where it is not the request's own.
    pub(crate) handler: Option<&'static [u8]>,
}

/// The source of the response.
pub(super) enum Route {
    Worker(Box<Task>, Rc<dyn Way>),
    /// A program at a socket, or another server; with the request that stands in for those that it is asked.
    Socket(Rc<dyn SocketWay>, Box<RefCell<Request>>),
}

/// The reusable result of a URL's phases before its handler.
pub(super) struct UrlRoute {
    /// As the phases left it, without what is one client's alone.
    pub(super) request: Request,
    pub(super) route: Route,
    /// Nothing has to be done with an answer on its way to the client, unless the worker says so.
    pub(super) is_plain: bool,
    /// For the access log; `None`: nothing is logged.
    pub(super) facts: Option<access_log::Facts>,
}

/// Remembers what the phases before a worker's response have come to, if it would be the same for every `GET`. Where modules
/// have a say in answers (`Header`, compression), these go through them.
pub(crate) fn remember(request: &Request, task: Task, way: Rc<dyn Way>) {
    let has_fields = request.reply.headers_out.len() + request.reply.err_headers_out.len() > 0;
    let is_plain = (way.returns_fields() || !has_fields) && is_same_for_all(request, task.engine.name);
    let is_same = || {
        way.goes_on_whole()
            && handlers::is_plain(request)
            && urls::is_same_before_handler(request, task.engine.name)
    };
    if !is_plain && !is_same() {
        return;
    }
    let Some(facts) = facts(request) else { return };
    let mut kept = urls::kept(request);
    if is_plain {
        kept.slots.clear();
    }
    let route = Route::Worker(Box::new(task), way);
    let how = How::Worker(Rc::new(UrlRoute { route, request: kept, is_plain, facts }));
    urls::remember(request, how, urls::size(request));
}

/// The same of an answer that a program at a socket or another server gives, to be called by the handler of `module` before it
/// changes anything; `way` is made if it is wanted, and may be missing. What the fast path is not for is remembered up to the
/// handler ([`handlers`]).
pub(crate) fn remember_socket(
    request: &Request,
    module: &str,
    way: impl FnOnce() -> Option<Rc<dyn SocketWay>>,
) {
    // A request that was resumed comes here, too: the modules are asked last.
    if !handlers::is_plain(request) || urls::is_known(request) {
        return;
    }
    let remembered = || {
        let may = request.prev.is_none()
            && has_no_answer_yet(request)
            && is_same_for_all(request, module)
            && urls::is_same_before_handler(request, module);
        let facts = if may { facts(request)? } else { return None };
        let route = Route::Socket(way()?, Box::new(RefCell::new(urls::kept(request))));
        Some(UrlRoute { route, request: urls::kept(request), is_plain: true, facts })
    };
    match remembered() {
        Some(known) => urls::remember(request, How::Worker(Rc::new(known)), 2 * urls::size(request)),
        None => handlers::remember(request, module),
    }
}

/// Returns whether the phases have put nothing into its answer.
fn has_no_answer_yet(request: &Request) -> bool {
    let ends = |name: &str| request.notes.contains(name) || request.env.contains(name);
    request.reply.headers_out.len() == 0
        && request.reply.err_headers_out.len() == 0
        && request.resource.content_encoding.is_none()
        && request.resource.content_languages.is_empty()
        && !ends("nokeepalive")
}

/// For the access log, if there is one; `None`: it is to be told more than is known here.
fn facts(request: &Request) -> Option<Option<access_log::Facts>> {
    if !access_log::is_wanted(&request.thread, &request.server) {
        return Some(None);
    }
    access_log::Facts::of(request).map(Some)
}

/// Returns whether nothing on the way to the handler has looked at more than host and path, and nothing on the way back
/// has something to do that [`super::plain`] does not do.
fn is_same_for_all(request: &Request, module: &str) -> bool {
    let dir = &request.resource.dir;
    request.target.body.is_empty()
        && request.reply.status == 200
        && request.reply.custom_responses.is_empty()
        && !crate::hook::filter::are_any(request)
        && request.reply.varies.borrow().is_empty()
        && dir.core.default_charset.is_none()
        && !dir.filter.is_set()
        && !(request.client.peer.tls.is_some() && dir.ssl.is_set())
        && urls::is_same_for_all(request, Looks::NOTHING, module)
}
