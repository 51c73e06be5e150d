//! The reusable result of the phases before the handler, where it is the same for every request for a URL and the
//! handler sees each of them itself: other servers, programs at sockets. Such a request skips the phases, and nothing
//! else.

use crate::io::body::RequestBody;
use crate::memory::urls::{self, How};
use crate::request::Request;
use crate::request::connection::Peer;
use crate::request::reply::Marks;
use crate::request::thread::Thread;
use bytes::Bytes;
use hostler_http1::head::Head;
use std::rc::Rc;

/// Remembers what the phases have come to, if it would be the same for every `GET`. To be called by the handler of `module`
/// before it changes anything.
pub(crate) fn remember(request: &Request, module: &str) {
    // A request that was resumed comes here, too: the modules are asked last.
    if is_plain(request) && !urls::is_known(request) && urls::is_same_before_handler(request, module) {
        urls::remember(request, How::Handler(Rc::new(urls::kept(request))), urls::size(request));
    }
}

/// Returns whether the request has nothing of its own that a resumed one would not have.
pub(crate) fn is_plain(request: &Request) -> bool {
    let (reply, dir) = (&request.reply, &request.resource.dir);
    request.target.body.is_empty()
        && reply.status == 200
        && reply.custom_responses.is_empty()
        && reply.varies.borrow().is_empty()
        && reply.marks == Marks::default()
        && !(reply.no_cache || reply.is_uncacheable)
        && request.slots.hold()
        && !(request.client.peer.tls.is_some() && dir.ssl.is_set())
}

/// A client's request whose phases are known: `earlier` went through them.
pub(crate) fn resumed(
    thread: &Rc<Thread>,
    peer: &Rc<Peer>,
    (buffer, head): (&Bytes, &Head),
    (earlier, with_query): (&Request, bool),
) -> Request {
    let request = Request::from_http1(thread, peer, buffer, head, RequestBody::Empty);
    let mut request = request.resumed(earlier, with_query);
    request.slots = earlier.slots.clone();
    request
}
