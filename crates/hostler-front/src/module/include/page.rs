//! A page as it is kept with its open file: parsed once, with what the configuration says about running it.

use super::room::Room;
use super::room::Share;
use crate::io::body::FILE_PIECE;
use crate::io::open_file::OpenFile;
use crate::limits::{aside, budget};
use crate::request::Request;
use bytes::Bytes;
use hostler_config::DirConfig;
use hostler_config::directives::core::OptionBits;
use hostler_expr::effort;
use hostler_ssi::{Markers, Page, Settings};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Longest page that is expanded, in bytes. It has to be in memory as a whole.
pub(super) const LONGEST: u64 = 16 << 20;

/// Longer pages are parsed aside, in bytes.
const SMALL: usize = 8 << 10;

/// The place for a page in an open file.
#[derive(Default)]
struct PageCell(RefCell<Option<Rc<Parsed>>>);

/// A parsed page under one configuration.
pub(super) struct Parsed {
    pub(super) page: Arc<Page>,
    /// The memory that it takes.
    pub(super) taken: Rc<Share>,
    pub(super) settings: Settings,
    /// The length of its last output, in bytes.
    pub(super) last_length: Cell<usize>,
    markers: Markers,
    legacy: bool,
    /// The configuration that `settings` were made from.
    dir: Arc<DirConfig>,
}

/// Why a page is not expanded.
pub(super) struct Refused {
    pub(super) why: &'static str,
    pub(super) status: u16,
}

const TOO_LARGE: Refused = Refused { why: "is too large to be expanded, or can't be read", status: 500 };
const NO_ROOM: Refused =
    Refused { why: "is not expanded: the site's pages in use take too much memory", status: 503 };
const FAILED: Refused = Refused { why: "is not expanded: the request has failed", status: 500 };

/// The request's file as a page.
pub(super) async fn parsed(request: &Request, file: &OpenFile) -> Result<Rc<Parsed>, Refused> {
    if let Some(known) = known(request, file) {
        return Ok(known);
    }
    let parsed = if file.info.size <= SMALL as u64 {
        let text = file.content().ok_or(TOO_LARGE)?;
        here(request, &text)?
    } else {
        let permit = aside::permit(request).await.map_err(|_| FAILED)?;
        // Meanwhile another request may have done it.
        if let Some(known) = known(request, file) {
            return Ok(known);
        }
        let text = text(request, file).await?;
        aside(request, permit, text).await?
    };
    let parsed = Rc::new(parsed);
    *file.extensions.of::<PageCell>().0.borrow_mut() = Some(parsed.clone());
    Ok(parsed)
}

/// Returns the data stored with the file, if it is in the language of this request.
fn known(request: &Request, file: &OpenFile) -> Option<Rc<Parsed>> {
    let known = file.extensions.of::<PageCell>().0.borrow().clone()?;
    if Arc::ptr_eq(&known.dir, &request.resource.dir) {
        return Some(known);
    }
    let (markers, legacy) = language(request);
    if known.markers != markers || known.legacy != legacy {
        return None;
    }
    let parsed = Rc::new(with_settings(request, known.page.clone(), known.taken.clone(), markers, legacy));
    *file.extensions.of::<PageCell>().0.borrow_mut() = Some(parsed.clone());
    Some(parsed)
}

/// The file's text.
async fn text(request: &Request, file: &OpenFile) -> Result<Bytes, Refused> {
    if file.info.size > LONGEST {
        return Err(TOO_LARGE);
    }
    let mut text = Vec::with_capacity(file.info.size as usize);
    while (text.len() as u64) < file.info.size {
        let piece = file.read(text.len() as u64, FILE_PIECE).map_err(|_| TOO_LARGE)?;
        text.extend_from_slice(&piece);
        effort::spend(piece.len()).map_err(|_| FAILED)?;
        budget::turn(request).await.map_err(|_| FAILED)?;
    }
    Ok(text.into())
}

/// A page that is no file.
pub(super) async fn of_text(request: &Request, text: Bytes) -> Result<Parsed, Refused> {
    if text.len() <= SMALL {
        return here(request, &text);
    }
    let permit = aside::permit(request).await.map_err(|_| FAILED)?;
    aside(request, permit, text).await
}

fn here(request: &Request, text: &[u8]) -> Result<Parsed, Refused> {
    let (markers, legacy) = language(request);
    let page = Page::parse_within_bounds(text, &markers, legacy).ok_or(TOO_LARGE)?;
    kept(request, page, markers, legacy)
}

async fn aside(request: &Request, permit: aside::Permit, text: Bytes) -> Result<Parsed, Refused> {
    let (markers, legacy) = language(request);
    let language = markers.clone();
    let parse = move || Page::parse_within_bounds(&text[..], &language, legacy);
    let page = aside::run(request, permit, parse).await.map_err(|_| FAILED)?;
    kept(request, page.ok_or(TOO_LARGE)?, markers, legacy)
}

/// The page with the memory that it takes.
fn kept(request: &Request, page: Page, markers: Markers, legacy: bool) -> Result<Parsed, Refused> {
    let site = request.thread.site(&request.server);
    let size = page.size();
    let taken = site.extensions.of::<Room>().take(size).or_else(|| {
        site.forget_made::<PageCell>();
        site.extensions.of::<Room>().take(size)
    });
    Ok(with_settings(request, Arc::new(page), Rc::new(taken.ok_or(NO_ROOM)?), markers, legacy))
}

fn language(request: &Request) -> (Markers, bool) {
    let legacy = request.resource.dir.include.legacy_expressions == Some(true);
    (request.server.conf.include.markers(), legacy)
}

fn with_settings(
    request: &Request,
    page: Arc<Page>,
    taken: Rc<Share>,
    markers: Markers,
    legacy: bool,
) -> Parsed {
    let no_exec = !request.resource.dir.core.options.contains(OptionBits::INCLUDES_EXEC);
    let settings = request.resource.dir.include.settings(no_exec);
    let last_length = Cell::new(page.source().len());
    Parsed { page, taken, settings, last_length, markers, legacy, dir: request.resource.dir.clone() }
}
