//! A connection's life: wait for a head, answer it, and again.
//!
//! An idle connection owns no buffer: bytes are read into the thread's scratch space and only what is incomplete
//! or belongs to a later request is kept.

use super::incoming::{Incoming, discard};
use super::send;
use super::send::Outgoing;
use super::tunnel;
use super::wire::Wire;
use crate::hook::alone;
use crate::hook::reply::Reply;
use crate::hook::serve;
use crate::io::body::{Body, RequestBody};
use crate::io::early::Early;
use crate::io::scratch::with_scratch;
use crate::io::sent::Delivery;
use crate::io::sent::SendError;
use crate::io::stream::Io;
use crate::memory::answers::{self, Fast};
use crate::memory::handlers;
use crate::memory::urls::{self, How, KnownUrl};
use crate::request::Request;
use crate::request::connection::Peer;
use crate::request::thread::Thread;
use crate::request::trailers::Trailers;
use crate::technique::fast::{self, FastRequest};
use bytes::Bytes;
use hostler_gateway::{Error, Kind};
use hostler_http1::framing::{After, Framing, KeepAlive, has_token};
use hostler_http1::head::{self, Head, HeadError, Limits};
use hostler_http1::response::Connection;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

/// The event on an idle connection.
enum Next {
    /// Answered on the spot.
    Answered(Fast),
    /// Given on the spot to who answers.
    Begun(Box<FastRequest>),
    /// A head for the whole way, or for the handler, if it is known what the phases before that come to.
    Head(Bytes, Head, Option<Rc<KnownUrl>>),
    Bad(HeadError, Bytes),
    /// Its address asks too often; when it may again.
    TooMany(Bytes, Duration),
    /// End of the connection (`true`: in the middle of a head, by timeout).
    Closed(bool),
}

/// Serves a connection until its end.
pub(crate) async fn serve(thread: Rc<Thread>, io: Io, peer: Rc<Peer>) {
    let limits = peer.limits;
    let wire = Rc::new(Wire::new(io, peer.settings.timeout, peer.remote.ip().into()));
    let mut first = true;
    loop {
        let wait = if first {
            peer.settings.header.longest(peer.settings.timeout).min(peer.settings.timeout)
        } else {
            peer.settings.keep_alive_timeout
        };
        let after = match next(&thread, &wire, &peer, &limits, wait).await {
            Next::Answered(fast) => {
                let whole = wire.write(&[&fast.out, &fast.body]).await.is_ok();
                answers::log(&thread, &peer, &fast, whole);
                if !whole {
                    return;
                }
                fast.after
            }
            Next::Begun(begun) => worker(&thread, &wire, &peer, begun).await,
            Next::Head(buffer, head, known) => {
                Box::pin(answer(&thread, &wire, &peer, (buffer, head), known)).await
            }
            Next::Bad(error, buffer) => {
                Box::pin(refuse(&thread, &wire, &peer, error.status(), &error.to_string(), buffer)).await;
                After::Linger
            }
            Next::TooMany(buffer, wait) => {
                let reply = serve::too_many(&thread, &peer, wait, &buffer);
                Box::pin(turn_away(&thread, &wire, reply, buffer.len())).await;
                After::Linger
            }
            Next::Closed(false) => return,
            Next::Closed(true) => {
                Box::pin(refuse(&thread, &wire, &peer, 408, "the request head took too long", Bytes::new()))
                    .await;
                After::Linger
            }
        };
        first = false;
        peer.requests.set(peer.requests.get() + 1);
        let upgraded = wire.tunnel.take();
        if let Some(upgraded) = upgraded {
            Box::pin(tunnel::run(&thread, &wire, upgraded)).await;
            break;
        }
        match after {
            After::Stay => {}
            // A close with unread bytes would reset the connection; TLS has its own last words.
            After::Close if !wire.io.borrow().is_tls() && wire.pending.borrow().is_empty() => return,
            After::Close | After::Linger => break,
        }
    }
    linger(&wire).await;
}

