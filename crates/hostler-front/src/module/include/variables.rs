//! The variables of a page and of all that it includes, which share them.
//!
//! Apache fills a table with some fifty variables before each page. Here a variable is made when it is asked for:
//! what pages have `set` is in a table, the rest comes from the request for the outer page.

use super::dates;
use crate::module::cgi;
use crate::request::Request;
use crate::values::table::Table;
use bytes::Bytes;
use hostler_cgi::Environment as Programs;
use hostler_expr::effort;
use hostler_ssi::{Environment, Zone, shell_escape, unescape_url};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

/// All that pages have set together, in bytes; more is not kept. The memory is shared by all sites.
const MOST: usize = 1 << 20;
/// The cost of a variable besides its name and value: sub-requests get a copy of each.
const EACH: usize = 1024;

/// Variables that are made when they are first shown, and from then on keep their text.
const LAZY: [&str; 4] = ["DATE_LOCAL", "DATE_GMT", "LAST_MODIFIED", "USER_NAME"];
/// The number of dates among them.
const DATES: usize = 3;

/// mod_include's own variables but for the lazy ones, in its order.
const DOCUMENT: [&str; 5] =
    ["DOCUMENT_URI", "DOCUMENT_ARGS", "DOCUMENT_PATH_INFO", "DOCUMENT_NAME", "QUERY_STRING_UNESCAPED"];

/// The variables of one request.
#[derive(Default)]
pub(super) struct Variables {
    set: Environment,
    set_bytes: usize,
    /// Counts changes to what pages have set.
    version: u32,
    lazy: [OnceCell<Vec<u8>>; 4],
    /// The environment of programs of the outer page; made when a name is not found elsewhere.
    programs: OnceCell<Programs>,
    /// Messages that were written about the documents.
    messages: Cell<u32>,
    /// `PATH_TRANSLATED`, which can't be found out when it is asked for.
    translated: Option<Vec<u8>>,
}

impl Variables {
    /// For a page with this path info translated to a file name.
    pub(super) fn new(translated: Option<Vec<u8>>) -> Self {
        Self { translated, ..Self::default() }
    }

    /// Counts a message; how many there were before it.
    pub(super) fn count_message(&self) -> u32 {
        self.messages.replace(self.messages.get().saturating_add(1))
    }

