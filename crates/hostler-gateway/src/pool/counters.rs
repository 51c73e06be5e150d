//! The counters of a pool: written by all threads without a lock, read for the status page.

use super::status::{BUCKETS, Histogram};
use crate::Kind;
use crate::supervisor::End;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Causes that are counted one by one.
const CAUSES: [Kind; 15] = [
    Kind::QueueFull,
    Kind::QueueTimeout,
    Kind::WorkerNotMade,
    Kind::EngineFailed,
    Kind::EngineNotLoaded,
    Kind::OtherBuild,
    Kind::WorkerDied,
    Kind::WorkerTimeout,
    Kind::WorkerViolation,
    Kind::NotConnected,
    Kind::NameNotResolved,
    Kind::ConnectionClosed,
    Kind::ProtocolViolation,
    Kind::Timeout,
    Kind::System,
];

/// A distribution of times.
#[derive(Debug, Default)]
pub(crate) struct Times {
    counts: [AtomicU64; BUCKETS.len() + 1],
    sum: AtomicU64,
}

impl Times {
    pub(crate) fn add(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|bound| *bound < micros);
        self.counts[bucket].fetch_add(1, Relaxed);
        self.sum.fetch_add(micros, Relaxed);
    }

    pub(crate) fn read(&self) -> Histogram {
        Histogram {
            counts: std::array::from_fn(|bucket| self.counts[bucket].load(Relaxed)),
            sum: self.sum.load(Relaxed),
        }
    }
}

/// The counters of a pool.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) begun: AtomicU64,
    pub(crate) served: AtomicU64,
    pub(crate) forked: AtomicU64,
    pub(crate) crashed: AtomicU64,
    pub(crate) evicted: AtomicU64,
    pub(crate) idled: AtomicU64,
    pub(crate) latency: Times,
    pub(crate) waits: Times,
    errors: [AtomicU64; CAUSES.len()],
}

impl Counters {
    pub(crate) fn failed(&self, kind: Kind) {
        if let Some(at) = CAUSES.iter().position(|cause| *cause == kind) {
            self.errors[at].fetch_add(1, Relaxed);
        }
    }

    /// A parent is no longer kept.
    pub(crate) fn ended(&self, end: End) {
        let count = match end {
            End::Evicted => &self.evicted,
            End::Idle => &self.idled,
            End::Gone | End::Stuck | End::Closed | End::Renewed => return,
        };
        count.fetch_add(1, Relaxed);
    }

    pub(crate) fn errors(&self) -> Vec<(Kind, u64)> {
        CAUSES.iter().zip(&self.errors).map(|(kind, count)| (*kind, count.load(Relaxed))).collect()
    }
}
