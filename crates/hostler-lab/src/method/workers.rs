//! How many workers a page asks for. By Little's law as many are busy as requests come in the time that one takes. A
//! request keeps a worker for its service time, of which it uses a processor for a part and waits for the rest (for a
//! database, a disk); processors are all busy when there are `processors × service time / processor time` workers. Then
//! loads with so many clients at a time, and with twice as many, tell whether more would have helped.

use super::statistics::{self, Ratio, Rounds};
use crate::load::{Phase, Plan, Think};
use crate::run::{Advice, Sample};
use crate::scenario::Shape;

/// Seconds of each of the loads.
const SLICE: f64 = 0.4;

/// Rounds of the loads with as many clients, and twice as many.
const ROUNDS: u32 = 6;

/// More than this is no advice for one machine.
const MOST: f64 = 512.0;

/// Reports whose cases are pages of their own, not a pair that is compared.
pub(super) fn asked_by(shape: Shape) -> bool {
    matches!(shape, Shape::Comparison | Shape::Load | Shape::Latency | Shape::Robustness | Shape::Resilience)
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// Seconds that a request takes alone, and of them with a processor.
    service: f64,
    processor: f64,
    processors: f64,
    workers: u32,
    /// Requests a second with so many at a time.
    rate: f64,
    /// What twice as many reach, as a part of it.
    twice: Ratio,
}

/// Loads the page by `load` to find out; `None`: something could not be measured.
pub(super) fn find(
    plan: &Plan,
    processors: f64,
    load: &mut dyn FnMut(&Plan) -> Option<Sample>,
) -> Option<Found> {
    let alone = load(&closed(plan, 1, 2.0 * SLICE))?;
    let service = alone.mean()?;
    let workers = first_guess(service, processors)?;
    // Processor time is counted in ticks: under load there are enough of them.
    let busy = load(&closed(plan, workers, 2.0 * SLICE))?;
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
    let processor = busy.cost.processor? / busy.answers() as f64;
    let workers = asked(service, processor, processors)?;
    let (mut once, mut twice) = (Rounds::new(), Rounds::new());
    for round in 0..ROUNDS {
        let mut order = [(workers, &mut once), (2 * workers, &mut twice)];
        if round % 2 == 1 {
            order.reverse();
        }
        for (clients, rates) in order {
            rates.push((round, load(&closed(plan, clients, SLICE))?.rate()?));
        }
    }
    let rates: Vec<f64> = once.iter().map(|(_, rate)| *rate).collect();
    let rate = statistics::median(&rates)?;
    Some(Found { service, processor, processors, workers, rate, twice: statistics::ratio(&twice, &once)? })
}

/// So many clients without pauses.
fn closed(plan: &Plan, clients: u32, seconds: f64) -> Plan {
    let phase = Phase::Closed {
        clients,
        to_clients: None,
        join: None,
        seconds: Some(seconds),
        requests: None,
        think: Think::None,
    };
    Plan { phases: vec![phase], warm_up: 0.0, stop: None, keep_requests: false, ..plan.clone() }
}

/// Enough to keep the processors busy while processor time is counted.
fn first_guess(service: f64, processors: f64) -> Option<u32> {
    asked(service, service, 2.0 * processors)
}

/// Workers with which the processors are all busy; `None`: no such figures.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to MOST")]
fn asked(service: f64, processor: f64, processors: f64) -> Option<u32> {
    // Under load a request uses a little less of a processor than it takes alone; never more than all of its time.
    let known = service > 0.0 && processor > 0.0 && processors > 0.0;
    let workers = processors * (service / processor).max(1.0);
    (known && workers.is_finite()).then(|| (workers - 0.05).ceil().clamp(1.0, MOST) as u32)
}

impl Found {
    pub(super) fn advice(&self, page: &str, server: &str) -> Advice {
        let Self { workers, processors, rate, .. } = *self;
        let milliseconds = |seconds: f64| format!("{:.2} ms", seconds * 1000.0);
        let busy = rate * self.service;
        let interval = self.twice.interval.unwrap_or((self.twice.value, self.twice.value));
        let helps = !self.twice.within_noise() && self.twice.value > 1.0;
        let verdict =
            if helps { "more would help, against the law" } else { "more would not help beyond noise" };
        Advice {
            says: format!("{page} asks for {workers} workers on this machine ({server})."),
            evidence: vec![
                format!(
                    "A request takes {} alone, and {} of processor time; {processors} processors are all busy with \
                     {workers} of them.",
                    milliseconds(self.service),
                    milliseconds(self.processor)
                ),
                format!(
                    "Little's law: at {rate:.0} requests/s, {busy:.1} requests of that length are under way at a time."
                ),
                format!(
                    "Verified: {workers} at a time reach {rate:.0} requests/s, {} at a time {:.2} of that ({:.2} to \
                     {:.2}): {verdict}.",
                    2 * workers,
                    self.twice.value,
                    interval.0,
                    interval.1
                ),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Cost, Latency, PhaseSample};

    #[test]
    fn workers_by_littles_law() {
        // All of the time on a processor: one for each.
        assert_eq!(asked(0.010, 0.010, 2.0), Some(2));
        // Nine tenths of the time spent waiting: ten times as many.
        assert_eq!(asked(0.010, 0.001, 2.0), Some(20));
        assert_eq!(asked(0.010, 0.020, 0.1), Some(1));
        assert_eq!(asked(0.010, 0.0, 2.0), None);
        assert_eq!(asked(f64::NAN, 0.0, 2.0), None);
    }

    /// A page of 10 ms, 2 of them on one of 2 processors, in a server of enough workers.
    fn server(plan: &Plan) -> Option<Sample> {
        let Phase::Closed { clients, seconds: Some(seconds), .. } = plan.phases[0] else { return None };
        let rate = (f64::from(clients) / 0.010).min(2.0 / 0.002);
        let answers = rate * seconds;
        let mean = f64::from(clients) / rate;
        let latency = Latency { mean, ..Latency::default() };
        let phase =
            PhaseSample { elapsed: seconds, answers: answers as u64, latency, ..PhaseSample::default() };
        Some(Sample {
            round: 0,
            at: 0.0,
            phases: vec![phase],
            cost: Cost { processor: Some(answers * 0.002), ..Cost::default() },
            generator_share: 0.0,
            stopped: None,
            requests: Vec::new(),
            seconds: Vec::new(),
        })
    }

    #[test]
    fn what_the_law_asks_for_is_verified() {
        let found = find(
            &Plan { ..crate::scenario::load("registry").unwrap().cases[0].plan.clone() },
            2.0,
            &mut server,
        );
        let found = found.unwrap();
        assert_eq!(found.workers, 10);
        assert!(found.twice.within_noise());
        let advice = found.advice("/x", "Hostler");
        assert!(advice.says.contains("asks for 10 workers"));
        assert!(advice.evidence[2].contains("more would not help"), "{advice:?}");
    }

    #[test]
    fn what_can_not_be_measured_is_not_advised() {
        let plan = crate::scenario::load("registry").unwrap().cases[0].plan.clone();
        assert_eq!(find(&plan, 2.0, &mut |_| None), None);
        let unpaid = |plan: &Plan| server(plan).map(|sample| Sample { cost: Cost::default(), ..sample });
        assert_eq!(find(&plan, 2.0, &mut { unpaid }), None);
    }
}
