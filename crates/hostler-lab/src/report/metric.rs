//! The metrics of rounds: rates, times, costs; each formatted the same in every report.

use super::number::{bytes, count, figure, milliseconds};
use crate::load::Phase;
use crate::run::{Run, Sample};
use crate::scenario::Shape;

/// A metric of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// Answers a second.
    Rate,
    /// Answers in the best second: what a rising load reached.
    Peak,
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
    /// Returns the deciding metric of a report of this shape.
    fn of_shape(shape: Shape) -> Self {
        match shape {
            Shape::Registry | Shape::Include | Shape::Isolation | Shape::Comparison => Self::Rate,
            Shape::Load => Self::Clients,
            Shape::Latency | Shape::Robustness => Self::Mean,
            Shape::Resilience => Self::Deviation,
        }
    }

    /// Returns the deciding metric of a run: for a load that rises until a limit breaks, how far it came.
    pub(super) fn of_run(run: &Run) -> Self {
        let shape = Self::of_shape(run.scenario.report);
        if !run.saturation {
            return shape;
        }
        let plan = run.scenario.cases.first().map(|case| super::figures::plan(run, case));
        match plan.and_then(|plan| plan.phases.last()) {
            Some(Phase::Open { .. }) => Self::Peak,
            Some(Phase::Closed { to_clients: Some(_), .. }) => Self::Clients,
            _ => shape,
        }
    }

    /// Returns whether more of it is better.
    pub(super) fn more_is_better(self) -> bool {
        matches!(self, Self::Rate | Self::Peak | Self::Clients | Self::Traffic)
    }

    /// As titles of tables and axes call it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Rate => "requests/s",
            Self::Peak => "requests in the best second",
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
            Self::Peak => sample.seconds.iter().map(|second| second.answers as f64).reduce(f64::max),
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
        match self {
            Self::Mean | Self::Deviation => format!("{} ms", milliseconds(value)),
            Self::Traffic => format!("{} kB/s", figure(value / 1e3)),
            Self::Processor => format!("{} µs", figure(value * 1e6)),
            Self::Memory => bytes(value),
            Self::Peak | Self::Clients | Self::Processes => whole(value),
            _ => figure(value),
        }
    }
}

/// Counts of things: a median of two rounds may lie between.
pub(super) fn whole(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { count(value as u64) } else { format!("{value:.1}") }
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
