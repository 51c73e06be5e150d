//! The settings of a pool, in the words of Apache's configuration.

use super::growth::PATIENCE;
use std::time::Duration;

/// Settings of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// `StartServers`: workers forked at once when the pool starts.
    pub start: u32,
    /// `MinSpareServers`: idle workers that are always kept.
    pub min_spare: u32,
    /// `MaxSpareServers`: more idle workers than these are ended, slowly.
    pub max_spare: u32,
    /// `MaxRequestWorkers`: the most workers.
    pub max_workers: u32,
    /// The directive or option that sets the most workers, for messages.
    pub max_workers_set_by: &'static str,
    /// `MaxConnectionsPerChild`: requests of a worker; 0: no limit.
    pub max_requests: u32,
    /// `Isolation fork`: each worker serves one request.
    pub one_shot: bool,
    /// Most requests that wait for a worker; further ones are refused.
    pub queue_length: usize,
    /// The longest wait for a worker.
    pub queue_timeout: Duration,
    /// The time limit for the engine's parent to load.
    pub start_timeout: Duration,
    /// A pool without requests for so long ends its processes; zero: never.
    pub idle: Duration,
    /// Workers are made for requests that wait, and none ahead of need: a connection that nobody uses may keep a
    /// process of somebody else's busy. [`Self::start`] and [`Self::min_spare`] mean nothing then.
    pub on_demand: bool,
    /// The time a request waits for busy workers before another one is made for it.
    pub patience: Duration,
    /// First and longest pause after there could be no worker at all: requests that come in it are told so at once.
    pub pauses: (Duration, Duration),
}

impl Settings {
    /// Workers to begin with.
    pub(crate) fn first(&self) -> u32 {
        if self.on_demand {
            return 0;
        }
        self.start.max(self.min_spare).clamp(1, self.max_workers.max(1))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            start: 2,
            min_spare: 1,
            max_spare: 8,
            max_workers: 16,
            max_workers_set_by: "MaxRequestWorkers",
            max_requests: 0,
            one_shot: false,
            queue_length: 1024,
            queue_timeout: Duration::from_secs(30),
            start_timeout: Duration::from_secs(60),
            idle: Duration::from_secs(600),
            on_demand: false,
            patience: PATIENCE,
            pauses: (Duration::from_secs(1), Duration::from_secs(8)),
        }
    }
}
