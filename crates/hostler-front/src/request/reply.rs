//! What is to be answered, as far as it is known.

use crate::io::early::Early;
use crate::values::table::Table;
use bytes::Bytes;
use std::cell::RefCell;
use std::rc::Weak;

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
            is_framed: false,
            no_cache: false,
            is_uncacheable: false,
            sent: None,
            early: None,
        }
    }
}
