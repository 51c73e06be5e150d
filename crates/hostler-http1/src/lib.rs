//! HTTP/1 as values (RFC 9112): request heads, framing, chunked bodies, targets, authorities, byte ranges, heads of answers that are sent and that come. Bytes in,
//! values out; no I/O, and nothing here knows of a server.
//!
//! Strict where two readers of one message could take it differently: what one of them would smuggle past the other
//! is refused. Limits, and what is let pass where a configuration asks for it, are Apache's.

pub mod answer;
pub mod authority;
pub mod byte_range;
pub mod chunked;
pub mod framing;
pub mod head;
pub mod proxy_protocol;
pub mod response;
pub mod uri;
