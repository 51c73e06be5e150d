//! The server's way to its end, as its front knows it: the server stops, or only this front drains because a newer one
//! serves.

use hostler_wire::plan::{DRAIN_TIMEOUT_SECS, STOP_TIMEOUT_SECS};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The master's clock began earlier by less than this.
const DELAY: Duration = Duration::from_millis(500);

/// Set once each, never taken back.
#[derive(Debug, Default)]
pub(crate) struct Stopping {
    server: AtomicBool,
    draining: OnceLock<Instant>,
}

impl Stopping {
    /// The server stops: it is not ready any more.
    pub(crate) fn server_stops(&self) {
        self.server.store(true, Ordering::Relaxed);
    }

    /// This front has begun to drain.
    pub(crate) fn drains(&self) {
        let _ = self.draining.set(Instant::now());
    }

    /// Returns true if the server stops.
    pub(crate) fn is_server(&self) -> bool {
        self.server.load(Ordering::Relaxed)
    }

    /// Returns why requests that are not finished are cut off. `limit`: `GracefulShutdownTimeout` in seconds; 0: none.
    pub(crate) fn cause(&self, limit: Option<u32>) -> String {
        let usual = if self.is_server() { STOP_TIMEOUT_SECS } else { DRAIN_TIMEOUT_SECS };
        let limit = limit.unwrap_or(usual);
        let subject =
            if self.is_server() { "the server is stopping" } else { "this configuration is replaced" };
        match self.draining.get().map(Instant::elapsed) {
            Some(drained) if limit > 0 && drained + DELAY >= Duration::from_secs(u64::from(limit)) => {
                format!(
                    "{subject}, and the time to finish requests is over (GracefulShutdownTimeout, {limit} s)"
                )
            }
            _ => "the server is stopping at once".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_limit_only_when_that_is_over() {
        let mut stopping = Stopping::default();
        assert_eq!(stopping.cause(None), "the server is stopping at once");
        stopping.server_stops();
        stopping.drains();
        for long in [None, Some(0), Some(3600)] {
            assert_eq!(stopping.cause(long), "the server is stopping at once");
        }
        let _ = stopping.draining.take();
        let _ = stopping.draining.set(Instant::now().checked_sub(Duration::from_secs(2)).unwrap());
        assert!(stopping.cause(Some(2)).contains("GracefulShutdownTimeout, 2 s"));
    }
}
