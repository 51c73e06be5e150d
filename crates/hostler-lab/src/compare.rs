//! Two runs of a scenario: what changed beyond noise.
//!
//! A machine is not the same every day, and its other contestants show that: where they stand in both runs in the same
//! version, a figure is compared as a part of theirs, round by round. So a day that is slow for all is no change.

use crate::method::statistics::{self, Ratio};
use crate::run::{Cell, Run, Sample};
use crate::scenario::Shape;
use anyhow::{Result, bail};
use serde::Serialize;

/// Less of a change than this part is none, unless the user says otherwise: two starts of the same programs differ by
/// as much.
pub const SMALLEST: f64 = 0.05;

/// A compared figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Requests a second; in the plans of E4, whose clients think or whose rate is given, the speed of an answer.
    Speed,
    /// Processor time of a request.
    Processor,
    /// Memory of all processes.
    Memory,
    /// Requests that failed, and cells that did.
    Failures,
}

impl Figure {
    /// For people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Speed => "speed",
            Self::Processor => "processor per request",
            Self::Memory => "memory",
            Self::Failures => "failures",
        }
    }

    fn more_is_better(self) -> bool {
        self == Self::Speed
    }
}

/// The judgement of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Noise could have made it.
    Same,
    /// For the better, beyond noise.
    Better,
    /// For the worse, beyond noise.
    Worse,
    /// Too few rounds, or no figures.
    Unknown,
}

/// A figure of a cell in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Name of the case.
    pub case: String,
    /// Name of the contestant.
    pub server: String,
    /// The compared figure.
    pub figure: Figure,
    /// New of old.
    pub ratio: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// True if it is compared as a part of the other contestants'.
    pub relative: bool,
    /// The judgement.
    pub verdict: Verdict,
    /// More words: what failed.
    pub because: Option<String>,
}

/// Two runs compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The scenario.
    pub scenario: String,
    /// Differences in the way the runs were taken.
    pub notes: Vec<String>,
    /// Each figure of each cell that both runs have.
    pub changes: Vec<Change>,
}

impl Comparison {
    /// Returns whether anything is worse beyond noise.
    #[must_use]
    pub fn worse(&self) -> bool {
        self.changes.iter().any(|change| change.verdict == Verdict::Worse)
    }
}

/// Compares what a contestant (or the scenario's first) did in two runs. Less of a change than the part `smallest` is
/// none.
///
/// # Errors
/// Runs of different scenarios; no such contestant (with those that there are).
pub fn compare(old: &Run, new: &Run, contestant: Option<&str>, smallest: f64) -> Result<Comparison> {
    if old.scenario.name != new.scenario.name {
        bail!("these are runs of different scenarios: {} and {}", old.scenario.name, new.scenario.name);
    }
    let all = &new.scenario.contestants;
    let server = contestant.or_else(|| all.first().map(String::as_str)).unwrap_or_default();
    if !all.iter().any(|name| name == server) {
        bail!("the new run has no contestant {server:?} (it has {})", all.join(", "));
    }
    let mut notes = differences(old, new);
    let mut changes = Vec::new();
    for cell in new.cells.iter().filter(|cell| cell.server == server) {
        match old.cells.iter().find(|other| (&other.case, &other.server) == (&cell.case, &cell.server)) {
            Some(before) => changes.extend(cells((old, before), (new, cell), smallest)),
            None => notes.push(format!("{} is only in the new run", cell.case)),
        }
    }
    for cell in old.cells.iter().filter(|cell| cell.server == server) {
        if !new.cells.iter().any(|other| (&other.case, &other.server) == (&cell.case, &cell.server)) {
            notes.push(format!("{} is only in the old run", cell.case));
        }
    }
    Ok(Comparison { scenario: new.scenario.name.clone(), notes, changes })
}

/// Lists the differences that make two runs hard to compare.
fn differences(old: &Run, new: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    let mut differs = |what: &str, old: String, new: String| {
        if old != new {
            notes.push(format!("{what}: {old} in the old run, {new} in the new one"));
        }
    };
    differs("machine", old.machine.model.clone(), new.machine.model.clone());
    differs("processors", old.machine.processors.to_string(), new.machine.processors.to_string());
    differs("--quick", old.quick.to_string(), new.quick.to_string());
    differs("--saturation", old.saturation.to_string(), new.saturation.to_string());
    differs("--cpu", format!("{:?}", old.cpu), format!("{:?}", new.cpu));
    differs("database", format!("{:?}", old.database), format!("{:?}", new.database));
    for case in &new.scenario.cases {
        let before = old.scenario.cases.iter().find(|other| other.name == case.name);
        if before.is_some_and(|before| (&before.path, &before.plan) != (&case.path, &case.plan)) {
            notes.push(format!("{}: its request or its load is not the same", case.name));
        }
    }
    for (run, which) in [(old, "old"), (new, "new")] {
        if let Some(why) = &run.incomplete {
            notes.push(format!("the {which} run is incomplete: {why}"));
        }
    }
    notes
}

