//! From a client's request to its answer: the virtual host, what its site may have, the phases ([`crate::hook::walk`]),
//! redirects and errors, until there is something to send.

use crate::hook::plan::plan;
use crate::hook::reply::Reply;
use crate::hook::{error, follow, handler, host, walk};
use crate::io::body::Body;
use crate::limits::budget;
use crate::log::{self, Severity};
use crate::request::connection::Peer;
use crate::request::flow::{Continue, Halt};
use crate::request::thread::Thread;
use crate::request::{Request, settings};
use bytes::Bytes;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

/// Answers a client's request.
pub(crate) async fn serve(thread: &Rc<Thread>, mut request: Box<Request>) -> Reply {
    let selected = host::select(&mut request);
    let budget = request.budget.clone();
    budget.belongs(&request);
    let served = pin!(async {
        let first = match selected {
            Ok(()) => first(&mut request).await,
            Err(status) => Err(Halt::Status(status)),
        };
        complete(request, first).await
    });
    budget::within(thread, &budget, served).await
}

/// The first answer to a client's request, before redirects and errors are followed.
async fn first(request: &mut Request) -> Result<Body, Halt> {
    within_bounds(request)?;
    Box::pin(walk::answer(request)).await
}

/// `HostlerSiteRequests` and `HostlerSiteConnections`.
fn within_bounds(request: &mut Request) -> Continue {
    let thread = request.thread.clone();
    let (shared, site) = (&thread.shared, thread.shared.sites.of(&request.server));
    if let Err(wait) = shared.traffic.may_ask(site, &request.server) {
        return Err(try_later(
            request,
            429,
            wait,
            "a site has too many requests in a second (HostlerSiteRequests)",
        ));
    }
    match shared.traffic.enter(site, &request.server) {
        Some(busy) => {
            request.busy = Some(Rc::new(busy));
            Ok(())
        }
        None => {
            let why = "a site has too many requests at once (HostlerSiteConnections)";
            Err(try_later(request, 503, Duration::from_secs(2), why))
        }
    }
}

/// Refuses a request for now. There may be very many of these: the log has one line in a while.
fn try_later(request: &mut Request, status: u16, wait: Duration, why: &str) -> Halt {
    let shared = &request.thread.shared;
    if let Some(count) = shared.told.one_more(shared.seconds()) {
        let message = format!("{count} requests were refused lately, this one with {status}: {why}");
        log::request(request, Severity::Warn, "http", &message);
    }
    request.reply.headers_out.set("Retry-After", (wait.as_secs() + 1).to_string());
    request.is_refused = true;
    Halt::Status(status)
}

/// Answers a request of an address from which too many come (`HostlerRequestsPerAddress`).
pub(crate) async fn too_many(thread: &Rc<Thread>, peer: &Rc<Peer>, wait: Duration, head: &Bytes) -> Reply {
    let mut request = Box::new(unparsed(thread, peer, head));
    let why = "an address asks too often (HostlerRequestsPerAddress)";
    let halt = try_later(&mut request, 429, wait, why);
    complete(request, Err(halt)).await
}

/// Answers something that could not be parsed as a request.
pub(crate) async fn refuse(
    thread: &Rc<Thread>,
    peer: &Rc<Peer>,
    status: u16,
    why: &str,
    head: &Bytes,
) -> Reply {
    let request = Box::new(unparsed(thread, peer, head));
    log::request(&request, Severity::Info, "http", &format!("refused with {status}: {why}"));
    complete(request, Err(Halt::Status(status))).await
}

/// A request of which nothing is acted on.
fn unparsed(thread: &Rc<Thread>, peer: &Rc<Peer>, head: &Bytes) -> Request {
    let mut request = Request::new(thread, peer);
    // What of the request line could be read is logged.
    let end = head.iter().position(|&b| matches!(b, b'\r' | b'\n')).unwrap_or(head.len());
    request.client.line = head.slice(..end);
    request.client.version = hostler_http1::head::HTTP_11;
    request
}

/// Finishes a request whose client has gone before there was a response: only the log's line is left.
pub(crate) async fn abandoned(mut request: Box<Request>) -> Reply {
    // A host that can't be selected has been logged already.
    let _ = host::select(&mut request);
    log::request(
        &request,
        Severity::Info,
        "http",
        "the client closed the connection before it had an answer",
    );
    request.reply.status = 400;
    Box::pin(crate::hook::reply::finish_error(request, Body::Empty)).await
}

