//! Warm workers, whatever language they speak: their pools, and what their answers have in common.
//!
//! ```text
//! pools         which pool serves a virtual host, and how its processes are started
//! sockets       pools of connections to programs that are spoken to over sockets
//! warm          pools that are made ready before a new generation serves
//! head          the request, as a worker is told of it
//! upload        its body on the way to the worker
//! reply         the answer's head
//! gathered      the beginning of its body
//! framed        bodies that a program has framed in chunks itself
//! said          lines for the ErrorLog
//! conversation  one trip of a request that is only answered, without questions
//! respond       such a trip, from the request to the answer's body
//! ```

pub(crate) mod conversation;
pub(crate) mod framed;
pub(crate) mod gathered;
pub(crate) mod head;
pub(crate) mod pools;
pub(crate) mod reply;
pub(crate) mod respond;
pub(crate) mod said;
pub(crate) mod sockets;
pub(crate) mod upload;
pub(crate) mod warm;
