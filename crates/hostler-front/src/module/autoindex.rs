//! Listings of directories (mod_autoindex): which directories are listed, and what a listing is made of. How it
//! looks is decided with its directives, in `hostler_config::directives::autoindex`.
//!
//! ```text
//! entries    the files that a client may know of
//! parts      HeaderName and ReadmeName
//! title      ScanHTMLTitles
//! ```
//!
//! **Diagnostics**: a directory that is not listed is told of in its virtual host's ErrorLog under `autoindex`.

mod entries;
mod parts;
mod title;

use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::limits::watch::Place;
use crate::limits::{aside, kept, listing};
use crate::log::{self, Severity};
use crate::module::cgi;
use crate::module::core::file;
use crate::module::core::types::{DIRECTORY, DIRECTORY_NAME};
use crate::request::flow::Halt;
use crate::request::{FileEntry, Request};
use crate::values::text;
use bytes::Bytes;
use hostler_config::DirConfig;
use hostler_config::directives::autoindex::{IndexOption, Listing, View, render};
use hostler_config::directives::core::OptionBits;
use hostler_config::directives::log_config;
use hostler_sys::time::{Zone, utc_offset};

pub(crate) static MODULE: Module = Module {
    handlers: &[Handler {
        names: &[DIRECTORY_NAME],
        types: &[DIRECTORY],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    ..Module::new("autoindex", |_| false)
};

/// Lists the directory, if Options Indexes.
pub(crate) async fn handle(request: &mut Request) -> Result<Body, Halt> {
    if !request.is_get() || !request.resource.found.is_directory() {
        return crate::hook::handler::send_file(request).await;
    }
    request.budget.watched.enter(Place::handler("autoindex"));
    file::drop_body(request).await?;
    if !request.resource.dir.core.options.contains(OptionBits::INDEXES) {
        return Err(forbidden(request));
    }
    if request.resource.filename.last() != Some(&b'/') {
        request.resource.filename.push(b'/');
    }
    let site = request.thread.site(&request.server);
    let leave = listing::leave(request, &site).await?;
    let listed = entries::list(request).await?;
    let dir = request.resource.dir.clone();
    if listed.len().saturating_mul(dir.weight) > MOST_WORK {
        let message = format!(
            "{} has too many files to be listed with so large .htaccess files",
            String::from_utf8_lossy(&request.resource.filename)
        );
        log::request(request, Severity::Error, "autoindex", &message);
        return Err(Halt::Status(500));
    }
    request.resource.content_type = Some(dir.autoindex.content_type().into());
    if dir.autoindex.options.effective().has(IndexOption::TrackModified) {
        validators(request);
    }
    if request.is_head() {
        return Ok(Body::Empty);
    }
    let view = View::new(&dir.autoindex, request.target.args.as_deref());
    let shown = entries::shown(request, &view, listed).await?;
    drop(leave);
    request.budget.watched.enter(Place::OUTSIDE);
    let header = Box::pin(parts::header(request)).await?;
    let readme = Box::pin(parts::readme(request)).await?;
    let parts = Parts {
        uri: request.target.uri.clone(),
        directory: request.resource.filename.clone(),
        shown,
        header,
        readme,
    };
    let signature = cgi::signature(request);
    let page = if parts.shown.len() <= FEW && parts.header.len() + parts.readme.len() <= SHORT {
        page(&dir, &view, &parts, &signature)
    } else {
        let permit = aside::permit(request).await?;
        aside::run(request, permit, move || page(&dir, &view, &parts, &signature)).await?
    };
    let page = kept::keep(request, page.into()).map_err(|why| {
        log::request(request, Severity::Error, "autoindex", &format!("the listing is not sent: {why}"));
        Halt::Status(why.status())
    })?;
    Ok(Body::Bytes(page))
}

/// Listings of more files, or with longer texts around them, are written aside.
const FEW: usize = 200;
const SHORT: usize = 64 << 10;

/// Files times bytes of `.htaccess`: descriptions and icons are looked for by pattern, for each file.
const MOST_WORK: usize = 1 << 28;

/// The parts of a listing.
struct Parts {
    uri: Vec<u8>,
    directory: Vec<u8>,
    shown: Vec<entries::Row>,
    header: parts::Content,
    readme: parts::Content,
}

fn page(dir: &DirConfig, view: &View, parts: &Parts, signature: &[u8]) -> Vec<u8> {
    let entries: Vec<_> = parts.shown.iter().map(entries::Row::entry).collect();
    let listing = Listing {
        uri: &parts.uri,
        directory: &parts.directory,
        entries: &entries,
        header: parts.header.part(),
        readme: parts.readme.part(),
        signature,
    };
    render(&dir.autoindex, view, &listing, &|seconds| local_zone(seconds))
}

fn forbidden(request: &Request) -> Halt {
    let names: Vec<&str> = request.resource.dir.dir.index_files().collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(",") };
    let message = format!(
        "Cannot serve directory {}: No matching DirectoryIndex ({names}) found, and server-generated directory index \
         forbidden by Options directive",
        String::from_utf8_lossy(&request.resource.filename)
    );
    log::request(request, Severity::Error, "autoindex", &message);
    Halt::Status(403)
}

/// Last-Modified and ETag of the directory itself (TrackModified).
fn validators(request: &mut Request) {
    let FileEntry::Directory(info) = request.resource.found else { return };
    let modified = text::http_date(info.mtime.min(request.client.second()));
    request.reply.headers_out.set("Last-Modified", Bytes::copy_from_slice(&modified));
    if let Some(etag) = file::etag_of(request, &info) {
        request.reply.headers_out.set("ETag", etag);
    }
}

/// The names of time zones are in no format that listings use.
fn local_zone(seconds: i64) -> log_config::Zone<'static> {
    log_config::Zone { offset: utc_offset(seconds, Zone::Local) as i32, name: "" }
}