/// Goes on with a request whose phases are known, with what is to become its first answer.
pub(crate) async fn serve_from(
    mut request: Box<Request>,
    first: impl AsyncFnOnce(&mut Request) -> Result<Body, Halt>,
) -> Reply {
    let (thread, budget) = (request.thread.clone(), request.budget.clone());
    budget.belongs(&request);
    let served = pin!(async {
        let first = Box::pin(first(&mut request)).await;
        complete(request, first).await
    });
    budget::within(&thread, &budget, served).await
}

/// Answers a request of which nothing but its virtual host is looked at with an error, and that one's document.
pub(crate) async fn serve_error(request: Box<Request>, status: u16) -> Reply {
    serve_from(request, async |request| {
        within_bounds(request)?;
        Err(Halt::Status(status))
    })
    .await
}

/// Answers a client's request whose phases before the handler are known.
pub(crate) async fn serve_handler(request: Box<Request>) -> Reply {
    serve_from(request, async |request| {
        within_bounds(request)?;
        handler::invoke(request).await
    })
    .await
}

/// Follows redirects and errors until there is an answer.
async fn complete(mut request: Box<Request>, mut outcome: Result<Body, Halt>) -> Reply {
    loop {
        // Whatever the rules have come to: some of them were not carried out.
        outcome = budget::check(&request).and(outcome);
        if request.budget.has_failed() {
            return refused(request).await;
        }
        match outcome {
            Ok(body) | Err(Halt::Done(body)) => {
                let budget = request.budget.clone();
                let mut reply = Box::pin(crate::hook::reply::finish(request, body)).await;
                if budget.has_failed() {
                    return refused(reply.request).await;
                }
                // The filter for ranges has come to an error whose document is a URL.
                if let Some(document) = reply.request.slots.take::<error::Onward>() {
                    request = Box::new(reply.request.redirected(Bytes::from_static(b"GET"), &document.0));
                    outcome = Box::pin(walk::answer(&mut request)).await;
                    continue;
                }
                let Some(why) = reply.fault() else { return reply };
                request = without_fields(reply.request, &why);
                outcome = Err(Halt::Status(500));
            }
            Err(Halt::Status(status)) => match error::document(&mut request, status) {
                error::Answer::Page(body) => {
                    let reply = Box::pin(crate::hook::reply::finish_error(request, body)).await;
                    let Some(why) = reply.fault().filter(|_| reply.status != 500) else {
                        return reply.without_faults();
                    };
                    request = without_fields(reply.request, &why);
                    outcome = Err(Halt::Status(500));
                }
                error::Answer::Redirect(target) => {
                    request = Box::new(request.redirected(Bytes::from_static(b"GET"), &target));
                    outcome = Box::pin(walk::answer(&mut request)).await;
                }
            },
            Err(Halt::Redirect { method, target }) => match follow::next(*request, method, &target) {
                Ok(next) => {
                    request = Box::new(next);
                    outcome = Box::pin(walk::answer(&mut request)).await;
                }
                Err(last) => {
                    request = last;
                    let limit = settings::recursion(&request.server).0;
                    let message = format!(
                        "the request exceeded the limit of {limit} internal redirects due to a probable configuration \
                         error; raise LimitInternalRecursion if it is none ({})",
                        steps(&request)
                    );
                    log::request(&request, Severity::Error, "core", &message);
                    outcome = Err(Halt::Status(500));
                }
            },
        }
    }
}

/// A request whose answer can't have the fields that it was to have.
fn without_fields(mut request: Box<Request>, why: &str) -> Box<Request> {
    log::request(&request, Severity::Error, "http", why);
    request.reply.headers_out.clear();
    request.reply.err_headers_out.clear();
    request.reply.reason = None;
    request
}

/// Steps of a redirect that are told, and the bytes of each.
const STEPS: usize = 12;
const STEP: usize = 120;

/// The way that a request has come, the last steps of it.
fn steps(request: &Request) -> String {
    let path = |request: &Request| {
        String::from_utf8_lossy(&request.target.uri[..request.target.uri.len().min(STEP)]).into_owned()
    };
    let mut paths: Vec<_> = request.chain().take(STEPS).map(path).collect();
    paths.reverse();
    paths.join(" -> ")
}

/// The answer to a request whose rules could not be carried out: nothing that they could change, and no document of
/// the site's.
async fn refused(mut request: Box<Request>) -> Reply {
    let status = match budget::check(&request) {
        Err(Halt::Status(status)) => status,
        _ => 500,
    };
    plan().release(&request);
    request.reply.err_headers_out.clear();
    let body = error::plain(&mut request, status);
    Box::pin(crate::hook::reply::finish_error(request, body)).await
}
