//! A worker's questions during its response: the mapping of another URL or path of the server (`lookup_uri`,
//! `lookup_file`), and another URL's response as part of its own (`$subr->run`).
//!
//! Both walk the real phases, so that all access rules hold.

use super::apply::Changes;
use super::conversation::Onward;
use super::directory;
use super::directory::Programs;
use super::head;
use super::head::{Task, Texts};
use super::nested::{Line, Within};
use super::state::HasPerl;
use crate::hook::follow;
use crate::hook::handler;
use crate::hook::walk;
use crate::io::body::{Body, BodyError, BodyStream, RequestBody};
use crate::limits::kept;
use crate::module::core;
use crate::module::include;
use crate::request::flow::{Continue, Halt};
use crate::request::{Origin, Request};
use bytes::Bytes;
use hostler_gateway::backend::ring::Exchange;
use hostler_perl_frames::ToPerl;
use hostler_wire::work::ToWorker;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// A question whose answer is being found.
pub(super) type PendingAnswer = Pin<Box<dyn Future<Output = WorkerAnswer>>>;

/// An answer.
pub(super) enum WorkerAnswer {
    /// The request that it would be.
    LookedUp(Box<Sub>),
    /// The answer's body, and its status.
    Ran(Box<dyn BodyStream>, u16),
    /// A piece of the request's body; `None`: its end.
    Read(Option<Result<Bytes, BodyError>>),
    /// The body of the request that has answered in the asking one's place, and that request.
    WentOn(Box<dyn BodyStream>, Box<Request>),
}

/// Longest answer of a phase before the handler that is kept for a request that may be run, in bytes.
const LONGEST: usize = 1 << 20;

/// Longest piece of a body, in bytes.
const MOST: u32 = 64 << 10;

/// A request that was looked up.
pub(super) struct Sub {
    request: Request,
    /// The status of its phases: anything but 200 is no response.
    status: u16,
    /// One of them has answered.
    answer: Option<Bytes>,
}

/// Maps a URL, or with `file` a path.
pub(super) fn look_up(
    line: &Rc<Line>,
    request: &Request,
    method: &[u8],
    target: &[u8],
    file: bool,
) -> PendingAnswer {
    let parent = asking(line, request);
    let (method, target) = (Bytes::copy_from_slice(method), absolute(request, target, file));
    Box::pin(async move {
        let (mut request, phase) = if file {
            Box::pin(walk::look_up_file(&parent, &target)).await
        } else {
            walk::look_up(&parent, &target).await
        };
        if !method.is_empty() {
            request.target.method = method;
        }
        WorkerAnswer::LookedUp(Box::new(Sub::of(request, phase).await))
    })
}

/// The next piece of a request's body, in a trip before its response.
pub(super) fn read_body(body: RequestBody, most: u32) -> PendingAnswer {
    Box::pin(async move { WorkerAnswer::Read(body.piece(most.clamp(1, MOST) as usize).await) })
}

/// The request that asks, for its parts: they know what they are part of.
fn asking(line: &Rc<Line>, request: &Request) -> Request {
    let mut parent = request.clone();
    parent.waiting_workers += 1;
    parent.perl_mut().within = Some(Within::asker(line, request));
    parent
}

/// A relative target is taken from where the request is, as Apache does.
fn absolute(request: &Request, target: &[u8], file: bool) -> Vec<u8> {
    if target.starts_with(b"/") {
        return target.to_vec();
    }
    let base = if file { &request.resource.filename } else { &request.target.uri };
    let end = memchr::memrchr(b'/', base).map_or(0, |at| at + 1);
    [&base[..end], target].concat()
}

impl Sub {
    /// Redirects within the server are followed: they are where the URL leads.
    async fn of(mut request: Request, mut phase: Continue) -> Self {
        loop {
            let (status, answer) = match phase {
                Ok(()) => (200, None),
                Err(Halt::Status(status)) => (status, None),
                Err(Halt::Done(body)) => match kept::collect(&request, body, LONGEST).await {
                    Ok(text) => (200, Some(text)),
                    Err(_) => (500, None),
                },
                Err(Halt::Redirect { method, target }) => match follow::next(request, method, &target) {
                    Ok(next) => {
                        request = next;
                        phase = Box::pin(walk::prepare(&mut request)).await;
                        continue;
                    }
                    Err(last) => {
                        request = *last;
                        (500, None)
                    }
                },
            };
            return Self { request, status, answer };
        }
    }

    fn id(&self) -> u32 {
        self.request.within().map_or(0, |within| within.id)
    }

    /// Returns the size of its response.
    pub(super) fn bytes(&self) -> usize {
        self.answer.as_ref().map_or(0, Bytes::len)
    }

    pub(super) fn is(&self, id: u32) -> bool {
        self.id() == id
    }