/// Waits for the next head.
async fn next(thread: &Rc<Thread>, wire: &Wire, peer: &Rc<Peer>, limits: &Limits, wait: Duration) -> Next {
    let mut partial = !wire.pending.borrow().is_empty();
    let mut look = partial;
    let mut known = head::Partial::default();
    let started = Cell::new(Instant::now());
    // A head has its time as a whole, and each silence in it has `Timeout`.
    let silence = || Instant::now() + peer.settings.timeout;
    let due = |received: usize| peer.settings.header.due(started.get(), received as u64, silence());
    let allow = |received: usize| wire.deadline.set_at(due(received));
    if partial {
        allow(0);
    } else {
        wire.deadline.set(wait);
    }
    wire.deadline.silent(peer.requests.get() > 0);
    let next = poll_fn(|cx| {
        loop {
            if std::mem::take(&mut look) {
                let pending = std::mem::take(&mut *wire.pending.borrow_mut());
                if let Some(next) = examine(thread, wire, peer, limits, (&mut known, &pending)) {
                    return Poll::Ready(next);
                }
                *wire.pending.borrow_mut() = pending;
            }
            let next = with_scratch(|scratch| {
                let n = match ready!(wire.io.borrow_mut().poll_read(cx, scratch)) {
                    Ok(0) if known.has_begun() => return Poll::Ready(Some(cut(wire))),
                    Ok(0) | Err(_) => return Poll::Ready(Some(Next::Closed(false))),
                    Ok(n) => n,
                };
                let all = (&mut known, &scratch[..n]);
                if !partial && let Some(next) = examine(thread, wire, peer, limits, all) {
                    return Poll::Ready(Some(next));
                }
                wire.pending.borrow_mut().extend_from_slice(&scratch[..n]);
                Poll::Ready(None)
            });
            let next = match next {
                Poll::Ready(next) => next,
                // Whatever has come by then counts, however late we get to read it.
                Poll::Pending if wire.poll_expired(cx) => {
                    return Poll::Ready(Next::Closed(partial && !wire.deadline.is_closed()));
                }
                Poll::Pending => return Poll::Pending,
            };
            if let Some(next) = next {
                return Poll::Ready(next);
            }
            look = std::mem::replace(&mut partial, true);
            if !look {
                started.set(Instant::now());
            }
            allow(wire.pending.borrow().len());
        }
    })
    .await;
    wire.deadline.active();
    next
}

/// The client sends no more, in the middle of a head: it may still read that this is too little.
fn cut(wire: &Wire) -> Next {
    let line = wire.pending.borrow();
    Next::Bad(HeadError::Cut, Bytes::copy_from_slice(&line[..line.len().min(256)]))
}

/// A head at the start of `buffer`, answered at once if that can be; what follows it goes to `pending`. `known`: what
/// has been read of it before.
fn examine(
    thread: &Rc<Thread>,
    wire: &Wire,
    peer: &Rc<Peer>,
    limits: &Limits,
    (known, buffer): (&mut head::Partial, &[u8]),
) -> Option<Next> {
    let next = match known.parse(buffer, limits) {
        Ok(None) => return None,
        Err(error) => {
            return Some(Next::Bad(error, Bytes::copy_from_slice(&buffer[..buffer.len().min(256)])));
        }
        Ok(Some(head)) => {
            wire.pending.borrow_mut().extend_from_slice(&buffer[head.length..]);
            if let Err(wait) = thread.shared.clients.may_ask(peer.remote.ip()) {
                Next::TooMany(Bytes::copy_from_slice(&buffer[..head.length]), wait)
            } else if let Some(next) = known_already(thread, peer, &head, buffer) {
                next
            } else {
                Next::Head(Bytes::copy_from_slice(&buffer[..head.length]), head, None)
            }
        }
    };
    Some(next)
}

/// Answers at once, or asks at once who answers, where the URL is known.
fn known_already(thread: &Rc<Thread>, peer: &Rc<Peer>, head: &Head, buffer: &[u8]) -> Option<Next> {
    let (url, asked) = urls::find(thread, peer, head, buffer)?;
    match &url.how {
        How::Stored(_) => answers::answer(thread, peer, (head, buffer), &url, &asked).map(Next::Answered),
        How::Worker(_) => {
            fast::begin(thread, peer, (head, buffer), &url, &asked).map(|begun| Next::Begun(Box::new(begun)))
        }
        How::Handler(_) => {
            let buffer = Bytes::copy_from_slice(&buffer[..head.length]);
            Some(Next::Head(buffer, head.clone(), Some(url.clone())))
        }
        How::Apart(_) => None,
    }
}

