//! The state of a pool, for the status page and for metrics: a copy that is read without a lock.

use super::Figures;
use crate::Kind;
use hostler_wire::engine::WorkerId;
use std::time::Duration;

/// Upper bounds of the buckets of [`Status::latency`] and [`Status::waits`], in microseconds; one more bucket is
/// for all above.
pub const BUCKETS: [u64; 16] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    5_000_000, 30_000_000,
];

/// A distribution of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Times in each bucket of [`BUCKETS`] (not cumulative), and above.
    pub counts: [u64; BUCKETS.len() + 1],
    /// Sum of all times, in microseconds.
    pub sum: u64,
}

/// A pool.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Its name: engine and site.
    pub name: String,
    /// Process id of the engine's parent, while there is one.
    pub parent: Option<u32>,
    /// Why it can't be started, if so.
    pub failed: Option<String>,
    /// The interpreter's version, once known.
    pub version: String,
    /// The parent's memory, in bytes, as last looked at.
    pub memory: u64,
    /// Its workers.
    pub workers: Vec<WorkerStatus>,
    /// The most it may have.
    pub max_workers: u32,
    /// Requests that wait for a worker.
    pub queue: usize,
    /// Requests begun since the pool was made.
    pub begun: u64,
    /// Requests served to their end.
    pub served: u64,
    /// Requests that failed, by cause.
    pub errors: Vec<(Kind, u64)>,
    /// Workers forked.
    pub forked: u64,
    /// Workers that ended otherwise than they were to.
    pub crashed: u64,
    /// The number of times all its processes were stopped because other pools needed their memory (`HostlerMemory`).
    pub evicted: u64,
    /// The number of times they were stopped after a long idle time (`HostlerPoolIdle`).
    pub idled: u64,
    /// Times from a request's begin in its worker to its end.
    pub latency: Histogram,
    /// Times that requests waited for a worker; those that did not wait are not in it.
    pub waits: Histogram,
    /// The engine's figures of it.
    pub figures: Figures,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerStatus {
    /// Its number in the pool.
    pub id: WorkerId,
    /// Its process id; 0: not known yet.
    pub pid: u32,
    /// Its state.
    pub state: WorkerState,
    /// Requests it has been given.
    pub requests: u64,
    /// Memory that is its own, in bytes, as last looked at.
    pub memory: u64,
    /// The time since it entered this state.
    pub since: Duration,
}

/// The state of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerState {
    /// It is being forked.
    Starting,
    /// It waits for a request.
    Idle,
    /// It serves one.
    Busy,
    /// It is ending.
    Ending,
}
