//! The method: rounds of all contestants in turn, answers compared before, statistics after.
//!
//! For each case its contestants are started anew, all of them side by side (an idle one costs the others nothing),
//! asked for the page once and compared, warmed up, and then loaded in turn: A B C, C B A, ... What fails is recorded
//! in its cell and the rest goes on.

mod answer;
mod calls;
mod clock;
mod evidence;
mod place;
mod pools;
mod rounds;
mod sample;
mod select;
mod servers;
mod state;
pub mod statistics;
mod workers;

pub use answer::{Answer, ask, difference};
pub use evidence::FOLDER as EVIDENCE;
pub use select::select;
pub use servers::{Contestant, Installed, Servers, Workers};

use crate::application::Database;
use crate::load::Cancel;
use crate::run::{Cell, FORMAT, Generator, Run, Server};
use crate::scenario::Scenario;
use crate::{advice, machine};
use anyhow::Result;
use std::path::PathBuf;

/// The command line's changes to a scenario.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Fewer rounds, shorter plans.
    pub quick: bool,
    /// The saturation form of each case.
    pub saturation: bool,
    /// Rounds.
    pub rounds: Option<u32>,
    /// Clients and rates are multiplied with this.
    pub scale: Option<f64>,
    /// Longest pause of clients that think for random times, in seconds.
    pub think: Option<f64>,
    /// True if connections stay open; `None`: as the scenario says.
    pub keep_alive: Option<bool>,
    /// For think times.
    pub seed: Option<u64>,
    /// Processor share of each contestant: 0.1 is a tenth of one core.
    pub cpu: Option<f64>,
    /// The store of the applications' data.
    pub database: Database,
    /// Only these cases.
    pub only: Vec<String>,
    /// Only these contestants.
    pub contestants: Vec<String>,
    /// Only these techniques.
    pub techniques: Vec<String>,
    /// The command that repeats the run.
    pub command: String,
    /// Set from elsewhere: the run ends, and is marked as incomplete.
    pub cancel: Cancel,
    /// A folder for what the run was taken with: configurations, and the ends of logs.
    pub evidence: Option<PathBuf>,
}

/// Events of a run in progress.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// So far it has come.
    Progress {
        /// Part of the whole: 1 is done.
        part: f64,
        /// Seconds left, as far as can be told.
        left: f64,
        /// The current step: `light handler: hostler`.
        doing: &'a str,
    },
    /// A cell is done, or has failed.
    Done(&'a Cell),
    /// A note for the reader of the run.
    Note(&'a str),
}

/// Takes a run of a scenario with the servers of this machine.
///
/// # Errors
/// Options that name what does not exist (with what does), an application that cannot be laid out. What fails later is
/// in the run.
pub fn take(scenario: &Scenario, options: &Options, events: &mut dyn FnMut(Event<'_>)) -> Result<Run> {
    // Before anything is laid out.
    let scenario = select(scenario, options)?;
    let mut servers = Installed::lay_out(&scenario, options)?;
    take_with(&mut servers, scenario, options, events)
}

/// Takes a run of a scenario that [`select`] has made, with servers of the caller's.
///
/// # Errors
/// No folder for the contestants could be made.
pub fn take_with(
    servers: &mut dyn Servers,
    scenario: Scenario,
    options: &Options,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<Run> {
    let known = participants(&scenario, &servers.known());
    let mut run = Run {
        format: FORMAT,
        started: crate::run::now(),
        quick: options.quick,
        saturation: options.saturation,
        cpu: options.cpu,
        database: database(&scenario, options),
        command: options.command.clone(),
        incomplete: None,
        machine: machine::this(),
        generator: generator(servers, options, events),
        servers: known,
        cells: Vec::new(),
        notes: Vec::new(),
        advice: Vec::new(),
        evidence: Vec::new(),
        scenario,
    };
    let found = rounds::all(servers, &mut run, options, events)?;
    if run.scenario.advice {
        run.advice = advice::of(&run);
        run.advice.extend(found);
    }
    Ok(run)
}

/// The generator, with its limit on this machine where that can be told.
fn generator(servers: &dyn Servers, options: &Options, events: &mut dyn FnMut(Event<'_>)) -> Generator {
    events(Event::Progress { part: 0.0, left: 0.0, doing: "the generator's own limit" });
    let limit = servers.limit(&options.cancel);
    Generator {
        version: concat!("hostler-lab ", env!("CARGO_PKG_VERSION")).to_owned(),
        limit: limit.as_ref().map(|limit| limit.rate),
        limit_of: limit.map(|limit| limit.of).unwrap_or_default(),
    }
}

/// The scenario's contestants, each with what is known of it.
fn participants(scenario: &Scenario, known: &[Server]) -> Vec<Server> {
    let stranger = |name: &String| Server {
        name: name.clone(),
        title: name.clone(),
        version: None,
        unavailable: Some("not known here".to_owned()),
    };
    let find = |name: &String| known.iter().find(|server| server.name == *name).cloned();
    scenario.contestants.iter().map(|name| find(name).unwrap_or_else(|| stranger(name))).collect()
}

/// The database's name, of applications that have one.
fn database(scenario: &Scenario, options: &Options) -> Option<String> {
    (scenario.application == "comments").then(|| match options.database {
        Database::Sqlite => "sqlite".to_owned(),
        Database::Postgresql => "postgresql".to_owned(),
    })
}
