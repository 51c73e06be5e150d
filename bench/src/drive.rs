//! Loads, by the lab's generator, and what they cost the server.

use crate::figures::Figure;
use anyhow::{Context, Result, ensure};
use hostler_lab::contestant::Running;
use hostler_lab::load::{self, Cancel, Outcome, Phase, PhaseOutcome, Plan, Protocol, Target};
use hostler_lab::method::statistics::{median, ratio};
use rustix::process::{Pid, setpriority_process};

/// A page, and whom it is asked of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    pub(crate) server: &'a Running,
    /// Virtual hosts that are asked in turn; empty: the one there is.
    pub(crate) hosts: &'a [&'a str],
    pub(crate) path: &'a str,
}

/// The result of a load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// Answers a second.
    pub(crate) rate: f64,
    /// Seconds of the server's processor time for each answer.
    pub(crate) processor: f64,
    /// Requests that failed.
    pub(crate) failed: u64,
}

impl Page<'_> {
    /// Clients that each ask, wait and ask again, as fast as it goes.
    pub(crate) fn closed(&self, clients: u32, seconds: f64) -> Result<Sample> {
        self.load(Phase::closed(clients, seconds))
    }

    /// So many requests a second, whether or not others have been answered; times count from when each was to be sent.
    pub(crate) fn opened(&self, rate: f64, seconds: f64) -> Result<PhaseOutcome> {
        let outcome = generated(&self.target()?, &plan(Phase::Open { rate, to_rate: None, seconds }))?;
        outcome.phases.into_iter().next().context("the load has not begun")
    }

    /// Something to warm up with; a connection for each request, so that no worker keeps one.
    pub(crate) fn warm_up(&self, clients: u32, seconds: f64) -> Result<()> {
        let plan = Plan { keep_alive: false, ..plan(Phase::closed(clients, seconds)) };
        let outcome = generated(&self.target()?, &plan)?;
        ensure!(outcome.answers() > 0, "{} is not answered", self.path);
        Ok(())
    }

    fn load(&self, phase: Phase) -> Result<Sample> {
        let before = self.server.cost().processor;
        let outcome = generated(&self.target()?, &plan(phase))?;
        let after = self.server.cost().processor;
        let mut sample = Sample::of(&outcome);
        ensure!(sample.rate > 0.0, "{} is not answered ({} requests failed)", self.path, sample.failed);
        let used = after.zip(before).map_or(f64::NAN, |(after, before)| after - before);
        sample.processor = used / float(outcome.answers());
        Ok(sample)
    }

    fn target(&self) -> Result<Target> {
        let mut target = target(self.server, self.hosts.first().copied().unwrap_or("localhost"), self.path)?;
        target.hosts = self.hosts.iter().map(|host| (*host).to_owned()).collect();
        Ok(target)
    }
}

/// A page of a virtual host.
pub(crate) fn target(server: &Running, host: &str, path: &str) -> Result<Target> {
    let mut target = load::may_load(&format!("http://{}{path}", server.address), None)?;
    target.host = host.to_owned();
    Ok(target)
}

impl Sample {
    fn of(outcome: &Outcome) -> Self {
        let Some(phase) = outcome.phases.first() else { return Self::default() };
        let errors = phase.errors;
        Self {
            rate: if phase.elapsed > 0.0 { float(phase.answers) / phase.elapsed } else { 0.0 },
            processor: f64::NAN,
            failed: errors.sum(),
        }
    }
}

/// Runs a plan on a thread of its own with a higher priority, if we may: what a request waits for the generator, while
/// servers have all processors, is not the server's.
fn generated(target: &Target, plan: &Plan) -> Result<Outcome> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // Linux: of this thread alone.
            let _ = setpriority_process(None::<Pid>, -15);
            load::run(target, plan, &Cancel::default(), &mut |_, _| {})
        });
        thread.join().unwrap_or_else(|_| anyhow::bail!("the generator broke"))
    })
}

fn plan(phase: Phase) -> Plan {
    Plan {
        phases: vec![phase],
        keep_alive: true,
        protocol: Protocol::Http1,
        // What it would cost the server would count.
        warm_up: 0.0,
        timeout: 10.0,
        stop: None,
        seed: 0,
        keep_requests: false,
    }
}

/// Samples of rounds, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds(pub(crate) Vec<Sample>);

impl Rounds {
    /// The middle of a figure.
    pub(crate) fn middle(&self, figure: fn(&Sample) -> f64) -> f64 {
        median(&self.figures(figure).map(|(_, value)| value).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }

    /// A figure as a part of another's of the same rounds, with its 95 % interval: `0.97 (0.95 to 0.99)`.
    pub(crate) fn against(
        &self,
        figure: fn(&Sample) -> f64,
        other: &Self,
        of_other: fn(&Sample) -> f64,
    ) -> String {
        let Some(ratio) = self.ratio(figure, other, of_other) else { return "–".to_owned() };
        let interval = ratio.interval.map(|(low, high)| format!(" ({low:.2} to {high:.2})"));
        format!("{:.2}{}", ratio.value, interval.unwrap_or_default())
    }

    /// The same, for an aim.
    pub(crate) fn ratio(
        &self,
        figure: fn(&Sample) -> f64,
        other: &Self,
        of_other: fn(&Sample) -> f64,
    ) -> Option<Figure> {
        let pair: (Vec<_>, Vec<_>) = (self.figures(figure).collect(), other.figures(of_other).collect());
        let found = Figure::from(ratio(&pair.0, &pair.1)?);
        // Of three rounds and less it says nothing.
        Some(Figure { interval: found.interval.filter(|_| pair.0.len() > 3), ..found })
    }

    /// Requests that failed in all of them.
    pub(crate) fn failed(&self) -> u64 {
        self.0.iter().map(|sample| sample.failed).sum()
    }

    fn figures(&self, figure: fn(&Sample) -> f64) -> impl Iterator<Item = (u32, f64)> {
        (0..).zip(self.0.iter().map(figure))
    }
}

/// `0` to `count - 1`, backwards in every other round: who comes first has no advantage.
pub(crate) fn order(round: u32, count: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..count).collect() } else { (0..count).rev().collect() }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_compared_in_pairs() {
        let rounds = |rates: &[f64]| {
            Rounds(rates.iter().map(|rate| Sample { rate: *rate, ..Sample::default() }).collect())
        };
        let (one, two) = (rounds(&[100.0, 10.0, 1.0]), rounds(&[200.0, 20.0, 2.0]));
        assert_eq!(one.against(|s| s.rate, &two, |s| s.rate), "0.50");
        let twice = Rounds([one.0.clone(), one.0.clone()].concat());
        assert_eq!(twice.against(|s| s.rate, &twice, |s| s.rate), "1.00 (1.00 to 1.00)");
        assert!((two.middle(|s| s.rate) - 20.0).abs() < 1e-9);
        assert_eq!([order(0, 3), order(1, 3)], [[0, 1, 2], [2, 1, 0]]);
    }
}
