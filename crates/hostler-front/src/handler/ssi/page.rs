//! A page as it is kept with its open file: parsed once, with what the configuration says about running it.

use crate::open_file::OpenFile;
use crate::request::Request;
use hostler_config::DirConfig;
use hostler_config::directives::core::OptionBits;
use hostler_ssi::{Markers, Page, Settings};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Longest page that is expanded, in bytes. It has to be in memory as a whole.
pub(super) const LONGEST: u64 = 16 << 20;

/// The place for a page in an open file.
#[derive(Default)]
pub(crate) struct PageCell(RefCell<Option<Rc<Parsed>>>);

impl fmt::Debug for PageCell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.borrow().is_some() { "a page" } else { "no page" })
    }
}

/// A parsed page under one configuration.
pub(super) struct Parsed {
    pub(super) page: Arc<Page>,
    pub(super) settings: Settings,
    /// How long its last output was, in bytes.
    pub(super) last_length: Cell<usize>,
    markers: Markers,
    legacy: bool,
    /// The configuration that `settings` were made from.
    dir: Arc<DirConfig>,
}

/// The request's file as a page; `None` if it can't be read as a whole.
pub(super) fn parsed(request: &Request, file: &OpenFile) -> Option<Rc<Parsed>> {
    if let Some(known) = &*file.page.0.borrow()
        && Arc::ptr_eq(&known.dir, &request.dir)
    {
        return Some(known.clone());
    }
    let parsed = Rc::new(parse(request, file)?);
    *file.page.0.borrow_mut() = Some(parsed.clone());
    Some(parsed)
}

fn parse(request: &Request, file: &OpenFile) -> Option<Parsed> {
    let (markers, legacy) = language(request);
    let known = file.page.0.borrow();
    let page = match known.as_ref().filter(|known| known.markers == markers && known.legacy == legacy) {
        Some(known) => known.page.clone(),
        None => {
            let text = file.text(LONGEST)?;
            Arc::new(Page::parse(&text[..], &markers, legacy))
        }
    };
    Some(with_settings(request, page, markers, legacy))
}

/// A page that is no file.
pub(super) fn of_text(request: &Request, text: &[u8]) -> Parsed {
    let (markers, legacy) = language(request);
    let page = Arc::new(Page::parse(text, &markers, legacy));
    with_settings(request, page, markers, legacy)
}

fn language(request: &Request) -> (Markers, bool) {
    let legacy = request.dir.include.legacy_expressions == Some(true);
    (request.server.conf.include.markers(), legacy)
}

fn with_settings(request: &Request, page: Arc<Page>, markers: Markers, legacy: bool) -> Parsed {
    let no_exec = !request.dir.core.options.contains(OptionBits::INCLUDES_EXEC);
    let settings = request.dir.include.settings(no_exec);
    let last_length = Cell::new(page.source().len());
    Parsed { page, settings, last_length, markers, legacy, dir: request.dir.clone() }
}
