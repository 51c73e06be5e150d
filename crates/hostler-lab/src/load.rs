//! The load generator: plans, and what came of one.
//!
//! Open plans are measured from the *intended* send time, so that a server that stalls is charged for all that it
//! kept waiting (no coordinated omission).

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a page is loaded: phases one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The phases.
    pub phases: Vec<Phase>,
    /// Whether connections are kept.
    #[serde(default = "yes")]
    pub keep_alive: bool,
    /// The protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// Seconds of the first phase's load before anything counts.
    #[serde(default)]
    pub warm_up: f64,
    /// Seconds after which an unanswered request counts as failed.
    #[serde(default = "patience")]
    pub timeout: f64,
    /// When to end before the phases do.
    #[serde(default)]
    pub stop: Option<Stop>,
    /// For think times.
    #[serde(default)]
    pub seed: u64,
    /// Whether each request is kept for itself ([`Outcome::requests`]), not only in histograms.
    #[serde(default)]
    pub keep_requests: bool,
}

/// A part of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Phase {
    /// Clients that each ask, wait for the answer, think, and ask again.
    Closed {
        /// At its begin.
        clients: u32,
        /// At its end; they join evenly spread over the phase (or over `join`). Absent: as at its begin.
        #[serde(default)]
        to_clients: Option<u32>,
        /// Seconds over which the further clients join; absent: the whole phase.
        #[serde(default)]
        join: Option<f64>,
        /// How long, in seconds. One of `seconds` and `requests` is given.
        #[serde(default)]
        seconds: Option<f64>,
        /// How many requests of all clients together.
        #[serde(default)]
        requests: Option<u64>,
        /// Pause between answer and next request.
        #[serde(default)]
        think: Think,
    },
    /// Requests that are sent at a rate, whether or not others have been answered.
    Open {
        /// Requests a second at its begin.
        rate: f64,
        /// At its end; absent: the same.
        #[serde(default)]
        to_rate: Option<f64>,
        /// How long, in seconds.
        seconds: f64,
    },
}

/// Pauses, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Think {
    /// None.
    #[default]
    None,
    /// Always as long.
    Fixed {
        /// Seconds.
        seconds: f64,
    },
    /// Evenly spread between two.
    Uniform {
        /// At least.
        from: f64,
        /// At most.
        to: f64,
    },
}

/// What connections speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2 without TLS, by prior knowledge; each client is a stream, clients share connections as browsers' do.
    H2,
}

/// A limit that ends a plan early; what is reported is where it broke.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Stop {
    /// One answer took longer than so many seconds.
    Answer {
        /// Seconds.
        seconds: f64,
    },
    /// A request failed.
    Error,
    /// The 99th percentile of the last second is over so many seconds.
    P99 {
        /// Seconds.
        seconds: f64,
    },
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where the server listens.
    pub address: SocketAddr,
    /// The `Host` field.
    pub host: String,
    /// Where clients are to ask several virtual hosts: client n asks `hosts[n % len]` (of open plans: request n).
    /// Empty: all ask `host`.
    pub hosts: Vec<String>,
    /// Path and query.
    pub path: String,
    /// Body of a `POST` of form fields.
    pub form: Option<String>,
    /// Length of the body that an answer must have, if that is known: another one is an error.
    pub expected_length: Option<u64>,
}

/// What came of a plan.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One for each phase that began.
    pub phases: Vec<PhaseOutcome>,
    /// Seconds of processor time that the generator used, and of how many threads.
    pub generator_seconds: f64,
    /// Threads of the generator.
    pub generator_threads: u32,
    /// The limit that broke, where it did: `"an answer took 3.2 s with 140 clients"`.
    pub stopped: Option<String>,
    /// Each request, if the plan keeps them, by the time of their answers.
    pub requests: Vec<Request>,
    /// Counts of each second of the run: answers, bytes, failures, clients.
    pub seconds: Vec<Second>,
}

/// What came of a phase.
#[derive(Clone, Debug)]
pub struct PhaseOutcome {
    /// Seconds that it took.
    pub elapsed: f64,
    /// Answers that count as served.
    pub answers: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// What failed.
    pub errors: Errors,
    /// Microseconds from the (intended) send time to the answer's last byte, of answers that count as served.
    pub latency: Histogram<u64>,
    /// Clients at its end.
    pub clients: u32,
}

/// Failures by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// No connection.
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
    /// Clients at that time.
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

/// To break off a plan from another thread; what there is so far is returned.
pub type Cancel = Arc<AtomicBool>;

const fn yes() -> bool {
    true
}

const fn patience() -> f64 {
    30.0
}

/// Loads a target by a plan. `progress` is called about ten times a second with seconds done and, where known, in all.
///
/// # Errors
/// The kernel's: no sockets. What the server does wrong is in the outcome.
pub fn run(
    target: &Target,
    plan: &Plan,
    cancel: &Cancel,
    progress: &mut dyn FnMut(f64, Option<f64>),
) -> anyhow::Result<Outcome> {
    let _ = (target, plan, cancel, progress);
    anyhow::bail!("not written yet")
}
