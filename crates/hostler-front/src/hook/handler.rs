//! Handlers: who makes the answer. A handler's name comes from SetHandler, AddHandler, ScriptAlias, or, without
//! one, from the file's type.

use crate::hook::serve::Halt;
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::core::types::DIRECTORY;
use crate::module::core::{file, options};
use crate::module::{actions, autoindex, cgi, perl, status};
use crate::request::Request;
use crate::technique::framed;
use bytes::Bytes;
use hostler_config::directives::pool::Isolation;

/// The note of an answer that is sent as the script wrote it (nph-).
pub(crate) const RAW: &str = "raw-answer";

/// Types that mean a program by themselves (old configurations use AddType).
const CGI_TYPE: &[u8] = b"application/x-httpd-cgi";
const SSI_TYPES: [&[u8]; 2] = [b"text/x-server-parsed-html", b"text/x-server-parsed-html3"];

/// Runs the request's handler.
pub(crate) async fn invoke(request: &mut Request) -> Result<Body, Halt> {
    options::limit_body(request)?;
    if &*request.uri == b"*" {
        return options::star(request);
    }
    if &*request.method == b"TRACE" {
        return options::trace(request).await;
    }
    actions::check(request)?;
    let body = respond(request).await?;
    Ok(framed::take_off(request, body))
}

/// Lets the handler answer that the request names.
pub(crate) async fn respond(request: &mut Request) -> Result<Body, Halt> {
    let mut handler = request.handler.clone().or_else(|| by_type(request));
    if !handler.as_deref().is_some_and(perl::is_handler) {
        let settled = perl::phases::settle(request).await;
        handler = request.handler.clone().or_else(|| by_type(request));
        if !handler.as_deref().is_some_and(perl::is_handler) {
            request.held.release(request);
        }
        settled?;
    }
    match handler.as_deref() {
        None | Some(b"default-handler") => file::handle(request).await,
        Some(DIRECTORY) => autoindex::handle(request).await,
        Some(b"cgi-script" | CGI_TYPE)
            if request.dir.pool.isolation("cgi-script") == Isolation::Fork
                && !perl::phases::are_disabled(request) =>
        {
            perl::script(request).await
        }
        Some(b"cgi-script" | CGI_TYPE) => cgi::handle(request).await,
        Some(name) if perl::is_handler(name) => perl::handle(request).await,
        Some(b"server-parsed") => {
            request.filters.push(Bytes::from_static(b"includes"));
            if request.content_type.is_none() {
                request.content_type = Some(Bytes::from_static(b"text/html"));
            }
            file::handle(request).await
        }
        Some(b"server-status") => status::handle(request),
        Some(b"hostler-metrics") => status::metrics(request),
        Some(b"send-as-is") => crate::module::core::file::as_is(request).await,
        Some(other) => unknown(request, other),
    }
}

fn by_type(request: &Request) -> Option<Bytes> {
    let content_type = request.content_type.as_deref()?;
    let kind = content_type.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
    match kind {
        DIRECTORY => Some(Bytes::from_static(DIRECTORY)),
        CGI_TYPE => Some(Bytes::from_static(b"cgi-script")),
        kind if SSI_TYPES.contains(&kind) => Some(Bytes::from_static(b"server-parsed")),
        // A type that means "run me" for an engine that is not there must not become a download of the source.
        kind if kind.starts_with(b"application/x-httpd-") => Some(Bytes::copy_from_slice(kind)),
        _ => None,
    }
}

/// Apache would send the file itself, and with it perhaps a program's source. We don't.
fn unknown(request: &Request, handler: &[u8]) -> Result<Body, Halt> {
    let handler = String::from_utf8_lossy(handler);
    let file = String::from_utf8_lossy(&request.filename);
    let message = format!(
        "there is no handler \"{handler}\" for {file}; the file is not sent, it may be a program's source (SetHandler, \
         AddHandler, AddType)"
    );
    log::request(request, Severity::Error, "core", &message);
    Err(Halt::Status(500))
}
