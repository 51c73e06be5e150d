//! Server-side includes (mod_include): which files are pages, what their answers' headers are, and where the
//! expanded page goes. The language itself is `hostler-ssi`; here is what it needs of a server.
//!
//! ```text
//! page       a file parsed once, kept with the open file
//! expansion  the documents that are being expanded, one inside the other
//! document   one of them
//! host       variables, dates, expressions as a document sees them
//! fetch      sub-requests: include, fsize, flastmod, exec
//! room       the memory that pages take
//! plain      targets that are plain text for every request, remembered
//! output     the answer's body: one piece with its length, or a stream
//! ```
//!
//! **Diagnostics**: everything about a page goes to its virtual host's ErrorLog under `include`, with the page's
//! file name and line.

mod dates;
mod document;
mod expansion;
mod fetch;
mod host;
mod output;
mod page;
mod plain;
mod room;
mod variables;

use crate::hook::plan::plan;
use crate::hook::registry::{Handler, Module, Name, Output};
use crate::hook::{filter, handler};
use crate::io::body::{Body, BodyError};
use crate::io::open_file::OpenFile;
use crate::limits::kept;
use crate::log::{self, Severity};
use crate::module::core::{digest, file};
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::request::{FileEntry, Request};
use crate::values::text;
use bytes::Bytes;
use hostler_config::directives::core::OptionBits;
use hostler_config::directives::include::XBitHack;
use std::rc::Rc;

/// Types that mean a page by themselves (old configurations use AddType).
const TYPES: [&[u8]; 2] = [b"text/x-server-parsed-html", b"text/x-server-parsed-html3"];

pub(crate) static MODULE: Module = Module {
    handlers: &[
        Handler {
            names: &["server-parsed"],
            types: &TYPES,
            when: |_| true,
            settles: false,
            run: |request| Box::pin(parsed(request)),
        },
        // Instead of the core's.
        Handler {
            names: &["default-handler"],
            types: &[],
            when: |request| &*request.target.method != b"OPTIONS" && wanted(request),
            settles: false,
            run: |request| {
                Box::pin(async move {
                    let file = file::take(request).await?;
                    handle(request, file).await
                })
            },
        },
    ],
    outputs: &[Output {
        name: Name::Own("INCLUDES"),
        sees_bodiless: false,
        run: |request, body, _| Box::pin(expanded(request, body)),
    }],
    remakes: Some(may_expand),
    ..Module::new("include", |_| false)
};

/// The handler that makes a page of any file.
async fn parsed(request: &mut Request) -> Result<Body, Halt> {
    request.reply.filters.push(Bytes::from_static(b"includes"));
    if request.resource.content_type.is_none() {
        request.resource.content_type = Some(Bytes::from_static(b"text/html"));
    }
    handler::send_file(request).await
}

/// Name of the filter, as [`Request::filters`] holds it.
const FILTER: &[u8] = b"includes";

/// Longest output of a program that is expanded, in bytes.
pub(crate) const LONGEST: usize = page::LONGEST as usize;

/// Permission bits of owner and group.
const OWNER_EXECUTES: u32 = 0o100;
const GROUP_EXECUTES: u32 = 0o010;

/// Returns whether the request's file is a page to expand, provided that `Options Includes` allows it.
fn wanted(request: &Request) -> bool {
    (filter::are_any(request) && filter::is_first(request, FILTER)) || by_execute_bit(request)
}

/// Returns whether the filter is in the chain, so that a file's own tag is not to be sent (`SSIETag`).
fn may_expand(request: &Request) -> bool {
    request.resource.dir.include.etag != Some(true) && filter::is_in_chain(request, FILTER)
}

/// Returns whether the filter may have a say that it has not had yet.
fn is_filtered(request: &Request) -> bool {
    !request.reply.marks.have(Marks::EXPANDED) && filter::may_see(request, FILTER)
}

/// `XBitHack`: HTML that its owner may execute is a page.
fn by_execute_bit(request: &Request) -> bool {
    let hack = request.resource.dir.include.x_bit_hack;
    matches!(hack, Some(XBitHack::On | XBitHack::Full))
        && request.resource.handler.is_none()
        && has_mode(request, OWNER_EXECUTES)
        && request.resource.content_type.as_deref().is_some_and(|kind| kind.starts_with(b"text/html"))
}

fn has_mode(request: &Request, bits: u32) -> bool {
    matches!(&request.resource.found, FileEntry::File(info, _) if info.mode & bits == bits)
}

