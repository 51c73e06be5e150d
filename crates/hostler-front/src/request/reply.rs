//! The response as far as it is known.

use crate::io::early::Early;
use crate::values::table::Table;
use bytes::Bytes;
use std::cell::RefCell;
use std::rc::Weak;

/// The server's own marks of a response. (Notes are for programs, which may set and read them.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(u8);

impl Marks {
    /// It is sent as the script wrote it (nph-).
    pub(crate) const RAW: Self = Self(1);
    /// It is never cut: what programs write is different each time, so its pieces don't fit.
    pub(crate) const UNRANGED: Self = Self(2);
    /// Its end came by itself: however short it is, nobody knew that when it began.
    pub(crate) const FLUSHED: Self = Self(4);
    /// It is another server's, which has its own `Server` field.
    pub(crate) const KEEPS_SERVER: Self = Self(8);
    /// It has been through the filter for includes.
    pub(crate) const EXPANDED: Self = Self(16);
    /// Its file is a page, of a sub-request: whoever includes it expands it in place.
    pub(crate) const NESTED: Self = Self(32);
    /// Quirk(apache): its status has no status line, so the client gets that of 500, and the log the status.
    pub(crate) const WITHOUT_LINE: Self = Self(64);
    /// Quirk(apache): filters that compress wait for its first byte, however slow, because mod_cgi flushes nothing by itself.
    pub(crate) const AWAITED: Self = Self(128);

    pub(crate) const fn have(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    pub(crate) fn set(&mut self, mark: Self) {
        self.0 |= mark.0;
    }

    pub(crate) fn unset(&mut self, mark: Self) {
        self.0 &= !mark.0;
    }
}

/// Status, fields and what else modules say of the answer before it is sent.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// A reason phrase of the script's own.
    pub(crate) reason: Option<Bytes>,
    pub(crate) headers_out: Table,
    /// Kept in error answers too.
    pub(crate) err_headers_out: Table,
    /// Output filters by name (lower case), in order.
    pub(crate) filters: Vec<Bytes>,
    /// Request headers that expressions have looked at; they end up in `Vary`.
    pub(crate) varies: RefCell<Vec<Bytes>>,
    /// Error answers that a program has set (`custom_response`), by status.
    pub(crate) custom_responses: Vec<(u16, Bytes)>,
    pub(crate) marks: Marks,
    /// The answer's program has framed it in chunks.
    pub(crate) is_framed: bool,
    /// `no_local_copy`: conditional requests are not answered 304.
    pub(crate) no_cache: bool,
    /// `no_cache`: caches of HTTP/1.0 are told to keep nothing.
    pub(crate) is_uncacheable: bool,
    /// Bytes of the answer's body, once it has been sent.
    pub(crate) sent: Option<u64>,
    /// Whom interim answers are told, if the client understands them. A request outlives its connection where something is
    /// done after the answer, and must not keep that open.
    pub(crate) early: Option<Weak<dyn Early>>,
}

impl Reply {
    /// Returns whether its status sends the client elsewhere (`ap_is_HTTP_REDIRECT`).
    pub(crate) fn is_redirection(&self) -> bool {
        (300..400).contains(&self.status)
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            status: 200,
            reason: None,
            headers_out: Table::default(),
            err_headers_out: Table::default(),
            filters: Vec::new(),
            varies: RefCell::default(),
            custom_responses: Vec::new(),
            marks: Marks::default(),
            is_framed: false,
            no_cache: false,
            is_uncacheable: false,
            sent: None,
            early: None,
        }
    }
}
