//! The ways a request continues after a step.

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

/// The result of most steps: the request continues, or halts.
pub(crate) type Continue = Result<(), Halt>;

/// A hook's instruction to its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Others may say more.
    Declined,
    /// It has done what the phase is for.
    Ok,
}

/// The result of a hook.
pub(crate) type Outcome = Result<Flow, Halt>;
