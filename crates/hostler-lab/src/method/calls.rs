//! System calls and context switches of a request: counted under load before the rounds, since counting slows down.

use super::servers::Contestant;
use crate::load::{self, Cancel, Outcome, Phase, Plan, Target};
use crate::run::Cost;

/// Seconds of load in which is counted.
const SECONDS: f64 = 1.0;

/// Of a request, on the average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Calls {
    system_calls: Option<f64>,
    context_switches: Option<f64>,
    /// True if strace counted.
    pub(super) by_strace: bool,
}

/// Counts under the load that a plan begins with. Nothing where the contestant cannot count, or does not answer.
pub(super) fn count(runs: &dyn Contestant, target: &Target, plan: &Plan, cancel: &Cancel) -> Calls {
    let Some(plan) = counted(plan) else { return Calls::default() };
    let Some(counting) = runs.counting() else { return Calls::default() };
    let outcome = load::run(target, &plan, cancel, &mut |_, _| {});
    let by_strace = counting.by_strace();
    let counts = counting.end();
    let answers = outcome.as_ref().map_or(0, answers);
    if answers == 0 {
        return Calls::default();
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of a second")]
    let each = |count: Option<u64>| count.map(|count| count as f64 / answers as f64);
    Calls {
        system_calls: each(counts.system_calls),
        context_switches: each(counts.context_switches),
        by_strace,
    }
}

impl Calls {
    /// Adds to a sample's cost what was not counted while it was timed.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts, far below 2^52 and not negative"
    )]
    pub(super) fn complete(self, cost: &mut Cost, answers: u64) {
        let all = |each: Option<f64>| each.map(|each| (each * answers as f64).round() as u64);
        cost.system_calls = cost.system_calls.or(all(self.system_calls));
        cost.context_switches = cost.context_switches.or(all(self.context_switches));
    }
}

fn answers(outcome: &Outcome) -> u64 {
    outcome.phases.iter().map(|phase| phase.answers).sum()
}

/// The begin of a plan's first phase, without pauses.
fn counted(plan: &Plan) -> Option<Plan> {
    let phase = match plan.phases.first()?.clone() {
        Phase::Closed { clients, .. } => Phase::Closed {
            clients,
            to_clients: None,
            join: None,
            seconds: Some(SECONDS),
            requests: None,
            think: load::Think::None,
        },
        Phase::Open { rate, .. } => Phase::Open { rate, to_rate: None, seconds: SECONDS },
    };
    Some(Plan { phases: vec![phase], warm_up: 0.0, stop: None, keep_requests: false, ..plan.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_while_timed_stands() {
        let calls = Calls { system_calls: Some(2.5), context_switches: Some(1.0), by_strace: false };
        let mut cost = Cost { context_switches: Some(7), ..Cost::default() };
        calls.complete(&mut cost, 10);
        assert_eq!((cost.system_calls, cost.context_switches), (Some(25), Some(7)));
        let mut cost = Cost::default();
        Calls::default().complete(&mut cost, 10);
        assert_eq!(cost, Cost::default());
    }
}
