//! HTTP/1.0 and HTTP/1.1 (RFC 9112): one task per connection.
//!
//! Our own, and not hyper's, for reasons kept in `docs/decisions`: Apache's strictness and limits with their
//! statuses, files sent by the kernel, CGI's nph- scripts, and ten thousand idle connections in little memory.

pub(crate) mod conn;
pub(crate) mod incoming;
pub(crate) mod send;
mod tunnel;
mod watch;
pub(crate) mod wire;
