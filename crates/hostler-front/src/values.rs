//! Values that stand for themselves: tables, texts, statuses, classes of clients. Nothing here knows of a request.

pub(crate) mod address;
pub(crate) mod codings;
pub(crate) mod extensions;
pub(crate) mod random;
pub(crate) mod status;
pub(crate) mod stopping;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod trailers;
