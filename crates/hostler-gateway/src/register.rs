//! Descriptors in the thread's event loop.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A descriptor that closes when its last holder drops it, and not before.
pub trait Descriptor: AsRawFd {}

impl Descriptor for OwnedFd {}
impl Descriptor for Arc<OwnedFd> {}

/// Makes a descriptor known to the thread's event loop. Must be called within a tokio runtime with I/O.
///
/// # Errors
/// The kernel's.
#[allow(
    deprecated,
    reason = "the replacement is unsafe for types that may close their descriptor early; these can't"
)]
pub fn register<D: Descriptor>(descriptor: D, interest: Interest) -> io::Result<AsyncFd<D>> {
    AsyncFd::with_interest(descriptor, interest)
}
