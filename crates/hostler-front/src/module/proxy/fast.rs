//! Another server on the fast path: one that is named by itself, over HTTP/1.1 without TLS, where nothing is done with its
//! answers. Where no connection to it is kept, and whatever else is out of the ordinary, the slow path is asked.

use super::containers;
use super::output::{Broken, Conversation};
use super::run;
use super::target::{Aim, Destination, Whose, query};
use super::upload::Upload;
use crate::hook::registry::Later;
use crate::io::body::Body;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::fast::{self, PlainAnswer, SocketAnswer, SocketWay};
use bytes::Bytes;
use hostler_config::directives::proxy::Via;
use hostler_gateway::backend::http::{Event, ServerAnswer};
use hostler_gateway::upstream::Exchange;
use hostler_http1::head::HTTP_11;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Remembers who answers for a URL.
pub(super) fn remember(request: &Request, aim: &Aim, whose: &Whose) {
    fast::remember_socket(request, "proxy", || {
        let Whose::One(to) = whose else { return None };
        if to.is_unknown || super::mounted(request).is_some() {
            return None;
        }
        let has_urls = super::answer::maps(&request.resource.dir.proxy);
        let path = aim.path_alone().to_vec();
        let conf = &request.server.conf.proxy;
        match &*to.url.scheme {
            "http" => {
                let may = matches!(conf.via.unwrap_or_default(), Via::Off | Via::Block)
                    && conf.max_forwards.is_none_or(|most| most < 0);
                may.then(|| {
                    Rc::new(Server { to: RefCell::new(to.clone()), path, has_urls }) as Rc<dyn SocketWay>
                })
            }
            "ajp" => containers::way(request, to, path, has_urls),
            _ => None,
        }
    });
}

/// Returns whether the slow path has something to do for the request: to cut a part out of the answer, to count how far
/// it has gone.
pub(super) fn is_odd(request: &Request) -> bool {
    ["Range", "Max-Forwards"].iter().any(|name| request.target.headers_in.contains(name))
}

/// A server that answers for a URL.
struct Server {
    /// With path and query of the request that it was asked last.
    to: RefCell<Destination>,
    path: Vec<u8>,
    /// Some fields of its answers may be told to the client in other words.
    has_urls: bool,
}

impl SocketWay for Server {
    fn ask(&self, request: &Request) -> Option<Box<dyn SocketAnswer>> {
        let mut to = self.to.borrow_mut();
        if is_odd(request) || run::is_initial(request) {
            return None;
        }
        to.path.clear();
        to.path.extend_from_slice(&self.path);
        query(request, &mut to.path).ok()?;
        let upstream = to.upstream.clone();
        if !upstream.is_usable() {
            return None;
        }
        let usage = upstream.try_enter()?;
        let connection = upstream.kept(None)?;
        let upload = Upload::nothing();
        let exchange = Exchange::begin(connection, &run::outgoing(request, &to, &upload, None));
        let conversation = Conversation::new(exchange, upload, (upstream, usage), None);
        Some(Box::new(Answer {
            conversation,
            head: None,
            pieces: SmallVec::new(),
            length: 0,
            other: None,
            has_urls: self.has_urls,
        }))
    }

    fn ends_with_client(&self) -> bool {
        true
    }

    fn respond_slowly<'a>(&self, request: &'a mut Request) -> Later<'a, Result<Body, Halt>> {
        Box::pin(run::handle(request))
    }
}

/// A server's answer, as far as it has come.
struct Answer {
    conversation: Conversation,
    head: Option<ServerAnswer>,
    pieces: SmallVec<[Bytes; 2]>,
    /// Of those, in bytes.
    length: usize,
    /// The last message, if it is not handled here.
    other: Option<Result<Event, Broken>>,
    has_urls: bool,
}

impl SocketAnswer for Answer {
    fn poll_whole(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        loop {
            let event = match self.conversation.poll_event(context) {
                // What has come is passed on before more is waited for.
                Poll::Pending if self.head.is_some() => return Poll::Ready(false),
                polled => ready!(polled),
            };
            match event {
                Ok(Event::Head(said)) if self.head.is_none() && said.head.status == 200 => {
                    self.head = Some(said);
                }
                Ok(Event::Body(piece)) if self.length <= run::WHOLE && self.pieces.len() < fast::MOST => {
                    self.length += piece.len();
                    self.pieces.push(piece);
                }
                other => {
                    let is_whole = matches!(&other, Ok(Event::End));
                    self.other = Some(other);
                    return Poll::Ready(is_whole);
                }
            }
        }
    }

    fn plain(&self) -> Option<PlainAnswer<'_>> {
        let said = self.head.as_ref()?;
        let is_ok = said.head.reason.of(&said.bytes) == b"OK";
        let mut plain = PlainAnswer::default();
        for (name, value) in &said.head.fields {
            let (name, value) = (name.of(&said.bytes), value.of(&said.bytes));
            if name.eq_ignore_ascii_case(b"connection") {
                // Others are names of fields.
                let is_plain =
                    [&b"keep-alive"[..], b"close"].iter().any(|word| value.eq_ignore_ascii_case(word));
                is_plain.then_some(())?;
            } else if (self.has_urls && super::answer::is_mapped(name)) || value.contains(&b'\n') {
                return None;
            } else if !super::answer::is_of_connection(name) {
                plain.add(name, value)?;
            }
        }
        plain.body = match &self.pieces[..] {
            [] => Bytes::new(),
            [only] => only.clone(),
            pieces => pieces.concat().into(),
        };
        (is_ok && said.head.version <= HTTP_11).then_some(plain)
    }

    fn end(self: Box<Self>) {
        self.conversation.end();
    }

    fn go_on(self: Box<Self>, request: &mut Request) -> Later<'_, Result<Body, Halt>> {
        let Self { mut conversation, head, pieces, other, .. } = *self;
        let events = head.map(Event::Head).into_iter().chain(pieces.into_iter().map(Event::Body));
        conversation.take_back(events.map(Ok).chain(other));
        Box::pin(run::go_on(request, conversation))
    }
}
