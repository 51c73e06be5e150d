//! `cargo xtask bench`: Hostler beside the packaged Apache, nginx and Starman, on this machine. Results go to
//! docs/performance.md.
//!
//! What can be asked under load is the lab's (`hostler lab`, with the scenarios in lab/performance); what can't is
//! measured here: starts, idle connections, checks of long configurations.

mod contestant;
mod idle;
mod lab;
mod measure;
mod report;
mod site;
mod startup;
mod vhosts;

use anyhow::{Context, Result};
use clap::Args;
use contestant::Kind;
use report::Report;
use site::Site;

/// How to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Fewer and shorter rounds, only to see that everything works; the figures mean little
    #[arg(long)]
    quick: bool,
    /// Only these parts: files, perl, programs, virtual-hosts, idle, start
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Take the programs in target/release as they are
    #[arg(long)]
    no_build: bool,
    /// Print the tables without writing them to docs/performance.md
    #[arg(long)]
    dry_run: bool,
}

impl Options {
    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }

    /// How often what takes no load is repeated.
    fn times(&self) -> u32 {
        if self.quick { 2 } else { 10 }
    }
}

/// Those that are installed; the others are named in the report.
fn present(kinds: &[Kind], report: &mut Report) -> Vec<Kind> {
    let (present, absent): (Vec<Kind>, Vec<Kind>) = kinds.iter().partition(|kind| kind.program().is_some());
    absent.into_iter().for_each(|kind| report.absent(kind));
    present
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if !options.no_build {
        crate::cargo::run(&["build", "--release"])?;
    }
    raise_descriptor_limit()?;
    let mut report = Report::default();
    for name in lab::SCENARIOS.iter().filter(|name| options.wants(name)) {
        report.run(lab::run(name, options.quick)?);
    }
    let site = Site::new()?;
    if options.wants("virtual-hosts") {
        vhosts::run(&site, options, &mut report)?;
    }
    if options.wants("idle") {
        idle::run(&site, options, &mut report)?;
    }
    if options.wants("start") {
        startup::run(&site, options, &mut report)?;
    }
    report.publish(options.quick || options.dry_run || !options.only.is_empty())
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
