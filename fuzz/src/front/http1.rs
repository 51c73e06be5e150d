//! HTTP/1's parsers.

#[path = "../../../crates/hostler-front/src/http1/chunked.rs"]
pub(crate) mod chunked;
#[path = "../../../crates/hostler-front/src/http1/framing.rs"]
pub(crate) mod framing;
#[path = "../../../crates/hostler-front/src/http1/head.rs"]
pub(crate) mod head;
