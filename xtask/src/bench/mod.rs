//! `cargo xtask bench`: Hostler beside the packaged Apache and nginx, on this machine, in one run.
//!
//! Contestants take turns (A B C, C B A, ...) for several rounds; what counts is the median and the ratio, not
//! the number itself. Before anything is timed, all answers to a request have to be the same. Results go to
//! docs/performance.md.

mod cases;
mod contestant;
mod idle;
mod measure;
mod perl;
mod report;
mod site;
mod startup;
mod vhosts;
mod wrk;

use anyhow::{Context, Result, bail};
use clap::Args;
use contestant::{Kind, Running};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::{Report, Row};
use site::Site;
use std::io::IsTerminal;
use std::time::Duration;

/// How to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Short rounds, only to see that everything works; the figures mean little
    #[arg(long)]
    quick: bool,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Rounds; each contestant is measured once a round
    #[arg(long, default_value_t = 6)]
    rounds: u32,
    /// Only these cases (see the names in docs/performance.md)
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these contestants
    #[arg(long, value_delimiter = ',', value_enum)]
    contestants: Vec<Kind>,
    /// Take the programs in target/release as they are
    #[arg(long)]
    no_build: bool,
    /// Print the tables without writing them to docs/performance.md
    #[arg(long)]
    dry_run: bool,
}

impl Options {
    /// Length and number of measurements.
    fn effort(&self) -> (Duration, u32) {
        if self.quick {
            (Duration::from_secs(1), 2)
        } else {
            (Duration::from_secs(self.seconds), self.rounds)
        }
    }

    fn wants(&self, case: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == case)
    }

    /// Those of the contestants that take part and are installed; the others are named in the report.
    fn present(&self, kinds: &[Kind], report: &mut Report) -> Vec<Kind> {
        let chosen =
            kinds.iter().filter(|kind| self.contestants.is_empty() || self.contestants.contains(kind));
        let (present, absent): (Vec<Kind>, Vec<Kind>) = chosen.partition(|kind| kind.program().is_some());
        absent.into_iter().for_each(|kind| report.absent(kind));
        present
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let asked = |kind| options.contestants.is_empty() || options.contestants.contains(&kind);
    if asked(Kind::Hostler) && !options.no_build {
        crate::cargo::run(&["build", "--release"])?;
    }
    if wrk::version().is_none() {
        bail!("wrk is not installed: run ./setup.sh bench");
    }
    raise_descriptor_limit()?;
    let site = Site::new()?;
    let mut report = Report::default();
    let cases: Vec<_> = cases::all().into_iter().filter(|case| options.wants(case.name)).collect();
    let progress = progress(options, &cases);
    for case in &cases {
        rounds(case, &site, options, &mut report, &progress)?;
    }
    progress.finish_and_clear();
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

/// One case: all its contestants side by side, in turns.
fn rounds(
    case: &cases::Case,
    site: &Site,
    options: &Options,
    report: &mut Report,
    progress: &ProgressBar,
) -> Result<()> {
    let (length, rounds) = options.effort();
    let kinds = options.present(case.contestants, report);
    let mut running = Vec::new();
    for kind in kinds {
        running.push(Running::start(kind, site, "").with_context(|| format!("case {}", case.name))?);
    }
    measure::same_answers(&running, case)?;
    for contestant in &running {
        wrk::load(contestant.port, case, Duration::from_secs(1))?;
    }
    let mut samples: Vec<Vec<measure::Sample>> = running.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..running.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            progress.set_message(format!("{} {}", case.name, running[index].kind.name()));
            samples[index].push(measure::sample(&running[index], case, length)?);
            progress.inc(1);
        }
    }
    let rows =
        running.iter().zip(samples).map(|(contestant, samples)| Row::new(contestant.kind.name(), samples));
    report.case(case.name, case.description, rows.collect());
    Ok(())
}

/// A bar on a terminal, a line now and then elsewhere.
fn progress(options: &Options, cases: &[cases::Case]) -> ProgressBar {
    let rounds = u64::from(options.effort().1);
    let total: u64 = cases.iter().map(|case| rounds * case.contestants.len() as u64).sum();
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {eta} left  {msg}") {
        bar.set_style(style);
    }
    bar
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
