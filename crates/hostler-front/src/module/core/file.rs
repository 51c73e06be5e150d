//! The default handler: files as they are.

use crate::hook::conditional::{self, Condition, Validators};
use crate::hook::plan::plan;
use crate::io::body::{Body, RequestBody, Segment};
use crate::io::open_file::OpenFile;
use crate::log::{self, Severity};
use crate::module::core::digest;
use crate::request::flow::Halt;
use crate::request::methods;
use crate::request::slots::{Relation, State};
use crate::request::{FileEntry, Request};
use crate::values::text;
use bytes::Bytes;
use hostler_config::directives::core::{AcceptPathInfo, RangeLimit};
use hostler_wire::site::FileInfo;
use std::rc::Rc;

/// Sends the request's file.
pub(super) async fn handle(request: &mut Request) -> Result<Body, Halt> {
    if &*request.target.method == b"OPTIONS" {
        drop_body(request).await?;
        return super::options::handle(request);
    }
    let file = take(request).await?;
    digest::prepare(request, &file).await?;
    validators(request, &file);
    content_md5(request, &file);
    request.end_with_client();
    finish(request, whole(&file))
}

/// The request's file, once nothing speaks against it and its body is read.
pub(crate) async fn take(request: &mut Request) -> Result<Rc<OpenFile>, Halt> {
    keep_body(request).await?;
    drop_body(request).await?;
    let file = check(request)?;
    super::source::check(request, &file)?;
    Ok(file)
}

/// Reads a body that nobody wants: whether it is malformed, or larger than `LimitRequestBody`, must be known before the
/// answer (`ap_discard_request_body`).
pub(crate) async fn drop_body(request: &Request) -> Result<(), Halt> {
    if request.is_part() || request.target.body.again().is_some() {
        return Ok(());
    }
    while let Some(chunk) = request.target.body.chunk().await {
        chunk.map_err(|error| {
            log::request(request, Severity::Info, "core", &format!("the request body was refused: {error}"));
            Halt::Status(error.status())
        })?;
    }
    Ok(())
}

/// `KeptBodySize`: what a page includes may read the body in its turn, also when there is none.
async fn keep_body(request: &mut Request) -> Result<(), Halt> {
    if request.resource.dir.core.kept_body_size.unwrap_or(0) == 0 || request.target.body.again().is_some() {
        return Ok(());
    }
    let mut whole = Vec::new();
    while let Some(chunk) = request.target.body.chunk().await {
        whole.extend_from_slice(&chunk.map_err(|error| Halt::Status(error.status()))?);
    }
    request.target.body = RequestBody::kept(whole.into());
    Ok(())
}

/// The checks of Apache's default handler, in its order.
pub(crate) fn check(request: &mut Request) -> Result<Rc<OpenFile>, Halt> {
    let accepts = request.resource.dir.core.accept_path_info.unwrap_or_default() == AcceptPathInfo::On;
    check_path(request, accepts)
}

/// The same for a handler that takes what follows the file in the path, or does not.
pub(crate) fn check_path(request: &mut Request, takes_path_info: bool) -> Result<Rc<OpenFile>, Halt> {
    let path = || String::from_utf8_lossy(&request.resource.filename).into_owned();
    if !request.is_get() && &*request.target.method != b"POST" {
        return method_not_allowed(request);
    }
    match &request.resource.found {
        FileEntry::Nothing | FileEntry::Directory(_) => {
            log::request(request, Severity::Info, "core", &format!("File does not exist: {}", path()));
            Err(Halt::Status(404))
        }
        FileEntry::Other(_) => {
            log::request(
                request,
                Severity::Error,
                "core",
                &format!("{} is neither file nor directory", path()),
            );
            Err(Halt::Status(403))
        }
        _ if !request.resource.path_info.is_empty() && !takes_path_info => {
            let message = format!(
                "File does not exist: {}{}",
                path(),
                String::from_utf8_lossy(&request.resource.path_info)
            );
            log::request(request, Severity::Info, "core", &message);
            Err(Halt::Status(404))
        }
        FileEntry::File(_, Ok(file)) => Ok(file.clone()),
        FileEntry::File(_, Err(errno)) => {
            let message = if *errno == rustix::io::Errno::REMOTE.raw_os_error() {
                format!("{} is made up by a program (FUSE) that may keep the server waiting", path())
            } else {
                let error = std::io::Error::from_raw_os_error(*errno);
                format!("file permissions deny server access: {} ({error})", path())
            };
            log::request(request, Severity::Error, "core", &message);
            Err(Halt::Status(403))
        }
    }
}

fn method_not_allowed<T>(request: &mut Request) -> Result<T, Halt> {
    request.reply.headers_out.set("Allow", methods::allowed(request));
    let known = methods::is_known_method(request);
    if !known {
        let (method, uri) = (request.target.method.escape_ascii(), request.target.uri.escape_ascii());
        let protocol = crate::request::variables::protocol(request);
        let message = format!("AH00135: Invalid method in request {method} {uri} {protocol}");
        log::request(request, Severity::Error, "core", &message);
    }
    Err(Halt::Status(if known { 405 } else { 501 }))
}