/// Answers a request by the whole way of phases, or what is left of it where they are known.
async fn answer(
    thread: &Rc<Thread>,
    wire: &Rc<Wire>,
    peer: &Rc<Peer>,
    (buffer, head): (Bytes, Head),
    known: Option<Rc<KnownUrl>>,
) -> After {
    let (framing, both) = match hostler_http1::framing::framing(&head, &buffer) {
        Ok(framing) => framing,
        Err(error) => {
            Box::pin(refuse(thread, wire, peer, error.status(), &error.to_string(), buffer)).await;
            return After::Linger;
        }
    };
    let expect = head.field(&buffer, "expect").is_some_and(|v| v.eq_ignore_ascii_case(b"100-continue"))
        && head.version >= head::HTTP_11;
    let behind: Rc<Trailers> = Rc::default();
    let incoming = Rc::new(RefCell::new(Incoming::new(wire, framing, expect, (peer, &behind))));
    let body =
        if framing == Framing::None { RequestBody::Empty } else { RequestBody::Incoming(incoming.clone()) };
    let wish = hostler_http1::framing::keep_alive(&head, &buffer);
    let (request, is_resumed) = match known.as_deref().map(|url| (&url.how, url.has_query())) {
        Some((How::Handler(earlier), with_query)) => {
            (handlers::resumed(thread, peer, (&buffer, &head), (earlier, with_query)), true)
        }
        _ => (Request::from_http1(thread, peer, &buffer, &head, body), false),
    };
    let mut request = Box::new(request);
    request.client.trailers = behind;
    let trailers = takes_trailers(&head, &buffer);
    request.reply.early = early(&head, wire);
    wire.watch.start(head.version < head::HTTP_10 || framing != Framing::None);
    let budget = request.budget.clone();
    let mut serving = pin!(async {
        match is_resumed {
            true => Box::pin(serve::serve_handler(request)).await,
            false => Box::pin(serve::serve(thread, request)).await,
        }
    });
    let Some(reply) = wire.while_there(serving.as_mut()).await else {
        let served = if budget.ends_with_client() { None } else { Box::pin(alone::served(serving)).await };
        let client = Left { thread, peer, head: &head, buffer: &buffer };
        let received = incoming.borrow().received;
        Box::pin(client.log(served, received)).await;
        return After::Linger;
    };
    answers::remember(&head, &buffer, &reply);
    deliver(thread, wire, peer, Wishes { head: &head, wish, both, expect, trailers, incoming }, reply).await
}

/// Returns the sender of interim responses, which clients know since HTTP/1.1.
fn early(head: &Head, wire: &Rc<Wire>) -> Option<Weak<dyn Early>> {
    let told: Weak<Wire> = Rc::downgrade(wire);
    (head.version >= head::HTTP_11).then_some(told as Weak<dyn Early>)
}

/// Returns whether the client takes fields behind a body (RFC 9110 §10.1.4).
fn takes_trailers(head: &Head, buffer: &[u8]) -> bool {
    head.version >= head::HTTP_11 && head.field(buffer, "te").is_some_and(|te| has_token(te, b"trailers"))
}

/// A request whose client has left before there was an answer.
struct Left<'a> {
    thread: &'a Rc<Thread>,
    peer: &'a Rc<Peer>,
    head: &'a Head,
    buffer: &'a Bytes,
}

impl Left<'_> {
    /// Logs it: with the answer that nobody has read, if it was served.
    async fn log(self, served: Option<Reply>, body: u64) {
        let Self { thread, peer, head, buffer } = self;
        let reply = match served {
            Some(reply) => reply,
            None => {
                let request = Request::from_http1(thread, peer, buffer, head, RequestBody::Empty);
                serve::abandoned(Box::new(request)).await
            }
        };
        let received = head.length as u64 + body;
        reply.finish(thread, Delivery::default(), &Err(SendError::Gone), received, false);
    }
}

