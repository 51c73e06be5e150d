//! Server-side includes as Apache's mod_include does them, without any I/O.
//!
//! A document is read once into a [`Page`], a flat list of literal stretches and ready-made elements
//! that can be shared by all requests. A [`Run`] walks one page for one request: it appends output,
//! asks its [`Host`] for variables and the time, and stops with a [`Need`] whenever something must come
//! from outside (another document, a program, a file's size). The driver fulfils the need, answers with
//! [`Run::resume`] and goes on.
//!
//! The driver decides which documents are parsed (filter, `Options`, `XBitHack`), how sub-requests walk, and how deep
//! includes may nest.

mod coding;
mod environment;
mod host;
mod lexer;
mod need;
mod page;
mod path;
mod program;
mod run;
mod size;
pub mod time;
mod value;

pub use coding::{shell_escape, unescape_url};
pub use environment::Environment;
pub use host::{Host, Severity, Zone};
pub use need::{Answer, FileFact, FileReference, Need, Output, Settings, SizeFormat, Step};
pub use page::{Markers, MarkersError, Page};
pub use run::Run;
pub use size::{abbreviated_size, size_with_commas};

/// Names that the host's environment has for every parsed document, beside all CGI meta-variables
/// (mod_include, `add_include_vars`). Lookup ignores the case of names.
///
/// The first four are computed when first used ([`Environment::defer`]). `QUERY_STRING_UNESCAPED` exists only
/// with a query ([`Environment::set_query`]), `DOCUMENT_PATH_INFO` only with path information; `DOCUMENT_ARGS`
/// is empty without a query. A nested document sees the outer document's values, but its own query.
pub const DOCUMENT_VARIABLES: [&str; 9] = [
    "DATE_LOCAL",
    "DATE_GMT",
    "LAST_MODIFIED",
    "USER_NAME",
    "DOCUMENT_URI",
    "DOCUMENT_ARGS",
    "DOCUMENT_PATH_INFO",
    "DOCUMENT_NAME",
    "QUERY_STRING_UNESCAPED",
];