    /// The value of a variable, whatever the case of its name.
    pub(super) fn value<'a>(
        &'a self,
        page: &'a Request,
        name: &[u8],
        format: &[u8],
    ) -> Option<Cow<'a, [u8]>> {
        if let Some(which) = lazy(name) {
            return Some(Cow::Borrowed(self.made(page, which, format)));
        }
        if let Some(value) = self.set.value(name, |_| Vec::new()) {
            return Some(Cow::Borrowed(value));
        }
        match DOCUMENT.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes())) {
            Some(which) => document(page, which),
            None => self.programs(page).value(name).map(Cow::Borrowed),
        }
    }

    /// Sets a variable; false if there is no more room.
    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) -> bool {
        self.version = self.version.wrapping_add(1);
        if let Some(which) = lazy(name) {
            self.lazy[which] = OnceCell::from(value.to_vec());
            return true;
        }
        let _ = effort::spend(value.len());
        let former = self.set.value(name, |_| Vec::new()).map(<[u8]>::len);
        let bytes = self.set_bytes + value.len();
        let bytes = former.map_or_else(|| bytes + name.len() + EACH, |former| bytes - former);
        if bytes > MOST {
            return false;
        }
        self.set_bytes = bytes;
        self.set.set(name, value);
        true
    }

    /// A document begins that was asked for with this query.
    pub(super) fn set_query(&mut self, query: &[u8]) {
        self.version = self.version.wrapping_add(1);
        self.set.set_query(query);
    }

    /// Formats all dates anew (`config timefmt`).
    pub(super) fn format_dates(&mut self, page: &Request, format: &[u8]) {
        for which in 0..DATES {
            self.lazy[which] = OnceCell::new();
            self.made(page, which, format);
        }
    }

    fn made(&self, page: &Request, which: usize, format: &[u8]) -> &[u8] {
        self.lazy[which].get_or_init(|| {
            let now = page.client.second();
            let info = page.resource.found.info();
            let (seconds, zone) = match which {
                0 => (now, Zone::Local),
                1 => (now, Zone::Gmt),
                2 => (info.map_or(0, |info| info.mtime), Zone::Local),
                _ => return owner(info.map_or(0, |info| info.uid)),
            };
            let mut text = Vec::new();
            dates::format(seconds, zone, format, &mut text);
            text
        })
    }

    fn programs(&self, page: &Request) -> &Programs {
        self.programs.get_or_init(|| cgi::told(page, self.translated.as_deref()))
    }

    /// All variables (`printenv`); what nobody has asked for yet is made now.
    pub(super) fn all(&self, page: &Request, format: &[u8]) -> Programs {
        for which in 0..LAZY.len() {
            self.made(page, which, format);
        }
        self.for_programs(page)
    }

    /// All variables as a program in the page gets them.
    pub(super) fn for_programs(&self, page: &Request) -> Programs {
        let mut all = self.programs(page).clone();
        self.each_own(page, &mut |name, value| all.set(name, value));
        all
    }

    /// Visits the variables beyond the request's own, in mod_include's order.
    fn each_own(&self, page: &Request, visit: &mut dyn FnMut(&[u8], &[u8])) {
        for which in 0..DATES {
            self.visit_lazy(which, visit);
        }
        for (which, name) in DOCUMENT.iter().enumerate() {
            if which == 3 {
                self.visit_lazy(DATES, visit);
            }
            if let Some(value) = document(page, which) {
                visit(name.as_bytes(), &value);
            }
        }
        self.set.each(|_| Vec::new(), visit);
    }

    /// Quirk(Apache): a variable that was never shown is there, and empty.
    fn visit_lazy(&self, which: usize, visit: &mut dyn FnMut(&[u8], &[u8])) {
        visit(LAZY[which].as_bytes(), self.lazy[which].get().map_or(&[], Vec::as_slice));
    }

    /// Puts what pages have set where sub-requests inherit it, and rules and logs see it. `known` is the version
    /// that the table has.
    pub(super) fn store(&self, page: &Request, table: &mut Table, known: &mut Option<u32>) {
        if known.replace(self.version) == Some(self.version) {
            return;
        }
        self.each_own(page, &mut |name, value| {
            table.set(Bytes::copy_from_slice(name), Bytes::copy_from_slice(value));
        });
    }

    /// Leaves what pages have set in a table.
    pub(super) fn leave(&self, table: &mut Table) {
        self.set.each(|_| Vec::new(), &mut |name, value| {
            table.set(Bytes::copy_from_slice(name), Bytes::copy_from_slice(value));
        });
    }

    /// Adds what a program inherits from the page around it and isn't told otherwise.
    pub(super) fn inherit(&self, page: &Request, table: &mut Table) {
        for (name, value) in self.programs(page).iter() {
            if !table.contains(name) {
                table.add(Bytes::copy_from_slice(name), Bytes::copy_from_slice(value));
            }
        }
    }
}

fn lazy(name: &[u8]) -> Option<usize> {
    LAZY.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// One of [`DOCUMENT`].
fn document(page: &Request, which: usize) -> Option<Cow<'_, [u8]>> {
    match which {
        0 => Some(Cow::Borrowed(&page.target.uri)),
        1 => Some(Cow::Borrowed(page.target.args.as_deref().unwrap_or_default())),
        2 => (!page.resource.path_info.is_empty()).then(|| Cow::Borrowed(&page.resource.path_info[..])),
        3 => Some(Cow::Borrowed(page.basename())),
        _ => page.target.args.as_deref().map(|query| Cow::Owned(unescaped(query))),
    }
}

/// `QUERY_STRING_UNESCAPED`: decoded, and with a backslash before whatever a shell would act on.
pub(super) fn unescaped(query: &[u8]) -> Vec<u8> {
    let (mut text, mut escaped) = (Vec::new(), Vec::new());
    unescape_url(query, &mut text);
    shell_escape(&text, &mut escaped);
    escaped
}

/// Name of a user; asked of the system once.
fn owner(uid: u32) -> Vec<u8> {
    thread_local! {
        static NAMES: RefCell<HashMap<u32, Vec<u8>>> = RefCell::default();
    }
    NAMES.with_borrow_mut(|names| {
        let look = || match hostler_sys::users::user_by_id(uid) {
            Ok(Some(user)) => user.name.into_bytes(),
            _ => b"<unknown>".to_vec(),
        };
        names.entry(uid).or_insert_with(look).clone()
    })
}