/// Sends the answer of a worker that has been given the request already.
async fn worker(thread: &Rc<Thread>, wire: &Rc<Wire>, peer: &Rc<Peer>, mut begun: Box<FastRequest>) -> After {
    wire.watch.start(false);
    let ends_with_client = begun.ends_with_client();
    let answer = {
        let answering = pin!(begun.answer(thread, peer));
        let mut answering = pin!(until_cut_off(wire, answering));
        match wire.while_there(answering.as_mut()).await {
            Some(answer) => Ok(answer),
            None if ends_with_client => Err(None),
            None => Err(Box::pin(alone::answer(answering)).await),
        }
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(answer) => {
            Box::pin(alone(thread, peer, &begun, answer)).await;
            return After::Linger;
        }
    };
    match answer {
        fast::Answer::Plain(plain) => {
            let whole = wire.write(&[&plain.out, &plain.body]).await.is_ok();
            begun.log(thread, peer, &plain, whole);
            if whole { plain.after } else { After::Linger }
        }
        answer => Box::pin(go_on(thread, wire, peer, begun, answer)).await,
    }
}

/// Waits for a worker's answer, at most until the server ends.
async fn until_cut_off(
    wire: &Wire,
    mut answering: Pin<&mut impl Future<Output = fast::Answer>>,
) -> fast::Answer {
    poll_fn(|cx| match answering.as_mut().poll(cx) {
        Poll::Pending if wire.deadline.poll_cut_off(cx) => {
            Poll::Ready(fast::Answer::Failed(Error::new(Kind::Stopping)))
        }
        polled => polled,
    })
    .await
}

/// Finishes a request whose client has left while a worker had it. `answer`: the worker's, if there is one.
async fn alone(thread: &Rc<Thread>, peer: &Rc<Peer>, begun: &FastRequest, answer: Option<fast::Answer>) {
    let served = match answer {
        Some(fast::Answer::Plain(plain)) => return begun.log(thread, peer, &plain, false),
        Some(answer) => alone::served(begun.go_on(thread, peer, None, answer)).await,
        None => None,
    };
    let (head, buffer) = begun.head();
    Left { thread, peer, head, buffer }.log(served, 0).await;
}

/// The whole way for an answer of a worker that is not plain.
async fn go_on(
    thread: &Rc<Thread>,
    wire: &Rc<Wire>,
    peer: &Rc<Peer>,
    begun: Box<FastRequest>,
    answer: fast::Answer,
) -> After {
    let (head, buffer) = begun.head();
    let mut going_on = pin!(begun.go_on(thread, peer, early(head, wire), answer));
    let Some(reply) = wire.while_there(going_on.as_mut()).await else {
        let served = if begun.ends_with_client() { None } else { Box::pin(alone::served(going_on)).await };
        Box::pin(Left { thread, peer, head, buffer }.log(served, 0)).await;
        return After::Linger;
    };
    let incoming = Rc::new(RefCell::new(Incoming::new(wire, Framing::None, false, (peer, &Rc::default()))));
    let wish = hostler_http1::framing::keep_alive(head, buffer);
    deliver(
        thread,
        wire,
        peer,
        Wishes { head, wish, both: false, expect: false, trailers: takes_trailers(head, buffer), incoming },
        reply,
    )
    .await
}

/// The client's wishes besides the response itself.
struct Wishes<'a> {
    head: &'a Head,
    wish: KeepAlive,
    /// The request's framing was told in two ways.
    both: bool,
    expect: bool,
    /// It takes fields behind a body (RFC 9110 §10.1.4).
    trailers: bool,
    incoming: Rc<RefCell<Incoming>>,
}

