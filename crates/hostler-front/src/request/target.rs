//! What a request asks for: the client's, or that of a redirect or a sub-request.

use crate::io::body::RequestBody;
use crate::values::table::Table;
use bytes::Bytes;

/// What is asked for, with which fields and which body.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) method: Bytes,
    /// Decoded and normalised path.
    pub(crate) uri: Vec<u8>,
    /// The query, without its question mark.
    pub(crate) args: Option<Bytes>,
    pub(crate) headers_in: Table,
    /// Fields that came several times, one by one: `headers_in` has them joined.
    pub(crate) repeated_in: Table,
    pub(crate) body: RequestBody,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            method: Bytes::from_static(b"GET"),
            uri: Vec::new(),
            args: None,
            headers_in: Table::default(),
            repeated_in: Table::default(),
            body: RequestBody::Empty,
        }
    }
}