/// All figures of a cell.
fn cells(old: (&Run, &Cell), new: (&Run, &Cell), smallest: f64) -> Vec<Change> {
    let mut changes = vec![failures(old.1, new.1)];
    // What failed has no speed.
    if new.1.samples.iter().any(|sample| sample.answers() > 0) {
        let figures = [Figure::Speed, Figure::Processor, Figure::Memory];
        changes.extend(figures.into_iter().filter_map(|one| figure(old, new, one, smallest)));
    }
    changes
}

fn failures(old: &Cell, new: &Cell) -> Change {
    let failing = |cell: &Cell| {
        let errors = |sample: &Sample| sample.phases.iter().any(|phase| phase.errors.sum() > 0);
        2 * cell.samples.iter().filter(|sample| errors(sample)).count() > cell.samples.len()
    };
    let answered = |cell: &Cell| cell.samples.iter().any(|sample| sample.answers() > 0);
    let (verdict, because) = match (&old.failed, &new.failed) {
        (None, Some(why)) => (Verdict::Worse, Some(why.clone())),
        (Some(_), None) => (Verdict::Better, None),
        _ if answered(old) && !answered(new) => {
            (Verdict::Worse, Some("no successful request any more".to_owned()))
        }
        _ if !failing(old) && failing(new) => {
            (Verdict::Worse, Some("requests fail in most rounds, which they did not".to_owned()))
        }
        _ if failing(old) && !failing(new) => (Verdict::Better, None),
        _ => (Verdict::Same, None),
    };
    Change {
        case: new.case.clone(),
        server: new.server.clone(),
        figure: Figure::Failures,
        ratio: None,
        interval: None,
        relative: false,
        verdict,
        because,
    }
}

/// `None`: neither run has it.
fn figure(old: (&Run, &Cell), new: (&Run, &Cell), which: Figure, smallest: f64) -> Option<Change> {
    // What a machine's day does to memory is nothing.
    let others = if which == Figure::Memory { Vec::new() } else { others(old, new, which) };
    let before = figures(old, &others, which);
    let after = figures(new, &others, which);
    if before.is_empty() && after.is_empty() {
        return None;
    }
    let ratio = statistics::change(&before, &after);
    Some(Change {
        case: new.1.case.clone(),
        server: new.1.server.clone(),
        figure: which,
        ratio: ratio.map(|ratio| ratio.value),
        interval: ratio.and_then(|ratio| ratio.interval),
        relative: !others.is_empty(),
        verdict: ratio.map_or(Verdict::Unknown, |ratio| verdict(ratio, which, smallest)),
        because: None,
    })
}

fn verdict(ratio: Ratio, which: Figure, smallest: f64) -> Verdict {
    if ratio.interval.is_none() {
        return Verdict::Unknown;
    }
    if ratio.within(smallest) {
        return Verdict::Same;
    }
    if (ratio.value > 1.0) == which.more_is_better() { Verdict::Better } else { Verdict::Worse }
}

/// Contestants that stand in both runs of the case in the same version, and have the figure.
fn others(old: (&Run, &Cell), new: (&Run, &Cell), which: Figure) -> Vec<String> {
    let version = |run: &Run, name: &str| {
        run.servers.iter().find(|server| server.name == name).and_then(|server| server.version.clone())
    };
    let has = |run: &Run, name: &str| {
        let cell = run.cells.iter().find(|cell| cell.case == new.1.case && cell.server == name);
        cell.is_some_and(|cell| {
            cell.failed.is_none() && cell.samples.iter().any(|one| value(run, one, which).is_some())
        })
    };
    let names = new.0.scenario.contestants.iter().filter(|name| **name != new.1.server);
    names
        .filter(|name| version(old.0, name).is_some() && version(old.0, name) == version(new.0, name))
        .filter(|name| has(old.0, name) && has(new.0, name))
        .cloned()
        .collect()
}

/// A cell's figures, one for each round, as a part of the mean of `others` in the same round.
fn figures((run, cell): (&Run, &Cell), others: &[String], which: Figure) -> Vec<f64> {
    let other_cells: Vec<&Cell> =
        run.cells.iter().filter(|other| other.case == cell.case && others.contains(&other.server)).collect();
    let of_round = |cell: &Cell, round: u32| {
        cell.samples.iter().find(|sample| sample.round == round).and_then(|sample| value(run, sample, which))
    };
    let relative = |sample: &Sample| {
        let own = value(run, sample, which)?;
        let logarithms: Option<Vec<f64>> =
            other_cells.iter().map(|other| of_round(other, sample.round).map(f64::ln)).collect();
        let logarithms = logarithms?;
        #[expect(clippy::cast_precision_loss, reason = "a handful of contestants")]
        let mean = logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64;
        Some(own / mean.exp())
    };
    cell.samples.iter().filter_map(relative).collect()
}

