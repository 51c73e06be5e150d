//! A run's cells as the reports see them: in the scenario's order, each with its metrics by round.

use super::histogram;
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
    /// What was measured.
    pub(super) cell: &'r Cell,
}

/// What a round is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// Answers a second.
    Rate,
    /// Mean response time in seconds.
    Mean,
    /// Standard deviation of the response time in seconds.
    Deviation,
    /// Clients at the end of the plan.
    Clients,
    /// Bytes of bodies a second.
    Traffic,
    /// Seconds of processor for a request.
    Processor,
    /// System calls for a request.
    SystemCalls,
    /// Context switches for a request.
    ContextSwitches,
    /// Bytes held.
    Memory,
    /// Processes.
    Processes,
}

impl Metric {
    /// What decides in a report of this shape.
    pub(super) fn of_shape(shape: Shape) -> Self {
        match shape {
            Shape::Registry | Shape::Include | Shape::Isolation | Shape::Comparison => Self::Rate,
            Shape::Load => Self::Clients,
            Shape::Latency | Shape::Robustness => Self::Mean,
            Shape::Resilience => Self::Deviation,
        }
    }

    /// Whether more of it is better.
    pub(super) fn more_is_better(self) -> bool {
        matches!(self, Self::Rate | Self::Clients | Self::Traffic)
    }

    /// As titles of tables and axes call it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Rate => "requests/s",
            Self::Mean => "mean response time",
            Self::Deviation => "deviation of the response time",
            Self::Clients => "clients served",
            Self::Traffic => "traffic",
            Self::Processor => "CPU per request",
            Self::SystemCalls => "system calls per request",
            Self::ContextSwitches => "context switches per request",
            Self::Memory => "memory",
            Self::Processes => "processes",
        }
    }

    /// Its value of a round; `None`: nothing was answered, or it was not measured.
    pub(super) fn of(self, sample: &Sample) -> Option<f64> {
        if sample.answers() == 0 {
            return None;
        }
        let request = |value: f64| value / handled(sample) as f64;
        match self {
            Self::Rate => sample.rate(),
            Self::Mean => Some(moments(sample).0),
            Self::Deviation => Some(moments(sample).1),
            Self::Clients => sample.phases.last().map(|phase| f64::from(phase.clients)),
            Self::Traffic => {
                let bytes: u64 = sample.phases.iter().map(|phase| phase.bytes).sum();
                (sample.elapsed() > 0.0).then(|| bytes as f64 / sample.elapsed())
            }
            Self::Processor => sample.cost.processor.map(request),
            Self::SystemCalls => sample.cost.system_calls.map(|calls| request(calls as f64)),
            Self::ContextSwitches => sample.cost.context_switches.map(|switches| request(switches as f64)),
            Self::Memory => sample.cost.memory.map(|bytes| bytes as f64),
            Self::Processes => sample.cost.processes.map(f64::from),
        }
    }

    /// As text with its unit.
    pub(super) fn text(self, value: f64) -> String {
        use super::number::{bytes, figure, milliseconds};
        match self {
            Self::Mean | Self::Deviation => format!("{} ms", milliseconds(value)),
            Self::Traffic => format!("{} kB/s", figure(value / 1e3)),
            Self::Processor => format!("{} µs", figure(value * 1e6)),
            Self::Memory => bytes(value),
            _ => figure(value),
        }
    }
}

/// Requests that the server had work with: answered well or with an error.
fn handled(sample: &Sample) -> u64 {
    let failed = sample.phases.iter().map(|phase| {
        let errors = phase.errors;
        errors.status_4xx + errors.status_5xx + errors.wrong
    });
    sample.answers() + failed.sum::<u64>()
}

/// Mean and standard deviation of the response time over all phases.
fn moments(sample: &Sample) -> (f64, f64) {
    let (mut answers, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for phase in &sample.phases {
        let count = phase.answers as f64;
        let latency = phase.latency;
        answers += count;
        sum += count * latency.mean;
        squares += count * (latency.deviation.powi(2) + latency.mean.powi(2));
    }
    if answers == 0.0 {
        return (0.0, 0.0);
    }
    let mean = sum / answers;
    (mean, (squares / answers - mean * mean).max(0.0).sqrt())
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
    /// can't be read, `stored` of each round's last phase in the middle.
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

    /// Whether the generator may have been the limit: the server may be able to do more.
    pub(super) fn generator_bound(&self) -> bool {
        self.generator_share().is_some_and(|share| share > GENERATOR_LIMIT)
    }

    /// Whether it has a round.
    pub(super) fn is_taken(&self) -> bool {
        !self.cell.samples.is_empty()
    }

    /// What stands in place of figures: `not available`, `no answer`, `not taken`.
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

/// A server's title, or its name where it has none.
pub(super) fn server_title<'r>(run: &'r Run, name: &'r str) -> &'r str {
    run.servers.iter().find(|server| server.name == name).map_or(name, |server| server.title.as_str())
}

/// Whether the cases of a shape do the same work by different techniques, so that they are compared with each other.
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
