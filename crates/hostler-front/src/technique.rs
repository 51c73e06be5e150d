//! Warm workers, whatever language they speak: their pools, and what their answers have in common.
//!
//! ```text
//! container     a request to a servlet container, from its facts to the answer's body
//! pools         which pool serves a virtual host, and how its processes are started
//! sockets       pools of connections to programs that are spoken to over sockets
//! warm          pools that are made ready before a new generation serves
//! directories   configurations, as workers are told of them
//! outgoing      how long a request's body is, and which of its fields go on, for all backends
//! head          the request, as a worker is told of it
//! begin         how it comes to a worker
//! upload        its body on the way to the worker
//! reply         the answer's head
//! gathered      the beginning of its body
//! framed        bodies that a program has framed in chunks itself
//! said          lines for the ErrorLog
//! dialect       what workers say and ask in words of their technique
//! conversation  one trip of a request
//! respond       such a trip, from the request to the answer's body
//! short         URLs whose phases come to the same for every request
//! upstreams     other servers that the configuration names
//! websocket     handshakes for clients over HTTP/2
//! ```

pub(crate) mod begin;
pub(crate) mod container;
pub(crate) mod conversation;
pub(crate) mod dialect;
pub(crate) mod directories;
pub(crate) mod fast;
pub(crate) mod framed;
pub(crate) mod gathered;
pub(crate) mod head;
pub(crate) mod outgoing;
pub(crate) mod overridden;
pub(crate) mod pools;
pub(crate) mod reply;
pub(crate) mod respond;
pub(crate) mod said;
pub(crate) mod sockets;
pub(crate) mod upload;
pub(crate) mod upstreams;
pub(crate) mod warm;
pub(crate) mod websocket;
