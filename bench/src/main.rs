//! The figures of docs/performance.md: Hostler beside the packaged Apache, nginx and Starman, on this machine.
//! `cargo xtask bench` builds and runs it.
//!
//! Tables of one page under one load are the lab's (`hostler lab`, with the scenarios in lab/performance). Here is what
//! is no such table, with the lab's servers and its generator: starts, idle connections, long configurations, what
//! processes hold, and loads that follow from other measurements of the same run. A program of its own, since a
//! generator is built with optimization.

mod aims;
mod begun;
mod drive;
mod figures;
mod idle;
mod jvm;
mod lab;
mod limit;
mod many;
mod memory;
mod report;
mod stage;
mod startup;
mod steady;
mod users;
mod vhosts;
mod window;

use anyhow::{Context, Result, bail, ensure};
use begun::RunStart;
use clap::Parser;
use report::Report;
use std::path::Path;

/// Measure against the packaged Apache and nginx; a whole run of a commit writes docs/performance.md
#[derive(Parser)]
pub(crate) struct Options {
    /// Fewer and shorter rounds, only to see that everything works; the figures mean little
    #[arg(long)]
    quick: bool,
    /// Only these parts
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    only: Vec<String>,
    /// Print the tables without writing them to docs/performance.md
    #[arg(long)]
    dry_run: bool,
}

impl Options {
    /// Returns the number of repetitions of a part without load.
    fn times(&self) -> u32 {
        if self.quick { 2 } else { 10 }
    }

    /// Rounds of all contestants in turn.
    fn rounds(&self) -> u32 {
        if self.quick { 2 } else { 8 }
    }

    /// Seconds of one measurement.
    fn seconds(&self) -> f64 {
        if self.quick { 0.5 } else { 2.0 }
    }
}

/// Measures a part and puts it into the report.
type Part = fn(&Options, &mut Report) -> Result<()>;

/// All parts, in the order of the report.
const PARTS: [(&str, Part); 22] = [
    ("files", |options, report| lab::scenario("files", options, report)),
    ("rewriting", |options, report| lab::scenario("rewriting", options, report)),
    ("perl", |options, report| lab::scenario("perl", options, report)),
    ("keepalive", |options, report| lab::scenario("keepalive", options, report)),
    ("programs", |options, report| lab::scenario("programs", options, report)),
    ("tails", |options, report| lab::scenario("tails", options, report)),
    ("tails-perl", |options, report| lab::scenario("tails-perl", options, report)),
    ("php", |options, report| lab::scenario("php", options, report)),
    ("wordpress", |options, report| lab::scenario("wordpress", options, report)),
    ("sockets", |options, report| lab::scenario("sockets", options, report)),
    ("python", |options, report| lab::scenario("python", options, report)),
    ("proxy", |options, report| lab::scenario("proxy", options, report)),
    ("servlets", |options, report| lab::scenario("servlets", options, report)),
    ("limit", limit::run),
    ("users", users::run),
    ("steady", steady::run),
    ("memory", memory::run),
    ("jvm", jvm::run),
    ("sites", many::run),
    ("virtual-hosts", vhosts::run),
    ("idle", idle::run),
    ("start", startup::run),
];

fn main() -> Result<()> {
    let options = Options::parse();
    let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
    if let Some(stranger) = options.only.iter().find(|only| !names.contains(&only.as_str())) {
        bail!("there is no part {stranger}; there are {}", names.join(", "));
    }
    std::env::set_current_dir(workspace())?;
    raise_descriptor_limit()?;
    let begun = RunStart::now()?;
    let (mut report, mut failed) = (Report::default(), Vec::new());
    for (name, part) in PARTS {
        if options.only.is_empty() || options.only.iter().any(|only| only == name) {
            eprintln!("{name}");
            // The others are worth having without it.
            if let Err(why) = part(&options, &mut report) {
                report.absent(name, &format!("{why:#}"));
                failed.push(name);
            }
        }
    }
    let partial =
        (options.quick || options.dry_run || !options.only.is_empty()).then_some("this was not a full run");
    report.publish(&begun, partial.or(begun.flaw()))?;
    ensure!(failed.is_empty(), "not measured: {}", failed.join(", "));
    Ok(())
}

/// The root of the checkout.
fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// As many open files as the system lets us, for 10,000 connections here and, inherited, in the contestants.
fn raise_descriptor_limit() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const WANTED: u64 = 65_536;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= WANTED) {
        return Ok(());
    }
    let higher = Rlimit { current: Some(WANTED), maximum: limit.maximum.map(|maximum| maximum.max(WANTED)) };
    let capped = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Raising the hard limit takes root.
    setrlimit(Resource::Nofile, higher)
        .or_else(|_| setrlimit(Resource::Nofile, capped))
        .context("raising ulimit -n")
}
