//! The way of a request through its phases, in Apache's order:
//!
//! ```text
//! host -> decode -> (Location) -> translate -> walk: Directory + .htaccess, Files -> Location -> If
//!      -> header_parser -> access -> authentication -> authorisation -> type -> fixups -> handler
//!      -> (internal redirect: once more from "decode")
//!      -> filters, header directives -> reply
//! ```
//!
//! A phase either goes on or halts with a status, a finished answer, or a redirect to another URL.

use crate::body::Body;
use crate::connection::Peer;
use crate::error;
use crate::log::{self, Severity};
use crate::reply::Reply;
use crate::request::{Origin, Request};
use crate::thread::Thread;
use crate::{access, budget, handler, map, names};
use bytes::Bytes;
use std::rc::Rc;
use std::time::Duration;

/// Why a request leaves the ordinary way.
pub(crate) enum Halt {
    /// An error or redirect status: ErrorDocument, or a standard page.
    Status(u16),
    /// Go on as a request for this escaped local target.
    Redirect { method: Bytes, target: Vec<u8> },
    /// The answer is complete; the request holds its status and headers.
    Done(Body),
}

impl From<u16> for Halt {
    fn from(status: u16) -> Self {
        Self::Status(status)
    }
}

/// What most phases return.
pub(crate) type Phase = Result<(), Halt>;

/// Answers a client's request.
pub(crate) async fn serve(thread: &Rc<Thread>, mut request: Request) -> Reply {
    let selected = map::host::select(&mut request);
    let budget = request.budget.clone();
    budget.belongs(&request);
    let served = async {
        let first = match selected {
            Ok(()) => first(&mut request).await,
            Err(status) => Err(Halt::Status(status)),
        };
        complete(request, first).await
    };
    budget::within(thread, &budget, served).await
}

/// The first answer to a client's request, before redirects and errors are followed.
async fn first(request: &mut Request) -> Result<Body, Halt> {
    within_bounds(request)?;
    names::look_up(request).await;
    crate::filter::headers::early(request).await?;
    crate::filter::env::set_env_if_server(request).await?;
    Box::pin(run(request)).await
}

/// `HostlerSiteRequests` and `HostlerSiteConnections`.
fn within_bounds(request: &mut Request) -> Phase {
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
    request.headers_out.set("Retry-After", (wait.as_secs() + 1).to_string());
    request.progress.refused = true;
    Halt::Status(status)
}

/// Answers a request of an address from which too many come (`HostlerRequestsPerAddress`).
pub(crate) async fn too_many(thread: &Rc<Thread>, peer: &Rc<Peer>, wait: Duration, head: &Bytes) -> Reply {
    let mut request = unparsed(thread, peer, head);
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
    let request = unparsed(thread, peer, head);
    log::request(&request, Severity::Info, "http", &format!("refused with {status}: {why}"));
    complete(request, Err(Halt::Status(status))).await
}

/// A request of which nothing is acted on.
fn unparsed(thread: &Rc<Thread>, peer: &Rc<Peer>, head: &Bytes) -> Request {
    let mut request = Request::new(thread, peer);
    // What of the request line could be read is logged.
    let end = head.iter().position(|&b| matches!(b, b'\r' | b'\n')).unwrap_or(head.len());
    request.line = head.slice(..end);
    request.version = crate::http1::head::HTTP_11;
    request
}

/// What is left of a request whose client has gone before there was an answer: the log's line.
pub(crate) async fn abandoned(mut request: Request) -> Reply {
    // A host that can't be selected has been logged already.
    let _ = map::host::select(&mut request);
    log::request(
        &request,
        Severity::Info,
        "http",
        "the client closed the connection before it had an answer",
    );
    request.status = 400;
    Box::pin(crate::reply::finish_error(request, Body::Empty)).await
}

/// Goes on with a request on the short way to a worker whose answer is not plain.
pub(crate) async fn go_on(mut request: Request, answer: handler::worker::short::Answer) -> Reply {
    let (thread, budget) = (request.thread.clone(), request.budget.clone());
    budget.belongs(&request);
    let served = async {
        let first = Box::pin(handler::worker::go_on(&mut request, answer)).await;
        let first = first.map(|body| handler::framed::take_off(&mut request, body));
        complete(request, first).await
    };
    budget::within(&thread, &budget, served).await
}

