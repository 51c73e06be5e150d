//! What every request for a URL comes to whose answer is a worker's.

use super::Way;
use crate::log::access_log;
use crate::memory::handlers;
use crate::memory::urls::{self, How};
use crate::request::Request;
use crate::request::looks::Looks;
use crate::technique::head::Texts;
use hostler_config::technique::Engine;
use std::rc::Rc;
use std::sync::Arc;

/// What is asked of whom.
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

/// What every request for a URL comes to before its handler.
pub(super) struct UrlRoute {
    /// As the phases left it, without what is one client's alone.
    pub(super) request: Request,
    pub(super) task: Task,
    pub(super) way: Rc<dyn Way>,
    /// Nothing has to be done with an answer on its way to the client, unless the worker says so.
    pub(super) is_plain: bool,
    /// For the access log; `None`: nothing is logged.
    pub(super) facts: Option<access_log::Facts>,
}

/// Remembers what the phases before a worker's response have come to, if it would be the same for every `GET`. Where modules
/// have a say in answers (`Header`, compression), these go through them.
pub(crate) fn remember(request: &Request, task: Task, way: Rc<dyn Way>) {
    let is_plain = is_same_for_all(request, task.engine);
    let is_same = || {
        way.goes_on_whole()
            && handlers::is_plain(request)
            && urls::is_same_before_handler(request, task.engine.name)
    };
    if !is_plain && !is_same() {
        return;
    }
    let facts = if access_log::is_wanted(&request.thread, &request.server) {
        let Some(facts) = access_log::Facts::of(request) else { return };
        Some(facts)
    } else {
        None
    };
    let mut kept = urls::kept(request);
    if is_plain {
        kept.slots.clear();
    }
    let size = urls::size(request);
    urls::remember(
        request,
        How::Worker(Rc::new(UrlRoute { task, request: kept, way, is_plain, facts })),
        size,
    );
}

/// Whether nothing on the way to the handler has looked at more than host and path, and nothing on the way back has
/// something to do that [`super::plain`] does not do.
fn is_same_for_all(request: &Request, engine: &Engine) -> bool {
    let dir = &request.resource.dir;
    request.target.body.is_empty()
        && request.reply.status == 200
        && request.reply.custom_responses.is_empty()
        && !crate::hook::filter::are_any(request)
        && request.reply.varies.borrow().is_empty()
        && dir.core.default_charset.is_none()
        && !dir.filter.is_set()
        && !(request.client.peer.tls.is_some() && dir.ssl.is_set())
        && urls::is_same_for_all(request, Looks::NOTHING, engine.name)
}
