//! How a request goes on after a step of its way.

use crate::io::body::Body;
use bytes::Bytes;

/// Why a request leaves the ordinary way.
pub(crate) enum Halt {
    /// An error or redirect status: ErrorDocument, or a standard page.
    Status(u16),
    /// Go on as a request for this escaped local target.
    Redirect { method: Bytes, target: Vec<u8> },
    /// The answer is complete; the request holds its status and headers.
    Done(Body),
}

impl From<u16> for Halt {
    fn from(status: u16) -> Self {
        Self::Status(status)
    }
}

/// What most steps come to: the request goes on, or halts.
pub(crate) type Continue = Result<(), Halt>;

/// What a hook says to its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Others may say more.
    Declined,
    /// It has done what the phase is for.
    Ok,
}

/// What a hook comes to.
pub(crate) type Outcome = Result<Flow, Halt>;