/// Expands the page, or sends it as it is where `Options` forbid includes.
pub(crate) async fn handle(request: &mut Request, file: Rc<OpenFile>) -> Result<Body, Halt> {
    let allowed = is_allowed(request);
    if allowed && request.is_sub() {
        request.reply.marks.set(Marks::NESTED);
        return Err(Halt::Done(Body::Empty));
    }
    pass(request);
    digest::prepare(request, &file).await?;
    if let Some(done) = header(request, &file, allowed)? {
        return Ok(done);
    }
    if !allowed {
        refused(request);
        return Ok(file::whole(&file));
    }
    match page::parsed(request, &file).await {
        Ok(parsed) => Ok(output::expand(request, parsed).await),
        Err(refused) => Err(Halt::Status(tell(request, &refused))),
    }
}

/// Tells why a page is not expanded; the status.
fn tell(request: &Request, refused: &page::Refused) -> u16 {
    let name = String::from_utf8_lossy(&request.resource.filename);
    log::request(request, Severity::Error, "include", &format!("{name} {}", refused.why));
    refused.status
}

/// Returns whether a program's output would be expanded.
pub(crate) fn expands(request: &Request) -> bool {
    is_filtered(request) && is_allowed(request) && !request.is_sub()
}

/// The filters on what goes into another's answer: a program's output may be a page. The worker that has waited for includes is let go: a
/// long page is sent as fast as the client takes it.
pub(crate) async fn filter(request: &mut Request, body: Body) -> Body {
    let body = filter::run(request, body, filter::RESOURCE).await;
    plan().release(request);
    body
}

async fn expanded(request: &mut Request, body: Body) -> Body {
    if request.reply.marks.have(Marks::EXPANDED) || request.is_sub() {
        return body;
    }
    pass(request);
    if !is_allowed(request) {
        refused(request);
        return body;
    }
    request.reply.headers_out.unset("Content-Length");
    if request.resource.dir.include.last_modified != Some(true) {
        request.reply.headers_out.unset("Last-Modified");
    }
    if request.resource.dir.include.etag != Some(true) {
        request.reply.headers_out.unset("ETag");
    }
    match kept::collect(request, body, LONGEST).await {
        Ok(text) => match page::of_text(request, text).await {
            Ok(parsed) => output::expand(request, Rc::new(parsed)).await,
            Err(refused) => {
                tell(request, &refused);
                output::broken(BodyError::Page)
            }
        },
        Err(error) => output::broken(error),
    }
}

fn is_allowed(request: &Request) -> bool {
    request.resource.dir.core.options.contains(OptionBits::INCLUDES)
}

/// The answer has come through the filter, with or without a change.
fn pass(request: &mut Request) {
    request.reply.filters.retain(|filter| &**filter != FILTER);
    if request.resource.dir.filter.is_set() {
        request.reply.marks.set(Marks::EXPANDED);
    }
}

fn refused(request: &mut Request) {
    let message = format!(
        "Options +Includes (or IncludesNOEXEC) wasn't set, INCLUDES filter removed: {}",
        String::from_utf8_lossy(&request.target.uri)
    );
    log::request(request, Severity::Warn, "include", &message);
    request.lasting = false;
}

/// Validators are about the page's source, so they are left out unless the configuration says that they hold for
/// what is made of it; then a condition may be answered at once.
fn header(request: &mut Request, file: &OpenFile, expanded: bool) -> Result<Option<Body>, Halt> {
    let conf = request.resource.dir.include.clone();
    let by_group_bit = conf.x_bit_hack == Some(XBitHack::Full) && has_mode(request, GROUP_EXECUTES);
    request.reply.headers_out.set("Accept-Ranges", Bytes::from_static(b"bytes"));
    if by_group_bit || conf.last_modified == Some(true) || !expanded {
        let modified = text::http_date(file.info.mtime.min(request.client.second()));
        request.reply.headers_out.set("Last-Modified", Bytes::copy_from_slice(&modified));
    }
    if conf.etag == Some(true)
        && let Some(etag) = file::etag(request, file)
    {
        request.reply.headers_out.set("ETag", etag);
    }
    // Only the group's bit says that a copy may be kept (mod_include's `no_local_copy`).
    request.reply.no_cache = !by_group_bit;
    if !by_group_bit {
        return Ok(None);
    }
    let body = file::finish(request, Body::Empty)?;
    Ok((request.reply.status == 304).then_some(body))
}