/// A sample's figure, if it is over 0.
fn value(run: &Run, sample: &Sample, which: Figure) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "counts and bytes are far below 2^52")]
    let answers = sample.answers() as f64;
    let value = match which {
        Figure::Speed => speed(run, sample),
        Figure::Processor => sample.cost.processor.map(|seconds| seconds / answers),
        #[expect(clippy::cast_precision_loss, reason = "as above")]
        Figure::Memory => sample.cost.memory.map(|bytes| bytes as f64),
        Figure::Failures => None,
    };
    value.filter(|value| value.is_finite() && *value > 0.0)
}

/// Returns a sample's speed: requests/s, or, where the plan fixes their rate, the rate that an unhurried client would
/// get.
pub(crate) fn speed(run: &Run, sample: &Sample) -> Option<f64> {
    match run.scenario.report {
        _ if run.saturation => sample.rate(),
        Shape::Registry | Shape::Include | Shape::Isolation | Shape::Comparison => sample.rate(),
        Shape::Load | Shape::Latency | Shape::Robustness | Shape::Resilience => sample.mean().map(f64::recip),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    const STEADY: [f64; 8] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.0];

    fn times(factor: f64) -> Vec<f64> {
        STEADY.iter().map(|rate| rate * factor).collect()
    }

    fn speed(comparison: &Comparison) -> &Change {
        comparison.changes.iter().find(|change| change.figure == Figure::Speed).unwrap()
    }

    #[test]
    fn a_slower_server_is_worse_and_a_slower_day_is_not() {
        let old = run(&[("a", "hostler", &STEADY), ("a", "nginx", &STEADY)]);
        let slower = run(&[("a", "hostler", &times(0.85)), ("a", "nginx", &STEADY)]);
        let comparison = compare(&old, &slower, None, SMALLEST).unwrap();
        assert!(comparison.worse());
        assert_eq!((speed(&comparison).verdict, speed(&comparison).relative), (Verdict::Worse, true));
        assert!((speed(&comparison).ratio.unwrap() - 0.85).abs() < 0.01);
        let slow_day = run(&[("a", "hostler", &times(0.85)), ("a", "nginx", &times(0.85))]);
        assert_eq!(speed(&compare(&old, &slow_day, None, SMALLEST).unwrap()).verdict, Verdict::Same);
        let faster = compare(&slower, &old, None, SMALLEST).unwrap();
        assert_eq!(speed(&faster).verdict, Verdict::Better);
        assert!(!compare(&old, &slower, None, 0.5).unwrap().worse());
    }

    #[test]
    fn without_others_rates_are_compared_as_they_are() {
        let (old, new) = (run(&[("a", "hostler", &STEADY)]), run(&[("a", "hostler", &times(0.8))]));
        let comparison = compare(&old, &new, None, SMALLEST).unwrap();
        assert_eq!((speed(&comparison).verdict, speed(&comparison).relative), (Verdict::Worse, false));
        assert!(!compare(&old, &old, None, SMALLEST).unwrap().worse());
    }

    #[test]
    fn failures_are_worse_and_one_round_tells_nothing() {
        let old = run(&[("a", "hostler", &STEADY)]);
        let mut failed = old.clone();
        failed.cells[0].failed = Some("died twice".to_owned());
        assert!(compare(&old, &failed, None, SMALLEST).unwrap().worse());
        let nothing = run(&[("a", "hostler", &[0.0; 8])]);
        let comparison = compare(&old, &nothing, None, SMALLEST).unwrap();
        assert!(comparison.worse() && comparison.changes.len() == 1);
        let one = run(&[("a", "hostler", &[10.0])]);
        assert_eq!(speed(&compare(&old, &one, None, SMALLEST).unwrap()).verdict, Verdict::Unknown);
    }

    #[test]
    fn what_can_not_be_compared_is_said() {
        let old = run(&[("a", "hostler", &STEADY)]);
        let mut other = old.clone();
        other.scenario.name = "include".to_owned();
        assert!(
            compare(&old, &other, None, SMALLEST).unwrap_err().to_string().contains("registry and include")
        );
        assert!(
            compare(&old, &old, Some("nginx"), SMALLEST).unwrap_err().to_string().contains("(it has hostler")
        );
        let mut quick = run(&[("b", "hostler", &STEADY)]);
        quick.quick = true;
        let notes = compare(&old, &quick, None, SMALLEST).unwrap().notes.join("\n");
        assert!(
            notes.contains("--quick: false in the old run, true")
                && notes.contains("b is only in the new run")
        );
        assert!(notes.contains("a is only in the old run"), "{notes}");
    }
}