/// Follows redirects and errors until there is an answer.
async fn complete(mut request: Request, mut outcome: Result<Body, Halt>) -> Reply {
    loop {
        // Whatever the rules have come to: some of them were not carried out.
        outcome = budget::check(&request).and(outcome);
        if request.budget.has_failed() {
            return refused(request).await;
        }
        match outcome {
            Ok(body) | Err(Halt::Done(body)) => {
                let budget = request.budget.clone();
                let reply = Box::pin(crate::reply::finish(request, body)).await;
                return if budget.has_failed() { refused(*reply.request).await } else { reply };
            }
            Err(Halt::Status(status)) => match error::document(&mut request, status) {
                error::Answer::Page(body) => {
                    return Box::pin(crate::reply::finish_error(request, body)).await;
                }
                error::Answer::Redirect(target) => {
                    request = request.redirected(Bytes::from_static(b"GET"), &target);
                    outcome = Box::pin(run(&mut request)).await;
                }
            },
            Err(Halt::Redirect { method, target }) => {
                let limit = crate::settings::recursion(&request.server).0;
                if request.redirects >= limit {
                    let message = format!(
                        "the request exceeded the limit of {limit} internal redirects due to a probable configuration \
                         error; raise LimitInternalRecursion if it is none ({})",
                        steps(&request)
                    );
                    log::request(&request, Severity::Error, "core", &message);
                    outcome = Err(Halt::Status(500));
                    continue;
                }
                request = request.redirected(method, &target);
                outcome = Box::pin(run(&mut request)).await;
            }
        }
    }
}

/// Steps of a redirect that are told, and the bytes of each.
const STEPS: usize = 12;
const STEP: usize = 120;

/// The way that a request has come, the last steps of it.
fn steps(request: &Request) -> String {
    let mut paths = Vec::new();
    let mut next = Some(request);
    while let Some(request) = next.filter(|_| paths.len() < STEPS) {
        paths.push(String::from_utf8_lossy(&request.uri[..request.uri.len().min(STEP)]).into_owned());
        next = request.prev.as_deref();
    }
    paths.reverse();
    paths.join(" -> ")
}

/// The answer to a request whose rules could not be carried out: nothing that they could change, and no document of
/// the site's.
async fn refused(mut request: Request) -> Reply {
    let _ = budget::check(&request);
    request.held.release(&request);
    request.err_headers_out.clear();
    let body = error::plain(&mut request, 500);
    Box::pin(crate::reply::finish_error(request, body)).await
}

/// All phases of one request.
pub(crate) async fn run(request: &mut Request) -> Result<Body, Halt> {
    if request.origin == Origin::Client {
        handler::options::check_expectation(request)?;
    }
    let prepared = prepare(request).await;
    if prepared.is_err() {
        request.held.release(request);
    }
    prepared?;
    handler::invoke(request).await
}

/// The phases before the handler (`ap_process_request_internal`).
pub(crate) async fn prepare(request: &mut Request) -> Phase {
    map::locate(request).await?;
    if handler::worker::phases::are_any(request) {
        return Box::pin(handler::worker::phases::prepare(request)).await;
    }
    names::look_up(request).await;
    if !request.is_sub() {
        map::header_parser(request).await?;
    }
    access::check(request).await?;
    map::types::check(request);
    map::fixup::run(request).await?;
    budget::check(request)
}

/// Looks a URL up as a sub-request: all phases but the handler.
pub(crate) async fn look_up(request: &Request, target: &[u8]) -> (Request, Phase) {
    look_up_with(request, Bytes::from_static(b"GET"), target).await
}

/// The same, with a method.
pub(crate) async fn look_up_with(request: &Request, method: Bytes, target: &[u8]) -> (Request, Phase) {
    look_up_noted(request, target, |sub| sub.method = method).await
}

/// The same, for a sub-request that is changed before its phases.
pub(crate) async fn look_up_noted(
    request: &Request,
    target: &[u8],
    change: impl FnOnce(&mut Request),
) -> (Request, Phase) {
    let mut sub = request.sub(target);
    change(&mut sub);
    if let Err(halt) = budget::sub_request(request).await {
        return (sub, Err(halt));
    }
    let phase = if u32::from(sub.depth()) > crate::settings::recursion(&request.server).1.max(1) {
        log::request(request, Severity::Error, "core", "sub-requests are nested too deeply");
        Err(Halt::Status(500))
    } else {
        Box::pin(prepare(&mut sub)).await
    };
    (sub, phase)
}