    /// Tells the worker what it has asked for.
    pub(super) fn tell(&self, exchange: &mut Exchange) {
        let known = directory::known(&self.request, Programs::Configured);
        let texts = Texts::of(&self.request, None);
        let mut head = head::head(&self.request, &texts, &known, &Task::default());
        head.status = self.status;
        let mut message = Vec::with_capacity(1024);
        ToPerl::Answer { id: self.id(), head: Box::new(head) }.encode(&mut message);
        exchange.again(&known.definition(), &message);
    }
}

/// The answer of a request that was looked up, as the program has changed it since.
pub(super) fn run(sub: Box<Sub>, changes: Option<Changes>) -> PendingAnswer {
    Box::pin(ran(*sub, changes))
}

/// The answer of a sub-request that was looked up long ago.
pub(super) fn run_anew(line: &Rc<Line>, request: &Request, target: &[u8]) -> PendingAnswer {
    let parent = asking(line, request);
    let target = absolute(request, target, false);
    Box::pin(async move {
        let (request, phase) = walk::look_up(&parent, &target).await;
        Box::pin(ran(Sub::of(request, phase).await, None)).await
    })
}

/// The answer of the request that this one goes on as (`internal_redirect`).
pub(super) fn go_on(line: &Rc<Line>, request: &Request, onward: Onward) -> PendingAnswer {
    let parent = asking(line, request);
    Box::pin(async move {
        let method = parent.target.method.clone();
        let kept = parent.resource.content_type.clone().filter(|_| onward.keeps_type);
        let Ok(mut next) = follow::next(parent, method, &onward.target) else {
            return WorkerAnswer::Ran(Body::Empty.into_stream(), 500);
        };
        next.resource.content_type = kept;
        next.perl_mut().progress.logged = true;
        let outcome = Box::pin(walk::answer(&mut next)).await;
        let (mut next, body, status) = sent(next, outcome).await;
        next.reply.status = status;
        WorkerAnswer::WentOn(body.into_stream(), Box::new(next))
    })
}

/// Tells the worker something that is mod_perl's.
pub(super) fn tell(exchange: &mut Exchange, message: &ToPerl<'_>) {
    exchange.tell(&ToWorker::Own(&message.to_bytes()));
}

/// Tells the worker of the request that has gone on in the place of the one that it is at.
pub(super) fn tell_next(next: &Request, exchange: &mut Exchange) {
    let Some(within) = next.within() else { return tell(exchange, &ToPerl::Ran(next.reply.status)) };
    let known = directory::known(next, Programs::Configured);
    let texts = Texts::of(next, None);
    let head = head::head(next, &texts, &known, &Task::default());
    let mut message = Vec::with_capacity(1024);
    ToPerl::Answer { id: within.id, head: Box::new(head) }.encode(&mut message);
    exchange.again(&known.definition(), &message);
}

async fn ran(sub: Sub, changes: Option<Changes>) -> WorkerAnswer {
    let Sub { mut request, status, answer } = sub;
    if let Some(text) = answer {
        return WorkerAnswer::Ran(Body::Bytes(text).into_stream(), status);
    }
    if status != 200 {
        return WorkerAnswer::Ran(Body::Empty.into_stream(), status);
    }
    if let Some(changes) = changes {
        let before = request.resource.filename.clone();
        changes.apply(&mut request);
        if request.resource.filename != before
            && let Err(halt) = Box::pin(core::walk::find_again(&mut request)).await
        {
            return WorkerAnswer::Ran(Body::Empty.into_stream(), status_of(&halt));
        }
    }
    let (_, body, status) = answered(request).await;
    WorkerAnswer::Ran(body.into_stream(), status)
}

fn status_of(halt: &Halt) -> u16 {
    match halt {
        Halt::Done(_) => 200,
        Halt::Status(status) => *status,
        Halt::Redirect { .. } => 302,
    }
}

/// Runs the handler of a sub-request.
async fn answered(mut sub: Request) -> (Request, Body, u16) {
    // Includes in it are expanded in place: nobody else would do it.
    let depth = sub.origin;
    sub.origin = Origin::Redirect;
    sub.perl_mut().progress.logged = true;
    let outcome = Box::pin(handler::invoke(&mut sub)).await;
    if outcome.is_err() {
        sub.origin = depth;
    }
    sent(sub, outcome).await
}

/// Returns the response that becomes a part of another, following redirects within the server.
async fn sent(sub: Request, outcome: Result<Body, Halt>) -> (Request, Body, u16) {
    let (mut sub, outcome) =
        follow::follow(sub, outcome, |next| next.perl_mut().progress.logged = true).await;
    match outcome {
        Ok(body) | Err(Halt::Done(body)) => {
            let body = Box::pin(include::filter(&mut sub, body)).await;
            sub.reply.filters.clear();
            // What a handler returns, not what it says of its answer.
            (sub, body, 200)
        }
        Err(Halt::Status(status)) => (sub, Body::Empty, status),
        Err(Halt::Redirect { .. }) => (sub, Body::Empty, 500),
    }
}
