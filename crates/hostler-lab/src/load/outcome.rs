//! The results of a plan: counts, histograms, single requests.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Requests that are kept one by one; what comes after is in histograms and counts only.
pub const MOST_REQUESTS: usize = 1_000_000;

/// Longest time that histograms hold, in microseconds: ten minutes; what is longer counts as that.
const LONGEST: u64 = 600_000_000;

/// An empty histogram of microseconds, three digits exact.
#[must_use]
pub(super) fn histogram() -> Histogram<u64> {
    #[expect(clippy::expect_used, reason = "the bounds are constants")]
    Histogram::new_with_bounds(1, LONGEST, 3).expect("1 < LONGEST")
}

/// The results of a plan.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One for each phase that began.
    pub phases: Vec<PhaseOutcome>,
    /// Seconds from the first counted request to the end, pauses between phases included.
    pub elapsed: f64,
    /// Seconds of processor time that the generator used, and of how many threads.
    pub generator_seconds: f64,
    /// Threads of the generator.
    pub generator_threads: u32,
    /// The limit that broke, where it did: `"an answer took 3.2 s with 140 clients"`.
    pub stopped: Option<String>,
    /// Each request, if the plan keeps them, by the time of their answers; at most [`MOST_REQUESTS`].
    pub requests: Vec<Request>,
    /// Counts of each second of the run: answers, bytes, failures, clients.
    pub seconds: Vec<Second>,
}

impl Outcome {
    /// Part of its thread's time that the generator worked: at 1 it was the generator that was measured.
    #[must_use]
    pub fn generator_share(&self) -> f64 {
        if self.elapsed > 0.0 { self.generator_seconds / self.elapsed } else { 0.0 }
    }

    /// Answers of all phases that count as served.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.phases.iter().map(|phase| phase.answers).sum()
    }
}

/// The results of a phase.
#[derive(Clone, Debug)]
pub struct PhaseOutcome {
    /// Seconds that it took.
    pub elapsed: f64,
    /// Answers that count as served.
    pub answers: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Failures.
    pub errors: Errors,
    /// Microseconds from the (intended) send time to the answer's last byte, of answers that count as served.
    pub latency: Histogram<u64>,
    /// Clients at its end.
    pub clients: u32,
    /// Requests a second that an open phase asked for at its end; 0 in closed ones.
    pub rate: f64,
    /// Requests that had no answer yet when a closed phase of so many seconds ended: neither served nor failed.
    pub unanswered: u64,
    /// Connections that were made.
    pub connections: u64,
    /// Clients of a constant number that got no answer in all of the phase: times are those of the others.
    pub starved: u32,
    /// Requests that were sent once more on a new connection, because the server had closed the kept one before any
    /// byte of an answer (as browsers do). Not failures.
    pub retried: u64,
}

/// Failures by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// No connection; also requests of open plans that were not sent since too many were under way
    /// ([`crate::load::MOST_CLIENTS`]).
    pub connect: u64,
    /// Broken off before the answer was complete.
    pub broken: u64,
    /// No answer in time.
    pub timeout: u64,
    /// Status 4xx.
    pub status_4xx: u64,
    /// Status 5xx.
    pub status_5xx: u64,
    /// An answer of another length than expected, another unexpected status, or not HTTP.
    pub wrong: u64,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Seconds since the begin at which it was (to be) sent.
    pub at: f64,
    /// Seconds to its last byte, or to its failure.
    pub took: f64,
    /// Number of its phase.
    pub phase: u32,
    /// Number of its client; of open plans: 0.
    pub client: u32,
    /// Clients at that time; of open plans: requests under way.
    pub clients: u32,
    /// HTTP status, 0: none.
    pub status: u16,
    /// Bytes of body.
    pub bytes: u64,
}

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Answers.
    pub answers: u64,
    /// Bytes of body.
    pub bytes: u64,
    /// Failures.
    pub failures: u64,
    /// Clients at its end.
    pub clients: u32,
}
