//! RFC 3875 as values: what a CGI program is told (meta-variables, arguments) and what it answers (the response
//! header, `nph-` answers). Bytes in, values out; no I/O.
//!
//! Where the RFC leaves a choice, this is Apache's (`util_script.c`, `mod_cgi.c`), found out against a running
//! Apache 2.4. FastCGI and AJP answers carry the same header and use the same parser.

mod arguments;
pub mod date;
mod environment;
mod header;
mod html;
mod lines;
mod nph;
mod outcome;
mod parser;
pub mod scgi;
mod status;
pub mod uwsgi;
mod variable;

pub use arguments::arguments;
pub use environment::{Client, Environment, Redirected, Request, Server};
pub use header::{Field, Header, HeaderParser, Note, Progress};
pub use html::{escape_html, write_html};
pub use lines::{HeaderError, Limits};
pub use nph::{NphHeader, NphParser};
pub use outcome::Outcome;
pub use parser::Parser;
pub use status::Status;
pub use variable::{MetaVariable, http_variable, script_name};
