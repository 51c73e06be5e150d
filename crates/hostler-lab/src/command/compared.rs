//! `hostler lab compare`: what changed between two runs, for people and for CI.

use super::{print, wrong_arguments};
use crate::compare::{self, Change, Comparison, Figure, Verdict};
use crate::run;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `hostler lab compare`.
#[derive(Args, Clone, Debug)]
pub(super) struct CompareArgs {
    /// The older run's folder, or its run.json.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The newer run's.
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The contestant whose figures are compared [default: the scenario's first]; the others show how comparable the
    /// days were.
    #[arg(long, value_name = "NAME")]
    contestant: Option<String>,
    /// Less of a change is none, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = compare::SMALLEST * 100.0)]
    smallest: f64,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Exit status 0: nothing is worse beyond noise; 1: something is, or a run cannot be read; 2: wrong arguments.
pub(super) fn run(args: &CompareArgs) -> Result<ExitCode> {
    if !(args.smallest.is_finite() && args.smallest >= 0.0) {
        return Ok(wrong_arguments("--smallest: a number of percent, 0 or more"));
    }
    let (old, new) = (run::open(&args.old)?, run::open(&args.new)?);
    let smallest = args.smallest / 100.0;
    let comparison = match compare::compare(&old, &new, args.contestant.as_deref(), smallest) {
        Ok(comparison) => comparison,
        Err(why) => return Ok(wrong_arguments(&format!("{why:#}"))),
    };
    if args.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&comparison)?))?;
    } else {
        print(&table(&comparison, (&old.started, &new.started)))?;
    }
    Ok(if comparison.worse() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn table(comparison: &Comparison, (old, new): (&str, &str)) -> String {
    let mut text = format!("{}: {old} and {new}\n", comparison.scenario);
    for note in &comparison.notes {
        text += &format!("note: {note}\n");
    }
    let silent = |change: &&Change| change.figure == Figure::Failures && change.verdict == Verdict::Same;
    for change in comparison.changes.iter().filter(|change| !silent(change)) {
        text += line(change).trim_end();
        text.push('\n');
    }
    text += if comparison.worse() {
        "Something is worse, beyond noise.\n"
    } else {
        "Nothing is worse beyond noise.\n"
    };
    text
}

fn line(change: &Change) -> String {
    let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let ratio = change.ratio.map(percent).unwrap_or_default();
    let interval = change.interval.map(|(low, high)| format!("({} to {})", percent(low), percent(high)));
    let verdict = match change.verdict {
        Verdict::Same => "no change beyond noise",
        Verdict::Better => "better",
        Verdict::Worse => "WORSE",
        Verdict::Unknown => "too few rounds to tell",
    };
    let against = if change.relative { ", compared with the other contestants" } else { "" };
    let because = change.because.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    let interval = interval.unwrap_or_default();
    let (case, server, figure) = (&change.case, &change.server, change.figure.title());
    format!("  {case:<20} {server:<15} {figure:<22} {ratio:>9} {interval:<24} {verdict}{against}{because}")
}
