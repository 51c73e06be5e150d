//! Servers that are nothing but formulas.

use super::*;
use crate::run::{Cost, Latency, PhaseSample};

fn plan() -> Plan {
    crate::scenario::load("registry").unwrap().cases[0].plan.clone()
}

/// A server on 2 processors: a request keeps a worker for `service`, with a processor for `work` of it; in front of the
/// workers it uses a processor for `front`, and the way there and back takes `way`.
#[derive(Clone, Copy)]
struct Model {
    service: f64,
    work: f64,
    front: f64,
    way: f64,
}

impl Model {
    fn load(self, workers: Option<u32>, plan: &Plan) -> Option<Sample> {
        let Phase::Closed { clients, seconds: Some(seconds), .. } = plan.phases[0] else { return None };
        let workers = workers.unwrap_or(u32::MAX);
        let processor = self.work + self.front;
        let rate = (f64::from(clients) / (self.service + self.way))
            .min(f64::from(workers) / self.service)
            .min(2.0 / processor);
        let answers = rate * seconds;
        let latency = Latency { mean: f64::from(clients) / rate, ..Latency::default() };
        let phase =
            PhaseSample { elapsed: seconds, answers: answers as u64, latency, ..PhaseSample::default() };
        Some(Sample {
            round: 0,
            at: 0.0,
            phases: vec![phase],
            cost: Cost { processor: Some(answers * processor), ..Cost::default() },
            generator_share: 0.0,
            stopped: None,
            requests: Vec::new(),
            seconds: Vec::new(),
        })
    }

    fn find(self, of: Workers) -> BestWorkers {
        find(of, &plan(), 2.0, &mut |workers, plan| self.load(workers, plan)).unwrap()
    }
}

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

#[test]
fn a_light_page_asks_for_few_however_long_the_way_is() {
    let light = Model { service: 2e-6, work: 2e-6, front: 18e-6, way: 80e-6 };
    let found = light.find(Workers::Pool);
    assert_eq!((found.law, found.verified.workers), (1, 1));
    let advice = found.advice("/x", "Hostler");
    assert!(advice.says.contains("asks for 1 worker on"), "{advice:?}");
    assert!(advice.evidence[2].contains("more would not help"), "{advice:?}");
}

#[test]
fn a_heavy_page_asks_for_a_worker_for_each_processor() {
    let heavy = Model { service: 0.004, work: 0.004, front: 2e-5, way: 1e-4 };
    let found = heavy.find(Workers::Pool);
    assert_eq!((found.law, found.verified.workers), (2, 2));
    assert_eq!(found.verified.fewer(), None);
    assert!(found.advice("/x", "Hostler").says.contains("asks for 2 workers"));
}

#[test]
fn a_page_that_waits_asks_for_those_that_wait_as_well() {
    let waits = Model { service: 0.010, work: 0.002, front: 0.0, way: 1e-4 };
    let found = waits.find(Workers::Pool);
    assert_eq!((found.law, found.verified.workers), (10, 10));
    assert!(found.verified.half.unwrap().1.value < 0.6);
    let advice = found.advice("/x", "Hostler");
    assert!(advice.evidence[1].contains("keep 10.0 workers busy"), "{advice:?}");
}

#[test]
fn what_is_verified_wins_over_the_law() {
    // Processor time that was counted too high: twice as many do more.
    let waits = Model { service: 0.010, work: 0.002, front: 0.0, way: 1e-4 };
    let dear = |workers: Option<u32>, plan: &Plan| {
        let mut sample = waits.load(workers, plan)?;
        sample.cost.processor = sample.cost.processor.map(|seconds| seconds * 2.0);
        Some(sample)
    };
    let found = find(Workers::Pool, &plan(), 2.0, &mut { dear }).unwrap();
    assert_eq!((found.law, found.verified.workers), (5, 10));
    // And too low: half as many do.
    let cheap = |workers: Option<u32>, plan: &Plan| {
        let mut sample = waits.load(workers, plan)?;
        sample.cost.processor = sample.cost.processor.map(|seconds| seconds / 2.0);
        Some(sample)
    };
    let found = find(Workers::Pool, &plan(), 2.0, &mut { cheap }).unwrap();
    assert_eq!((found.law, found.verified.fewer()), (20, Some(10)));
    assert!(found.advice("/x", "Hostler").says.contains("asks for 10 workers"));
}

#[test]
fn where_there_are_no_workers_processes_are_counted() {
    let program = Model { service: 0.005, work: 0.0025, front: 0.0, way: 5e-5 };
    let advice = program.find(Workers::OneEach).advice("/x", "Hostler");
    assert!(advice.says.contains("no workers to set") && advice.says.contains(" 4 at a time"), "{advice:?}");
    assert!(advice.evidence[2].contains("so many clients"), "{advice:?}");
    assert_eq!(find(Workers::None, &plan(), 2.0, &mut |_, plan| program.load(None, plan)), None);
}

#[test]
fn what_can_not_be_measured_is_not_advised() {
    assert_eq!(find(Workers::Pool, &plan(), 2.0, &mut |_, _| None), None);
    let model = Model { service: 0.010, work: 0.002, front: 0.0, way: 0.0 };
    let unpaid = |workers: Option<u32>, plan: &Plan| {
        Some(Sample { cost: Cost::default(), ..model.load(workers, plan)? })
    };
    assert_eq!(find(Workers::Pool, &plan(), 2.0, &mut { unpaid }), None);
}
