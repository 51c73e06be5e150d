//! Handlers: who makes the answer. A handler's name comes from SetHandler, AddHandler, ScriptAlias, or, without
//! one, from the file's type; the modules' tables tell whose it is.

use crate::hook::input;
use crate::hook::phases::Phase;
use crate::hook::plan::{plan, run};
use crate::hook::walk::ended;
use crate::io::body::Body;
use crate::limits::watch::{self, Place, Return};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use bytes::Bytes;
use hostler_config::directives::reach;
use hostler_http1::framing;

/// The handler where no other is named.
const DEFAULT: &[u8] = b"default-handler";

/// Runs the request's handler, or who answers instead of it.
pub(crate) async fn invoke(request: &mut Request) -> Result<Body, Halt> {
    let budget = request.budget.clone();
    let _back = Return::to_here(&budget);
    budget.watched.enter(Place::OUTSIDE);
    watch::bounded(&budget, invoke_unwatched(request)).await.unwrap_or_else(|| Err(ended(request)))
}

async fn invoke_unwatched(request: &mut Request) -> Result<Body, Halt> {
    limit_body(request)?;
    input::apply(request).await?;
    run(Phase::Handler, request).await?;
    respond(request).await
}

/// Lets the handler answer that the request names.
pub(crate) async fn respond(request: &mut Request) -> Result<Body, Halt> {
    let mut name = name_of(request);
    let mut handler = plan().handler(&name, request);
    if !handler.is_some_and(|handler| handler.settles) {
        let mut settled = Ok(());
        if plan().is_unsettled(request) {
            settled = plan().settle(request).await;
            // They may have named another handler.
            name = name_of(request);
            handler = plan().handler(&name, request);
        }
        if !handler.is_some_and(|handler| handler.settles) {
            plan().release(request);
        }
        settled?;
    }
    match handler {
        Some(handler) => (handler.run)(request).await,
        None => unknown(request, &name),
    }
}

/// Sends the request's file, whatever handler it names.
pub(crate) async fn send_file(request: &mut Request) -> Result<Body, Halt> {
    match plan().handler(DEFAULT, request) {
        Some(handler) => (handler.run)(request).await,
        None => unknown(request, &Bytes::from_static(DEFAULT)),
    }
}

/// The handler's name.
pub(crate) fn name_of(request: &Request) -> Bytes {
    request.resource.handler.clone().or_else(|| by_type(request)).unwrap_or(Bytes::from_static(DEFAULT))
}

/// Returns whether the handler of this name runs itself what its module has put off.
pub(crate) fn settles(request: &Request, name: &[u8]) -> bool {
    plan().handler(name, request).is_some_and(|handler| handler.settles)
}

fn by_type(request: &Request) -> Option<Bytes> {
    let content_type = request.resource.content_type.as_deref()?;
    let kind = content_type.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
    if let Some(name) = plan().handler_of_type(kind, request) {
        return Some(Bytes::from_static(name));
    }
    // A type that means "run me" for an engine that is not there must not become a download of the source.
    kind.starts_with(b"application/x-httpd-").then(|| Bytes::copy_from_slice(kind))
}

/// `LimitRequestBody` and `KeptBodySize`: the body's limit from here on, and the announced length against it.
pub(crate) fn limit_body(request: &Request) -> Result<(), Halt> {
    let core = &request.resource.dir.core;
    let limit = if is_proxied(request) { 0 } else { core.limit_request_body.unwrap_or(1 << 30) };
    let kept = core.kept_body_size.filter(|&kept| kept > 0 && (limit == 0 || kept < limit));
    let (limit, directive) = kept.map_or((limit, "LimitRequestBody"), |kept| (kept, "KeptBodySize"));
    request.target.body.limit(limit);
    let to_come = !request.target.body.is_empty() && request.target.body.again().is_none();
    let announced = request.target.headers_in.find("Content-Length").and_then(|v| framing::decimal(v));
    if limit > 0 && to_come && announced.is_some_and(|n| n > limit) {
        let message = format!("the request body is larger than {directive} ({limit} bytes)");
        log::request(request, Severity::Error, "core", &message);
        return Err(Halt::Status(413));
    }
    Ok(())
}

/// Returns whether another server takes the body. It has a limit of its own: as in Apache, `LimitRequestBody` does not
/// apply (`ap_http_filter`).
fn is_proxied(request: &Request) -> bool {
    let name = request.resource.handler.as_deref().unwrap_or_default();
    name == b"proxy-server" || std::str::from_utf8(name).ok().and_then(reach::proxied).is_some()
}

/// Apache would send the file itself, and with it perhaps a program's source. We don't.
fn unknown(request: &Request, handler: &[u8]) -> Result<Body, Halt> {
    let handler = String::from_utf8_lossy(handler);
    let file = String::from_utf8_lossy(&request.resource.filename);
    let message = format!(
        "there is no handler \"{handler}\" for {file}; the file is not sent, it may be a program's source (SetHandler, \
         AddHandler, AddType)"
    );
    log::request(request, Severity::Error, "core", &message);
    Err(Halt::Status(500))
}
