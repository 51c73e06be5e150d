//! Taking a run for the command line: its folder, its progress, Ctrl-C, and what is printed at the end.

use super::{progress, show, wrong_arguments};
use crate::application::Database;
use crate::load::Cancel;
use crate::load::direct::{LoadArgs, direct};
use crate::method::{self, Event, Options};
use crate::run::{self, Run};
use crate::scenario;
use anyhow::{Context, Result};
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The options of a scenario's run.
#[derive(Args, Clone, Debug, Default)]
pub struct Measure {
    /// Fewer rounds and shorter ones: minutes instead of hours.
    #[arg(long)]
    pub quick: bool,
    /// Raise the load until the scenario's limit breaks, and report where.
    #[arg(long)]
    pub saturation: bool,
    /// Number of measurements of each cell [default: the scenario's].
    #[arg(long, value_name = "NUMBER")]
    pub rounds: Option<u32>,
    /// Multiply clients and rates: 10 for today's machines.
    #[arg(long, value_name = "FACTOR")]
    pub scale: Option<f64>,
    /// Longest pause of clients that think for a random time (bench1: 2, 5 or 8).
    #[arg(long, value_name = "SECONDS")]
    pub think: Option<f64>,
    /// True if connections stay open for further requests [default: as the scenario says].
    #[arg(long, value_name = "ON|OFF", value_parser = ["on", "off"])]
    pub keep_alive: Option<String>,
    /// Seed of random pauses [default: the scenario's].
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Cap the processor time of each contestant, not of the generator: 0.1 is a tenth of one processor.
    #[arg(long, value_name = "PART")]
    pub cpu: Option<f64>,
    /// Store of the comments in bench1 to bench4: a file, or a server that the lab starts.
    #[arg(long, value_parser = ["sqlite", "postgresql"], default_value = "sqlite")]
    pub database: String,
    /// Only these cases (see: hostler lab list).
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Only these contestants.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub contestants: Vec<String>,
    /// Only these techniques.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub technique: Vec<String>,
    /// The run's folder [default: lab/runs/DATE-MACHINE/SCENARIO].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Measure {
    /// As the method wants them.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            quick: self.quick,
            saturation: self.saturation,
            rounds: self.rounds,
            scale: self.scale,
            think: self.think,
            keep_alive: self.keep_alive.as_ref().map(|word| word == "on"),
            seed: self.seed,
            cpu: self.cpu,
            database: if self.database == "postgresql" { Database::Postgresql } else { Database::Sqlite },
            only: self.only.clone(),
            contestants: self.contestants.clone(),
            techniques: self.technique.clone(),
            ..Options::default()
        }
    }
}

/// Runs a scenario by name or file.
pub(super) fn scenario(name: &str, how: &Measure) -> Result<ExitCode> {
    let options = how.options();
    let scenario = match scenario::load(name) {
        Ok(scenario) => scenario,
        Err(why) => return Ok(wrong_arguments(&format!("{why:#}"))),
    };
    if let Err(why) = method::select(&scenario, &options) {
        return Ok(wrong_arguments(&format!("{why:#}")));
    }
    measured(&scenario.name, how.out.as_deref(), options, |options, events| {
        method::take(&scenario, options, events)
    })
}

/// Takes a run with `take`, shows how far it has come, keeps it in its folder and prints its tables. Until it is done
/// SIGINT and SIGTERM end it early; a second one ends the program.
///
/// # Errors
/// The folder cannot be made or written; what `take` says.
pub fn measured(
    name: &str,
    out: Option<&Path>,
    mut options: Options,
    take: impl FnOnce(&Options, &mut dyn FnMut(Event<'_>)) -> Result<Run>,
) -> Result<ExitCode> {
    let folder = run::folder(name, out)?;
    options.evidence = Some(folder.join(method::EVIDENCE));
    options.command = command();
    interruptible(&options.cancel)?;
    let mut progress = progress::Progress::new(options.cancel.clone());
    let taken = take(&options, &mut |event| progress.show(&event));
    progress.end();
    let run = match taken {
        Ok(run) => run,
        Err(why) => {
            // Nothing was measured; a folder with something in it stays.
            let _ = fs::remove_dir(&folder);
            return Err(why);
        }
    };
    let saved = run::save(&run, &folder);
    // Also where the disk is full: what was measured is not lost then.
    show(&run)?;
    saved?;
    println!("\nReport: {}", folder.join("report.html").display());
    Ok(status(&run))
}

/// `hostler lab load`.
pub(super) fn load(args: &LoadArgs) -> Result<ExitCode> {
    let cancel = Cancel::default();
    interruptible(&cancel)?;
    let mut progress = progress::Progress::new(cancel.clone());
    let report = direct(args, &cancel, &mut |done, all| {
        let part = all.filter(|all| *all > 0.0).map_or(0.0, |all| done / all);
        let left = all.map_or(0.0, |all| (all - done).max(0.0));
        progress.show(&Event::Progress { part, left, doing: "loading" });
    });
    progress.end();
    let loaded = report?;
    let printed = super::print(&loaded.report)?;
    if loaded.answered {
        return Ok(printed);
    }
    eprintln!("hostler: error: no request was answered as it should be");
    Ok(ExitCode::FAILURE)
}

/// 0 when there is something to compare.
fn status(run: &Run) -> ExitCode {
    if let Some(why) = &run.incomplete {
        eprintln!("hostler: error: the run is incomplete: {why}");
        return ExitCode::FAILURE;
    }
    if run.cells.iter().all(|cell| cell.samples.iter().all(|sample| sample.answers() == 0)) {
        eprintln!("hostler: error: nothing could be measured");
        for (why, of) in reasons(run) {
            eprintln!("hostler: error: {why} ({})", of.join("; "));
        }
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Why cells failed, each reason once, with the cells.
fn reasons(run: &Run) -> Vec<(&str, Vec<String>)> {
    let mut all: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in &run.cells {
        let why =
            cell.failed.as_deref().unwrap_or("no successful request").lines().next().unwrap_or_default();
        let name = format!("{}, {}", cell.case, cell.server);
        match all.iter_mut().find(|(known, _)| *known == why) {
            Some((_, of)) => of.push(name),
            None => all.push((why, vec![name])),
        }
    }
    all
}

fn interruptible(cancel: &Cancel) -> Result<()> {
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first one finds the flag unset and sets it, the second one ends the program.
        signal_hook::flag::register_conditional_default(signal, cancel.clone()).context("signals")?;
        signal_hook::flag::register(signal, cancel.clone()).context("signals")?;
    }
    Ok(())
}

/// The command that was given, so that it can be given again.
fn command() -> String {
    let quoted = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:@+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("hostler".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
