//! A scenario's results: the run, as its folder holds it (`run.json`). Reports contain nothing that is not in it.

mod folder;
mod packed;
#[cfg(test)]
pub(crate) mod tests;

pub use folder::{folder, now, open, reports, save};

use crate::load::{Errors, Request, Second};
use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};

/// The format of `run.json`; readers refuse others.
pub const FORMAT: u32 = 2;

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`FORMAT`].
    pub format: u32,
    /// The scenario as it was run (scaled, if it was).
    pub scenario: Scenario,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// `--quick`.
    pub quick: bool,
    /// `--saturation`.
    pub saturation: bool,
    /// `--cpu`.
    pub cpu: Option<f64>,
    /// `--database`.
    pub database: Option<String>,
    /// The command that repeats it.
    pub command: String,
    /// True if all rounds were taken; otherwise why not ("interrupted").
    pub incomplete: Option<String>,
    /// The machine.
    pub machine: Machine,
    /// The generator.
    pub generator: Generator,
    /// The servers, as in the scenario, with those that are not installed.
    pub servers: Vec<Server>,
    /// The cells: each case at each contestant.
    pub cells: Vec<Cell>,
    /// Notes for the reader: responses that differ, limits that could not be set, noise.
    pub notes: Vec<String>,
    /// Conclusions.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// Contestants' configurations and logs in the run's folder, relative to it.
    #[serde(default)]
    pub evidence: Vec<String>,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name, for the folder's.
    pub name: String,
    /// Processors.
    pub processors: u32,
    /// Their kind.
    pub model: String,
    /// Bytes.
    pub memory: u64,
    /// Kernel name and release.
    pub kernel: String,
    /// Processes that could run when the run began, over the last minute; before anything was loaded.
    #[serde(default)]
    pub load: Option<f64>,
}

/// The generator's own limit on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Name and version.
    pub version: String,
    /// Requests a second that it reached against the fastest server there is here, and which that was.
    pub limit: Option<f64>,
    /// `nginx 1.22.1, return 200`.
    pub limit_of: String,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// As in scenarios: `hostler`, `apache-prefork`, `apache-itk`, `nginx` ...
    pub name: String,
    /// For people: `Apache prefork, mod_perl`.
    pub title: String,
    /// The version it reports; `None`: not installed.
    pub version: Option<String>,
    /// Why it cannot take part, and what would help.
    pub unavailable: Option<String>,
}

/// A case at a contestant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Name of the case.
    pub case: String,
    /// Name of the server.
    pub server: String,
    /// Why there are no (more) samples: not available here, did not start, died.
    pub failed: Option<String>,
    /// One for each round.
    pub samples: Vec<Sample>,
}

/// A round of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Number of the round, from 0.
    pub round: u32,
    /// Seconds since the run's begin.
    pub at: f64,
    /// One for each phase of the plan.
    pub phases: Vec<PhaseSample>,
    /// The server's costs, from the plan's start to its end.
    pub cost: Cost,
    /// Part of its processor(s) that the generator used: 1 is all it had.
    pub generator_share: f64,
    /// The limit that broke.
    pub stopped: Option<String>,
    /// Each request, if the plan keeps them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "packed")]
    pub requests: Vec<Request>,
    /// Each second.
    pub seconds: Vec<Second>,
}

/// A phase of a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseSample {
    /// Seconds.
    pub elapsed: f64,
    /// Answers.
    pub answers: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    /// Failures.
    pub errors: Errors,
    /// Clients at its end.
    pub clients: u32,
    /// Response times in seconds.
    pub latency: Latency,
    /// The histogram in microseconds: hdrhistogram's compressed V2 form, base64.
    pub histogram: String,
    /// Of a constant number of clients: those that got no answer.
    #[serde(default, skip_serializing_if = "is_none")]
    pub starved: u32,
}

/// The usual case is left out of the file.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

/// Response times in seconds; all 0 when nothing was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the field's names")]
pub struct Latency {
    pub mean: f64,
    pub deviation: f64,
    pub shortest: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub longest: f64,
}

/// The resources that a server's processes have used together; `None`: not measured (not permitted, or not available
/// here).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds of processor time, ended processes included.
    pub processor: Option<f64>,
    /// Bytes held now, shared pages counted in parts (PSS).
    pub memory: Option<u64>,
    /// Processes now.
    pub processes: Option<u32>,
    /// System calls; counted under the same load before the rounds, since counting slows down, and multiplied with
    /// the sample's answers.
    pub system_calls: Option<u64>,
    /// Voluntary and involuntary context switches; of processes that end, counted as system calls are.
    pub context_switches: Option<u64>,
}

/// A conclusion with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// One sentence.
    pub says: String,
    /// The figures it rests on, one sentence each.
    pub evidence: Vec<String>,
}

impl Sample {
    /// Answers of all phases.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.phases.iter().map(|phase| phase.answers).sum()
    }

    /// Seconds of all phases.
    #[must_use]
    pub fn elapsed(&self) -> f64 {
        self.phases.iter().map(|phase| phase.elapsed).sum()
    }

    /// Mean response time of all phases, in seconds; `None` when nothing was answered.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.phases.iter().map(|phase| phase.latency.mean * phase.answers as f64).sum();
        let answers = self.answers();
        (answers > 0).then(|| sum / answers as f64)
    }

    /// Answers a second; `None` when there was none: no rate is made up.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
    pub fn rate(&self) -> Option<f64> {
        let (answers, elapsed) = (self.answers(), self.elapsed());
        (answers > 0 && elapsed > 0.0).then(|| answers as f64 / elapsed)
    }
}

impl Errors {
    /// All of them.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.connect + self.broken + self.timeout + self.status_4xx + self.status_5xx + self.wrong
    }
}