/// The validator of the list that an answer was chosen from: it is a part of the answer's (RFC 2295 §9.2).
#[derive(Clone)]
pub(crate) struct VariantList(pub(crate) Vec<u8>);

impl State for VariantList {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn related(&self, _: &Request, relation: Relation) -> Option<Box<dyn State>> {
        (relation == Relation::Redirect).then(|| self.copy())
    }
}

/// Last-Modified, ETag, Accept-Ranges.
pub(crate) fn validators(request: &mut Request, file: &OpenFile) {
    let modified = text::http_date(file.info.mtime.min(request.client.second()));
    request.reply.headers_out.set("Last-Modified", Bytes::copy_from_slice(&modified));
    // What a page is made of does not tell what it is made into.
    if plan().remakes(request) {
        request.reply.no_cache = true;
    } else if let Some(etag) = etag(request, file) {
        request.reply.headers_out.set("ETag", etag);
    }
    let none = request.resource.dir.core.max_ranges == Some(RangeLimit::None);
    request.reply.headers_out.set("Accept-Ranges", Bytes::from_static(if none { b"none" } else { b"bytes" }));
}

/// `ContentDigest`.
fn content_md5(request: &mut Request, file: &OpenFile) {
    if request.resource.dir.core.content_digest == Some(true)
        && let Some(digests) = file.extensions.of::<digest::DigestCell>().get()
    {
        request.reply.headers_out.set("Content-MD5", digests.md5.clone());
    }
}

/// An entity tag as `FileETag` says: hexadecimal parts, joined by `-`; weak while the file is that young that it
/// could change again within the clock's resolution.
pub(crate) fn etag(request: &Request, file: &OpenFile) -> Option<Vec<u8>> {
    let own = if request.resource.dir.core.etag.parts().digest {
        // What the content is, whenever it was written.
        file.extensions
            .of::<digest::DigestCell>()
            .get()
            .map(|digests| format!("\"{}\"", digests.sha1).into_bytes())
    } else {
        etag_of(request, &file.info)
    };
    match (own, request.slots.find::<VariantList>()) {
        (Some(own), Some(VariantList(list))) => Some(with_list(own, list)),
        (own, _) => own,
    }
}

/// Both in one; it is as weak as the weaker of them.
fn with_list(mut own: Vec<u8>, list: &[u8]) -> Vec<u8> {
    own.pop();
    if list.starts_with(b"W") && !own.starts_with(b"W") {
        own.splice(..0, *b"W/");
    }
    own.push(b';');
    own.extend_from_slice(list.strip_prefix(b"W/").unwrap_or(list).strip_prefix(b"\"").unwrap_or(list));
    own
}

/// The same of what has no content, such as a directory.
pub(crate) fn etag_of(request: &Request, info: &FileInfo) -> Option<Vec<u8>> {
    let parts = request.resource.dir.core.etag.parts();
    let mtime = info.mtime as i128 * 1_000_000 + i128::from(info.mtime_nsec / 1000);
    let mut pieces = Vec::new();
    if parts.inode {
        pieces.push(format!("{:x}", info.ino));
    }
    if parts.size {
        pieces.push(format!("{:x}", info.size));
    }
    if parts.mtime {
        pieces.push(format!("{mtime:x}"));
    }
    if pieces.is_empty() {
        return None;
    }
    let weak = if request.client.second() - info.mtime > 1 { "" } else { "W/" };
    Some(format!("{weak}\"{}\"", pieces.join("-")).into_bytes())
}

/// The whole file: from memory when it is small.
pub(crate) fn whole(file: &Rc<OpenFile>) -> Body {
    match file.content() {
        Some(content) => Body::Bytes(content),
        None => Body::Segments(vec![Segment::File { file: file.clone(), offset: 0, length: file.info.size }]),
    }
}

/// Answers the request's conditions, or goes on with `body`.
pub(crate) fn finish(request: &mut Request, body: Body) -> Result<Body, Halt> {
    let etag = request.reply.headers_out.find("ETag").cloned();
    let modified = request.reply.headers_out.find("Last-Modified").and_then(|v| conditional::date(v));
    let validators = Validators { etag: etag.as_deref(), modified, now: request.client.second() };
    // An error's document is sent whatever the client has.
    if request.reply.no_cache || request.is_sub() || !(200..300).contains(&request.reply.status) {
        return Ok(body);
    }
    match conditional::evaluate(request, validators) {
        Condition::Met => Ok(body),
        Condition::NotModified => {
            request.reply.status = 304;
            Ok(Body::Empty)
        }
        Condition::Failed => Err(Halt::Status(412)),
    }
}
