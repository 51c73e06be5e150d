//! A scenario: what is asked for, of whom, under which load; a TOML file in `lab/scenarios`, or a user's own.
//!
//! A *case* is a page under a load (a row of the published tables); a *cell* is a case at one contestant. A `[plan]`
//! of the whole file is what its cases have, where they say nothing else.

mod check;
mod embedded;
mod file;
mod scale;

pub use embedded::{all, load};
pub use file::parse;

use crate::load::Plan;
use serde::{Deserialize, Serialize};

/// A scenario, as its file says it. Unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// As on the command line: `registry`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The publication: where and when, one line; empty for a user's own scenario.
    #[serde(default)]
    pub source: String,
    /// The question it answers, as a paragraph for the report.
    #[serde(default)]
    pub question: String,
    /// The shape of its report.
    pub report: Shape,
    /// Names of contestants ([`crate::contestant`]), in the order of the report; the first is what others are
    /// compared with.
    pub contestants: Vec<String>,
    /// The folder below `lab/applications` that its sites are made of.
    pub application: String,
    /// Further configuration in Apache's language for the contestants that read it: the pool of the published run.
    #[serde(default)]
    pub configuration: String,
    /// True if advice is looked for besides the figures: a `false` saves the time that it takes.
    #[serde(default = "wanted")]
    pub advice: bool,
    /// The number of rounds, each of which measures every cell; the order reverses after each.
    pub rounds: u32,
    /// The same for `--quick`.
    pub quick: Quick,
    /// The rows.
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
    /// The published figures, to be printed beside ours.
    #[serde(default)]
    pub published: Vec<Published>,
}

/// The changes that `--quick` makes: under five minutes for the whole scenario.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Rounds.
    pub rounds: u32,
    /// Requests and seconds of each plan are multiplied with this.
    pub scale: f64,
}

/// The selection of tables and plots in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// E1: average time and rate for each case.
    Registry,
    /// E2: rates with and without keep-alive, as parts of the others'.
    Include,
    /// E3: siege's fields.
    Isolation,
    /// E4 BENCH1: clients served and mean traffic.
    Load,
    /// E4 BENCH2: mean response time over the number of clients.
    Latency,
    /// E4 BENCH3: errors at each rate.
    Robustness,
    /// E4 BENCH4: running mean and deviation of the response time.
    Resilience,
    /// A user's own page, or `cargo xtask bench`: rate, latency, cost.
    Comparison,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique in the scenario: `light-handler`.
    pub name: String,
    /// As the report calls it: `light handler`.
    pub title: String,
    /// The technique: `static`, `ssi`, `cgi-c`, `cgi-perl`, `registry`, `handler`, `psgi`, `fastcgi`, `php` ...
    pub technique: String,
    /// Path and query that are asked for.
    pub path: String,
    /// The `Host` field; several: clients take them in turn.
    #[serde(default = "localhost")]
    pub hosts: Vec<String>,
    /// True if it is asked through TLS, of contestants whose configuration speaks it.
    #[serde(default)]
    pub tls: bool,
    /// Bytes of body of a `POST` (form fields); a `GET` without.
    #[serde(default)]
    pub form: Option<String>,
    /// Fewer contestants than the scenario's, where not all can do it.
    #[serde(default)]
    pub contestants: Option<Vec<String>>,
    /// The load.
    pub plan: Plan,
    /// The saturation form: raises the load until a limit breaks. `None`: has none.
    #[serde(default)]
    pub saturation: Option<Plan>,
}

/// A published figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Name of a case, or of a technique that we may not have.
    pub row: String,
    /// Whose: `mod_perl 1.3`, `slow machine` ...
    pub column: String,
    /// `requests/s`, `ms`, `kb/s`, `%`, `s` ...
    pub unit: String,
    /// The figure.
    pub value: f64,
}

const fn wanted() -> bool {
    true
}

fn localhost() -> Vec<String> {
    vec!["localhost".to_owned()]
}
