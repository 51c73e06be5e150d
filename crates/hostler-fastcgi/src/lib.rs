//! FastCGI 1.0 as values: what a web server says to an application and what it answers, in records. Bytes in, values
//! out; no I/O.
//!
//! Sections are those of the *FastCGI Specification* (Mark R. Brown, Open Market, Version 1.0, 29 April 1996). What an
//! answer's stdout means is CGI's (`hostler-cgi`).
//!
//! Nothing here keeps more than a record's fixed part: what has no bound in the protocol is handed on as it comes.

mod answer;
mod pairs;
mod record;
mod records;
mod request;

pub use answer::{Answer, Event};
pub use pairs::{Pairs, TooLong, pair};
pub use record::{HEADER, Header, LONGEST, Malformed, ProtocolStatus, RecordType, Role};
pub use records::{Piece, Records};
pub use request::{abort, begin_request, get_values, params, stream};
