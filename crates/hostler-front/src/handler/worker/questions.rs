//! What a worker may ask while it answers: what another URL or path of the server maps to (`lookup_uri`,
//! `lookup_file`), and to have another URL's answer sent as part of its own (`$subr->run`).
//!
//! Both walk the real phases, so that all access rules hold.

use super::directory::{self, Programs};
use super::head::{self, Task, Texts};
use crate::body::{Body, BodyStream};
use crate::handler;
use crate::map;
use crate::request::{Origin, Request};
use crate::serve::{self, Halt, Phase};
use crate::settings;
use bytes::Bytes;
use hostler_gateway::pool::Exchange;
use hostler_wire::work::{PhaseSet, ToWorker};
use std::future::Future;
use std::pin::Pin;

/// A question whose answer is being found.
pub(super) type Asked = Pin<Box<dyn Future<Output = Answered>>>;

/// An answer.
pub(super) enum Answered {
    /// The request that it would be, and the status that its phases came to.
    LookedUp(Box<Request>, u16),
    /// The answer's body, and its status.
    Ran(Box<dyn BodyStream>, u16),
}

/// What a URL, or with `file` a path, maps to.
pub(super) fn look_up(request: &Request, method: &[u8], target: &[u8], file: bool) -> Asked {
    let parent = request.clone();
    let (method, target) = (Bytes::copy_from_slice(method), absolute(request, target, file));
    Box::pin(async move {
        let (mut sub, phase) = if file {
            Box::pin(map::look_up_file(&parent, &target)).await
        } else {
            serve::look_up(&parent, &target).await
        };
        if !method.is_empty() {
            sub.method = method;
        }
        let status = status_of(&phase);
        Answered::LookedUp(Box::new(sub), status)
    })
}

/// A relative target is taken from where the request is, as Apache does.
fn absolute(request: &Request, target: &[u8], file: bool) -> Vec<u8> {
    if target.starts_with(b"/") {
        return target.to_vec();
    }
    let base = if file { &request.filename } else { &request.uri };
    let end = memchr::memrchr(b'/', base).map_or(0, |at| at + 1);
    [&base[..end], target].concat()
}

fn status_of(phase: &Phase) -> u16 {
    match phase {
        Ok(()) | Err(Halt::Done(_)) => 200,
        Err(Halt::Status(status)) => *status,
        Err(Halt::Redirect { .. }) => 302,
    }
}

/// Tells the worker what it has asked for.
pub(super) fn tell(sub: &Request, status: u16, exchange: &mut Exchange) {
    let known = directory::known(sub, Programs::Configured);
    exchange.tell(&ToWorker::Define { id: known.id, directory: &known.encoded });
    let texts = Texts::of(sub, None);
    let task = Task { phases: PhaseSet::default(), handler: None, body: false, stays: false };
    let mut answer = head::head(sub, &texts, &known, &task);
    answer.status = status;
    exchange.tell(&ToWorker::Answer(Box::new(answer)));
}

/// The answer of a sub-request.
pub(super) fn run(request: &Request, target: &[u8]) -> Asked {
    let parent = request.clone();
    let target = absolute(request, target, false);
    Box::pin(async move {
        let (sub, phase) = serve::look_up(&parent, &target).await;
        let (body, status) = match phase {
            Ok(()) => answer(sub).await,
            Err(Halt::Done(body)) => (body, 200),
            other => (Body::Empty, status_of(&other)),
        };
        Answered::Ran(body.into_stream(), status)
    })
}

/// Runs the handler of a sub-request, following redirects within the server.
async fn answer(mut sub: Request) -> (Body, u16) {
    // Includes in it are expanded in place: nobody else would do it.
    let depth = sub.origin;
    sub.origin = Origin::Redirect;
    let mut outcome = Box::pin(handler::invoke(&mut sub)).await;
    loop {
        match outcome {
            Ok(body) | Err(Halt::Done(body)) => {
                sub.filters.clear();
                return (body, sub.status);
            }
            Err(Halt::Status(status)) => return (Body::Empty, status),
            Err(Halt::Redirect { method, target }) => {
                if sub.redirects >= settings::recursion(&sub.server).0 {
                    return (Body::Empty, 500);
                }
                sub.origin = depth;
                sub = sub.redirected(method, &target);
                outcome = Box::pin(serve::run(&mut sub)).await;
            }
        }
    }
}