/// Sends an answer.
async fn deliver(
    thread: &Rc<Thread>,
    wire: &Rc<Wire>,
    peer: &Rc<Peer>,
    asked: Wishes<'_>,
    mut reply: Reply,
) -> After {
    let Wishes { head, wish, both, expect, trailers, incoming } = asked;
    if let Body::Tunnel(tunnel) = reply.body {
        reply.body = Body::Empty;
        // It may last for long: what the request has taken is given up first.
        *wire.tunnel.borrow_mut() = Some(Box::new((reply, *tunnel, head.length as u64)));
        return After::Linger;
    }
    let unread = !incoming.borrow().is_complete();
    // A program may go on reading its input while it answers: nobody else may take it then. What a client has not been
    // asked for (100 Continue) may come or not. And what is long is not waited for.
    let taken = unread && (matches!(reply.body, Body::Stream(_)) || expect || incoming.borrow().is_long());
    if unread && !taken {
        incoming.borrow_mut().skim();
    }
    let keep =
        wish.persistent && !both && !reply.close && !thread.draining() && peer.may_continue() && !taken;
    let outgoing = Outgoing {
        version: head.version,
        status: reply.status,
        reason: reply.reason.as_deref(),
        headers: &reply.headers,
        body: std::mem::take(&mut reply.body),
        head_only: reply.head_only,
        connection: peer.connection(wish, keep),
        raw: reply.raw,
        trailers,
        runs_on: !reply.request.budget.ends_with_client(),
    };
    // Raw bytes, which say what they like of their length, and a body without one before HTTP/1.1 end with the
    // connection.
    let without_length = outgoing.body.len().is_none()
        && !outgoing.head_only
        && !send::bodiless(outgoing.status)
        && (head.version < head::HTTP_11 && !outgoing.headers.contains("Content-Length"));
    let endless = outgoing.raw || without_length;
    let outgoing =
        Outgoing { connection: if endless { Connection::Close } else { outgoing.connection }, ..outgoing };
    let mut sent = Delivery::default();
    wire.timeout.set(reply.timeout);
    let result = send::send(wire, outgoing, &mut sent).await;
    wire.timeout.set(peer.settings.timeout);
    reply.finish(thread, sent, &result, head.length as u64 + incoming.borrow().received, keep && !endless);
    let alone = incoming.borrow().has_no_body();
    let stays = keep && !endless && result.is_ok() && (!unread || discard(&incoming).await);
    if stays || (alone && result.is_ok()) { wish.after(stays) } else { After::Linger }
}

/// Answers what isn't a request.
async fn refuse(
    thread: &Rc<Thread>,
    wire: &Rc<Wire>,
    peer: &Rc<Peer>,
    status: u16,
    why: &str,
    buffer: Bytes,
) {
    let reply = serve::refuse(thread, peer, status, why, &buffer);
    turn_away(thread, wire, reply, buffer.len()).await;
}

/// Sends what is the last answer on its connection.
async fn turn_away(
    thread: &Rc<Thread>,
    wire: &Rc<Wire>,
    reply: impl Future<Output = Reply>,
    received: usize,
) {
    let mut reply = reply.await;
    let outgoing = Outgoing {
        version: head::HTTP_11,
        status: reply.status,
        reason: None,
        headers: &reply.headers,
        body: std::mem::take(&mut reply.body),
        head_only: false,
        connection: Connection::Close,
        raw: false,
        trailers: false,
        runs_on: false,
    };
    let mut sent = Delivery::default();
    let result = send::send(wire, outgoing, &mut sent).await;
    reply.finish(thread, sent, &result, received as u64, false);
}

/// The longest silence of a client whose connection is about to close, and the longest time it may go on sending, as
/// with Apache: many read no response before all of their request has gone.
const SILENCE: Duration = Duration::from_secs(2);
const FAREWELL: Duration = Duration::from_secs(30);

/// Closes so that the client gets all of the answer: a close with unread bytes would reset the connection.
async fn linger(wire: &Wire) {
    if poll_fn(|cx| wire.io.borrow_mut().poll_shutdown(cx)).await.is_err() {
        return;
    }
    let end = Instant::now() + FAREWELL;
    wire.deadline.set(SILENCE);
    wire.deadline.silent(false);
    poll_fn(|cx| {
        loop {
            if wire.deadline.poll_expired(cx) {
                return Poll::Ready(());
            }
            match ready!(with_scratch(|scratch| wire.io.borrow_mut().poll_read(cx, scratch))) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => wire.deadline.set_at(end.min(Instant::now() + SILENCE)),
            }
        }
    })
    .await;
}
