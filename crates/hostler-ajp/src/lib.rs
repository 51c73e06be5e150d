//! AJP13 as values: what a web server says to a servlet container and what it answers, in packets. Bytes in, values
//! out; no I/O.
//!
//! Names and numbers are those of *The Apache Tomcat Connectors: AJP Protocol Reference (AJPv13)*, and sections are its
//! headings. What the document leaves open is as Tomcat and mod_proxy_ajp have it, and said where it stands.
//!
//! Nothing here keeps more than one packet, whose length has a bound; bodies are handed on as they come.

mod answer;
mod code;
mod packet;
mod request;

pub use answer::{Answer, Event, Head};
pub use packet::{DEFAULT_PACKET, LONGEST, Malformed, TooLong};
pub use request::{Attribute, BODY, ForwardRequest, body, body_end, cping};
