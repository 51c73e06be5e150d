//! The time that applications take: the source of mod_wsgi's `process_metrics` and `request_metrics`. Times are
//! microseconds.

use crate::exchange;
use crate::py::{self, Outcome};
use crate::support::Support;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

/// When the application was called for the request that is served.
static CALLED: AtomicU64 = AtomicU64::new(0);
/// The time of earlier requests together.
static BUSY: AtomicU64 = AtomicU64::new(0);
/// A program wants to know of each request.
static MEASURES: AtomicBool = AtomicBool::new(false);

/// The time, since 1970.
pub(crate) fn now() -> u64 {
    UNIX_EPOCH.elapsed().map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// The application is called now.
pub(crate) fn called() -> u64 {
    let now = now();
    CALLED.store(now, Relaxed);
    now
}

/// Returns the time of all requests up to now, including the current one.
pub(crate) fn busy() -> u64 {
    let called = CALLED.load(Relaxed);
    let running = if exchange::serial() == 0 || called == 0 { 0 } else { now().saturating_sub(called) };
    BUSY.load(Relaxed).saturating_add(running)
}

/// From now on each request is told of.
pub(crate) fn measure() {
    MEASURES.store(true, Relaxed);
}

/// The request is over, which came at `came` and got this process at `got`.
pub(crate) fn ended(came: u64, got: u64, support: &Support) {
    let called = CALLED.swap(0, Relaxed);
    if called == 0 {
        return;
    }
    let took = now().saturating_sub(called);
    BUSY.fetch_add(took, Relaxed);
    if MEASURES.load(Relaxed)
        && told(called.saturating_sub(got), got.saturating_sub(came), took, support).is_err()
    {
        py::clear();
    }
}

fn told(server: u64, queue: u64, application: u64, support: &Support) -> Outcome<()> {
    let times = [py::number(server)?, py::number(queue)?, py::number(application)?];
    support.call(c"measured", &[&times[0], &times[1], &times[2]]).map(drop)
}
