//! The state of a front in figures: the reply to a client of the server's status socket (`hostler status`).
//!
//! One frame ([`crate::frame`]) without descriptors, then the end of the stream. The front is not a site's, but it
//! speaks to the network: its reader takes no more than [`MAX_REPORT`] bytes, waits no longer than it likes, and
//! shows no text as it came.

use serde::{Deserialize, Serialize};

/// The form of [`Report`]: a command of another release says so instead of guessing.
pub const FORM: u32 = 7;
/// Longest report, in bytes: ten thousand sites and all their pools.
pub const MAX_REPORT: usize = 16 << 20;

/// All figures, gathered at once. Counts are since this front's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// [`FORM`].
    pub form: u32,
    /// The server's release.
    pub release: String,
    /// The front's process id.
    pub front: u32,
    /// Its generation, from 1.
    pub generation: u64,
    /// Since the server's start, in milliseconds.
    pub uptime_ms: u64,
    /// Since this front's start, in milliseconds.
    pub serving_ms: u64,
    /// Processor time of the front, in milliseconds.
    pub processor_ms: u64,
    /// Open connections.
    pub connections: u64,
    /// Upper bounds of the buckets of all distributions, in microseconds; one more bucket is for all above.
    pub bounds: Vec<u64>,
    /// The sites, in the plan's order.
    pub sites: Vec<Site>,
    /// The pools that have been asked for.
    pub pools: Vec<Pool>,
    /// Balancers with settings that the operator has changed.
    pub balancers: Vec<super::plan::BalancerState>,
    /// Members of balancers.
    pub members: Vec<Member>,
    /// The reason why the request was refused, as a sentence.
    pub refused: Option<String>,
}

/// Longest [`Ask`], in bytes.
pub const MAX_ASK: usize = 4096;

/// The client's first message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// The report.
    Report,
    /// The states of a balancer's members are to be others; then the report.
    Change {
        /// The balancer's name.
        balancer: String,
        /// The member's URL, or its route; `None`: all of them.
        member: Option<String>,
        /// The change.
        change: Change,
    },
}

/// The change of a member's states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// It gets requests of its own sessions only.
    Drain,
    /// It gets no requests.
    Disable,
    /// It gets requests again, now.
    Enable,
    /// The configuration counts again.
    Reset,
}

/// A member of a balancer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its balancer, its URL, and what of it has to go on.
    pub state: super::plan::MemberState,
    /// `route`
    pub route: String,
    /// Its states in mod_proxy_balancer's words.
    pub words: Vec<String>,
    /// Requests that it is at.
    pub busy: u64,
    /// Requests that it has had.
    pub requests: u64,
    /// The number of failures.
    pub failures: u64,
    /// Bytes of bodies sent to it.
    pub sent: u64,
    /// Bytes of bodies that have come from it.
    pub received: u64,
}

/// The responses for one site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The user's name, or `#uid`.
    pub name: String,
    /// Answers.
    pub requests: u64,
    /// Bytes sent, heads included.
    pub bytes: u64,
    /// Answers by the status's first digit.
    pub classes: [u64; 6],
    /// Times from a request's first byte to its answer's last.
    pub latency: Distribution,
    /// `HostlerSiteMemory`, `HostlerSiteCPU` and `HostlerSiteTasks`.
    pub limits: Limits,
    /// Programs that were started for one request each.
    pub programs: u64,
    /// Requests that wait to start one.
    pub programs_waiting: u64,
}

/// The use of a site's limits by all its processes together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limits {
    /// The configuration has no limits for the site.
    #[default]
    None,
    /// It has, and none of the site's processes has run yet, or all are gone.
    Unused,
    /// They hold.
    Held(Usage),
    /// They do not hold on this machine, or for this server: why, as a sentence.
    NotHere(String),
}

/// Numbers of a control group; `None`: not counted, or not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Memory, in bytes.
    pub memory: Option<u64>,
    /// Most memory, in bytes.
    pub memory_max: Option<u64>,
    /// Processor time since the group was made, in microseconds.
    pub processor: Option<u64>,
    /// Most processor time, in percent of one processor.
    pub processor_max: Option<u32>,
    /// Processes and threads.
    pub tasks: Option<u64>,
    /// Most of them.
    pub tasks_max: Option<u64>,
}

/// Times, counted in buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Times in each bucket (not cumulative), and above.
    pub counts: Vec<u64>,
    /// Their sum, in microseconds.
    pub sum: u64,
}

/// A pool of warm workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Engine and site.
    pub name: String,
    /// Process id of the engine's parent, while there is one.
    pub parent: Option<u32>,
    /// Why it can't be started, if so.
    pub failed: Option<String>,
    /// The interpreter's version, once known.
    pub version: String,
    /// The parent's memory, in bytes.
    pub parent_memory: u64,
    /// Its workers.
    pub workers: Vec<Worker>,
    /// The most it may have.
    pub max_workers: u32,
    /// Requests that wait for a worker.
    pub queue: u64,
    /// Requests served to their end.
    pub served: u64,
    /// Requests that failed: the cause's name, in a sentence, and how many.
    pub errors: Vec<(String, String, u64)>,
    /// Workers forked.
    pub forked: u64,
    /// Workers that ended otherwise than they were to.
    pub crashed: u64,
    /// The number of times its processes were stopped because other pools needed their memory.
    pub evicted: u64,
    /// The number of times they were stopped after a long idle time.
    pub idled: u64,
    /// Times in a worker.
    pub latency: Distribution,
    /// Times that requests waited for a worker; those that did not wait are not in it.
    pub waits: Distribution,
    /// Numbers that the engine tells of it: names as in metrics, words for people, values.
    pub figures: Vec<(String, String, u64)>,
    /// A recommended change, as a sentence.
    pub advice: Option<String>,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Process id; 0: not known yet.
    pub pid: u32,
    /// Its state.
    pub state: State,
    /// For how long, in milliseconds.
    pub since_ms: u64,
    /// Requests it has been given.
    pub requests: u64,
    /// Memory that is its own, in bytes.
    pub memory: u64,
}

/// The state of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It is being forked.
    Starting,
    /// It waits for a request.
    Idle,
    /// It serves one.
    Busy,
    /// It is ending.
    Ending,
}

impl Distribution {
    /// Returns the number of times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The upper bound of the bucket in which this share (in thousandths) of all times lies, in microseconds;
    /// `None`: there are no times. `u64::MAX`: above all bounds.
    #[must_use]
    pub fn quantile(&self, thousandths: u64, bounds: &[u64]) -> Option<u64> {
        let all = u128::from(self.count());
        let wanted = (all * u128::from(thousandths)).div_ceil(1000);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += u128::from(*count);
            seen >= wanted && all > 0
        })?;
        Some(bounds.get(bucket).copied().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_bucket_s_bound() {
        let times = Distribution { counts: vec![50, 49, 0, 1], sum: 0 };
        let bounds = [10, 20, 30];
        assert_eq!(times.quantile(500, &bounds), Some(10));
        assert_eq!(times.quantile(990, &bounds), Some(20));
        assert_eq!(times.quantile(999, &bounds), Some(u64::MAX));
        assert_eq!(Distribution::default().quantile(500, &bounds), None);
        let absurd = Distribution { counts: vec![u64::MAX, u64::MAX], sum: 0 };
        assert_eq!(absurd.quantile(1000, &bounds), Some(10));
    }
}
