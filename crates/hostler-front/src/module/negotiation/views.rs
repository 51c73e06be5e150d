//! The variants of a document that stand beside it in its directory (`Options MultiViews`): `page.html.en` of `page`.

use super::accept;
use super::map;
use super::variant::{CGI, Variant};
use super::{MAP_HANDLER, MAP_TYPE, MOST_VARIANTS, read_map};
use crate::limits::listing;
use crate::log::{self, Severity};
use crate::module::core::entry::Entries;
use crate::module::core::file::VariantList;
use crate::module::core::walk;
use crate::request::Request;
use crate::request::flow::Halt;
use bytes::Bytes;
use hostler_config::directives::mime;
use hostler_wire::site::{self, FileKind};

/// The variants, and the requests that the files were looked up with; and whether files were found at all.
#[derive(Default)]
pub(super) struct Views {
    pub(super) variants: Vec<Variant>,
    pub(super) found: Vec<Request>,
    /// Data that is valid while the directory does not change.
    pub(super) list: Option<VariantList>,
}

/// Looks for variants of the file name that is not there.
pub(super) async fn find(request: &mut Request) -> Result<Views, Halt> {
    let filename = request.resource.filename.clone();
    let Some(slash) = filename.iter().rposition(|&b| b == b'/') else { return Ok(Views::default()) };
    let (directory, name) = filename.split_at(slash + 1);
    let listed = list(request, directory, name).await?;
    if listed.is_empty() {
        return Ok(Views::default());
    }
    let end = request.target.uri.len().saturating_sub(request.resource.path_info.len());
    let base = &request.target.uri[..end];
    let base = base[..base.iter().rposition(|&b| b == b'/').map_or(0, |n| n + 1)].to_vec();
    let Some(entries) = Entries::of(request, directory, &base).await else { return Err(Halt::Status(403)) };
    let mut views = Views { list: entries.modified().map(validator), ..Views::default() };
    for entry in listed {
        let Some(info) = entry.info.filter(|info| info.kind == FileKind::Regular) else { continue };
        let (mut sub, phase) = entries.look_up(&entry, info, &request.resource.path_info).await;
        crate::limits::budget::check(request)?;
        if !takes_part(&sub, &entry.name, name) || !matches!(phase, Ok(()) | Err(Halt::Redirect { .. })) {
            continue;
        }
        if is_map(&sub) {
            walk::find_again(&mut sub).await?;
            let variants = read_map(&sub).await?;
            return Ok(Views { variants, ..Views::default() });
        }
        views.variants.push(variant(&sub, &entry, views.found.len()));
        views.found.push(sub);
    }
    if views.variants.is_empty() {
        let message = format!(
            "Negotiation: discovered file(s) matching request: {} (None could be negotiated).",
            String::from_utf8_lossy(&filename)
        );
        log::request(request, Severity::Error, "negotiation", &message);
        return Err(Halt::Status(404));
    }
    // Between equals the name decides, whatever order the directory has.
    views
        .variants
        .sort_by(|a, b| b.source_quality.total_cmp(&a.source_quality).then_with(|| a.file.cmp(&b.file)));
    Ok(views)
}

/// The validator of a directory that was changed then.
fn validator(microseconds: i128) -> VariantList {
    VariantList(format!("\"{microseconds:x}\"").into_bytes())
}

/// Files of the directory whose names go on with a dot after `name`.
async fn list(request: &Request, directory: &[u8], name: &[u8]) -> Result<Vec<site::Entry>, Halt> {
    let site = request.thread.site(&request.server);
    let _leave = listing::leave(request, &site).await?;
    let path = directory.strip_suffix(b"/").unwrap_or(directory);
    let listed = site.list(path, &[name, b"."].concat()).await;
    let (status, why) = match listed {
        Ok(Ok(entries)) => {
            let is_file = |entry: &site::Entry| entry.info.is_none_or(|i| i.kind != FileKind::Directory);
            let files: Vec<_> = entries.into_iter().filter(is_file).collect();
            if files.len() <= MOST_VARIANTS {
                return Ok(files);
            }
            (500, format!("there are more than {MOST_VARIANTS} variants"))
        }
        Ok(Err(errno)) => (403, std::io::Error::from_raw_os_error(errno).to_string()),
        Err(error) => (503, error.to_string()),
    };
    let message = format!("cannot read directory for multi: {}: {why}", String::from_utf8_lossy(directory));
    log::request(request, Severity::Error, "negotiation", &message);
    Err(Halt::Status(status))
}

/// Returns whether extensions that say nothing are those of the name that was asked for, in its order.
fn takes_part(sub: &Request, file: &[u8], asked: &[u8]) -> bool {
    let types = sub.server.conf.mime.types();
    let Some(unknown) = mime::unknown_parts(file, &sub.resource.dir.mime, types) else { return false };
    let mut left = unknown.into_iter().peekable();
    for part in asked.split(|&b| b == b'.') {
        left.next_if_eq(&part);
    }
    left.peek().is_none() && (sub.resource.content_type.is_some() || sub.resource.handler.is_some())
}

fn is_map(sub: &Request) -> bool {
    sub.resource.content_type.as_deref() == Some(MAP_TYPE.as_bytes())
        || sub.resource.handler.as_deref() == Some(MAP_HANDLER.as_bytes())
}

fn variant(sub: &Request, entry: &site::Entry, found: usize) -> Variant {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let media_type = sub.resource.content_type.as_ref().map_or_else(|| CGI.to_owned(), text);
    let mut variant = Variant {
        file: String::from_utf8_lossy(&entry.name).into_owned(),
        languages: sub.resource.content_languages.iter().map(text).collect(),
        encoding: sub.resource.content_encoding.as_ref().map(text),
        length: entry.info.map(|info| info.size),
        has_handler: sub.resource.handler.is_some(),
        found: Some(found),
        ..Variant::default()
    };
    variant.set_type(accept::entry(&media_type).0);
    variant
}

/// Lengths that a map does not tell.
pub(super) async fn lengths(request: &Request, variants: &mut [Variant]) -> Result<(), Halt> {
    let end = request.resource.filename.iter().rposition(|&b| b == b'/').map_or(0, |n| n + 1);
    for variant in variants.iter_mut().filter(|variant| variant.length.is_none()) {
        crate::limits::budget::sub_request(request).await?;
        let path = [&request.resource.filename[..end], variant.file.as_bytes()].concat();
        variant.length = crate::request::expr_host::size(request, &path).await;
    }
    Ok(())
}

/// The most bytes that are read of a map.
pub(super) const LARGEST_MAP: u64 = map::LARGEST;
