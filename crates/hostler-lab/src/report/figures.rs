//! A run's cells as the reports see them: in the scenario's order, each with its metrics by round.

use super::histogram;
pub(super) use super::metric::{Metric, whole};
use crate::method::statistics::{self, Rounds};
use crate::run::{Cell, Run, Sample};
use crate::scenario::{Case, Shape};

/// From this part of its processors on, the generator may have been what limited a result.
const GENERATOR_LIMIT: f64 = 0.9;

/// A cell with its case and its server's title.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures<'r> {
    /// Its case.
    pub(super) case: &'r Case,
    /// Number of its case in the scenario.
    pub(super) case_number: usize,
    /// Number of its server in the scenario.
    pub(super) server_number: usize,
    /// Its server's title.
    pub(super) server: &'r str,
    /// The measured cell.
    pub(super) cell: &'r Cell,
}

impl<'r> Figures<'r> {
    /// A metric's value of each round that has one.
    pub(super) fn rounds(&self, metric: Metric) -> Rounds {
        self.cell.samples.iter().filter_map(|sample| Some((sample.round, metric.of(sample)?))).collect()
    }

    /// A metric's values without their rounds.
    pub(super) fn values(&self, metric: Metric) -> Vec<f64> {
        self.rounds(metric).into_iter().map(|(_, value)| value).collect()
    }

    /// A metric's median over the rounds.
    pub(super) fn median(&self, metric: Metric) -> Option<f64> {
        statistics::median(&self.values(metric))
    }

    /// Response time in seconds within which a part of the answers came: of all rounds, or, where their histograms
    /// cannot be read, `stored` of each round's last phase in the middle.
    pub(super) fn percentiles(&self) -> Option<[f64; 5]> {
        if let Some(all) = histogram::merged(&self.cell.samples) {
            let mut found = [0.0; 5];
            for (place, (_, part)) in found.iter_mut().zip(histogram::PERCENTILES) {
                *place = histogram::seconds(&all, part);
            }
            found[4] = all.max() as f64 / 1e6;
            return Some(found);
        }
        let answered: Vec<_> =
            self.phases().filter(|phase| phase.answers > 0).map(|phase| phase.latency).collect();
        let longest = answered.iter().map(|latency| latency.longest).reduce(f64::max)?;
        let middle = |of: fn(&crate::run::Latency) -> f64| {
            statistics::median(&answered.iter().map(of).collect::<Vec<_>>())
        };
        Some([
            middle(|latency| latency.p50)?,
            middle(|latency| latency.p90)?,
            middle(|latency| latency.p99)?,
            middle(|latency| latency.p999)?,
            longest,
        ])
    }

    /// All phases of all rounds.
    pub(super) fn phases(&self) -> impl Iterator<Item = &'r crate::run::PhaseSample> {
        self.cell.samples.iter().flat_map(|sample| &sample.phases)
    }

    /// Answers of all rounds.
    pub(super) fn answers(&self) -> u64 {
        self.cell.samples.iter().map(Sample::answers).sum()
    }

    /// Failures of all rounds.
    pub(super) fn failures(&self) -> u64 {
        self.phases().map(|phase| phase.errors.sum()).sum()
    }

    /// The largest part of its processors that the generator used in a round.
    pub(super) fn generator_share(&self) -> Option<f64> {
        self.cell
            .samples
            .iter()
            .map(|sample| sample.generator_share)
            .filter(|share| share.is_finite())
            .reduce(f64::max)
    }

    /// Returns whether the generator may have been the limit: the server may be able to do more.
    pub(super) fn generator_bound(&self) -> bool {
        self.generator_share().is_some_and(|share| share > GENERATOR_LIMIT)
    }

    /// Returns whether it has a round.
    pub(super) fn is_taken(&self) -> bool {
        !self.cell.samples.is_empty()
    }

    /// Returns the text that replaces missing figures: `not available`, `no answer`, `not taken`.
    pub(super) fn without_figures(&self) -> &'static str {
        match &self.cell.failed {
            _ if self.is_taken() => "no answer",
            Some(why) if why.contains("not available") => "not available",
            Some(why) if why.contains("not installed") => "not installed",
            Some(_) => "failed",
            None => "not taken",
        }
    }

    /// Case and server, or what of both says which cell it is.
    pub(super) fn name(&self, run: &Run) -> String {
        if run.scenario.contestants.len() < 2 {
            self.case.title.clone()
        } else {
            format!("{} · {}", self.case.title, self.server)
        }
    }
}

/// All cells in the scenario's order; cells of cases that the scenario doesn't have are left out.
pub(super) fn all(run: &Run) -> Vec<Figures<'_>> {
    let mut found = Vec::new();
    for (case_number, case) in run.scenario.cases.iter().enumerate() {
        for (server_number, name) in run.scenario.contestants.iter().enumerate() {
            let cell = run.cells.iter().find(|cell| cell.case == case.name && cell.server == *name);
            let server = server_title(run, name);
            found.extend(cell.map(|cell| Figures { case, case_number, server_number, server, cell }));
        }
    }
    found
}

/// Numbers of the servers that have a round, or of all if none has.
pub(super) fn servers(run: &Run, cells: &[Figures<'_>]) -> Vec<usize> {
    let all = 0..run.scenario.contestants.len();
    let has = |number: &usize| cells.iter().any(|cell| cell.server_number == *number && cell.is_taken());
    let with: Vec<usize> = all.clone().filter(has).collect();
    if with.is_empty() { all.collect() } else { with }
}

/// The title of the server with this number.
pub(super) fn title(run: &Run, number: usize) -> &str {
    run.scenario.contestants.get(number).map_or("", |name| server_title(run, name))
}

/// A server's title, or its name where it has none.
pub(super) fn server_title<'r>(run: &'r Run, name: &'r str) -> &'r str {
    run.servers.iter().find(|server| server.name == name).map_or(name, |server| server.title.as_str())
}

/// Returns whether the cases of a shape do the same work by different techniques, so that they are compared with each
/// other.
pub(super) fn are_peers(run: &Run) -> bool {
    match run.scenario.report {
        Shape::Load | Shape::Latency | Shape::Robustness | Shape::Resilience => true,
        Shape::Registry | Shape::Include | Shape::Isolation => false,
        // A user's own page under several techniques.
        Shape::Comparison => {
            let cases = &run.scenario.cases;
            cases.len() > 1
                && cases.iter().all(|case| case.path == cases[0].path && case.plan == cases[0].plan)
        }
    }
}

/// The plan that a case was run with.
pub(super) fn plan<'r>(run: &Run, case: &'r Case) -> &'r crate::load::Plan {
    match &case.saturation {
        Some(plan) if run.saturation => plan,
        _ => &case.plan,
    }
}

/// The pairs of servers that a reader wants compared: Hostler with each other one, or else each with the first.
pub(super) fn pairs<'f, 'r>(cells: &'f [Figures<'r>]) -> Vec<(&'f Figures<'r>, &'f Figures<'r>)> {
    let mut pairs = Vec::new();
    for cell in cells.iter().filter(|cell| cell.answers() > 0) {
        let others: Vec<&Figures<'r>> = cells
            .iter()
            .filter(|other| other.case_number == cell.case_number && other.answers() > 0)
            .collect();
        let hostler = others.iter().find(|other| other.cell.server == "hostler");
        match (hostler, others.first()) {
            (Some(hostler), _) if cell.cell.server != "hostler" => pairs.push((*hostler, cell)),
            (None, Some(first)) if first.server_number != cell.server_number => pairs.push((cell, *first)),
            _ => {}
        }
    }
    pairs
}
