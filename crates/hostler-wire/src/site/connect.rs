//! Connections to Unix sockets, made by the site's process.

use super::RequestId;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// A socket to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connect {
    /// The front's number.
    pub id: RequestId,
    /// Path of a listening stream socket, a relative one below the site's state directory; links are followed. Or what
    /// [`FromSite::Listening`](super::FromSite::Listening) has called one.
    pub path: ByteBuf,
    /// The longest wait for a place in its backlog, in milliseconds: while that is full, connecting is tried again.
    pub within: u32,
}

/// Why there is no connection to a socket; each has one sentence for the error log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ConnectError {
    /// No such file, or a component is missing.
    #[error("there is no such socket")]
    NotFound,
    /// A directory on the way may not be entered.
    #[error("uid {uid} may not enter {directory:?} (mode {mode:04o}, of uid {owner})")]
    NotEntered {
        /// The directory.
        directory: String,
        /// The site's uid.
        uid: u32,
        /// The directory's owner.
        owner: u32,
        /// Its permission bits.
        mode: u32,
    },
    /// Something else stands there.
    #[error("it is not a socket")]
    NotSocket,
    /// A socket may be connected to by who may write to it (unix(7)).
    #[error("uid {uid} may not write to it (mode {mode:04o}, of uid {owner})")]
    NotWritable {
        /// The site's uid.
        uid: u32,
        /// The socket's owner.
        owner: u32,
        /// Its permission bits.
        mode: u32,
    },
    /// ECONNREFUSED.
    #[error("nothing listens at it")]
    Refused,
    /// EAGAIN until the time was over.
    #[error("as many connections as may wait for it do: what listens there does not accept them")]
    Busy,
    /// EPROTOTYPE.
    #[error("it is not a stream socket")]
    NotStream,
    /// Anything else.
    #[error("connect failed: {}", std::io::Error::from_raw_os_error(*errno))]
    Other {
        /// errno of what failed.
        errno: i32,
    },
}
