//! Descriptors in the thread's event loop.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Makes a descriptor known to the thread's event loop. Must be called within a tokio runtime with I/O.
///
/// # Errors
/// The kernel's.
#[allow(
    deprecated,
    reason = "the replacement is unsafe for types that may close their descriptor early; OwnedFd can't"
)]
pub fn register(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, interest)
}
