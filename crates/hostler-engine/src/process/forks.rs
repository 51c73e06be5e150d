//! Processes that a program forks from a worker while it serves a request: they are no workers, and must not go on with
//! what is the worker's.

use std::sync::atomic::{AtomicBool, Ordering};

/// A request is being served.
static SERVING: AtomicBool = AtomicBool::new(false);
/// This process was forked meanwhile.
static FORKED_AWAY: AtomicBool = AtomicBool::new(false);

/// From now on it is noted.
pub(super) fn watch() {
    extern "C" fn note() {
        FORKED_AWAY.store(SERVING.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    // SAFETY: the handler does only what handlers may do after a fork.
    unsafe { libc::pthread_atfork(None, None, Some(note)) };
}

/// A request begins, or ends.
pub(crate) fn serving(is_served: bool) {
    SERVING.store(is_served, Ordering::Relaxed);
}

/// Returns whether this process was forked from a worker by the program that it runs.
#[must_use]
pub fn is_forked_away() -> bool {
    FORKED_AWAY.load(Ordering::Relaxed)
}
