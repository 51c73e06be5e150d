//! The method with servers that behave as told: what it finds, what it leaves to noise, and what goes wrong.

use anyhow::{Result, bail};
use hostler_lab::compare::{self, compare};
use hostler_lab::load::synthetic::{Behaviour, Server as Synthetic};
use hostler_lab::method::statistics::{Ratio, Rounds, SMALLEST, ratio};
use hostler_lab::method::{Contestant, Event, Options, Servers, Workers, select, take_with};
use hostler_lab::run::{Cell, Cost, Run, Sample, Server};
use hostler_lab::scenario::{Case, Scenario, parse};
use std::cell::Cell as Count;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Two contestants' names that scenarios may have.
const A: &str = "hostler";
const B: &str = "nginx";

/// A scenario of one case: 16 clients, 32 requests a round.
fn scenario(rounds: u32) -> Scenario {
    let text = format!(
        r#"
name = "synthetic"
title = "Synthetic"
report = "latency"
contestants = ["{A}", "{B}"]
application = "registry"
rounds = {rounds}
quick = {{ rounds = 1, scale = 0.1 }}
[[case]]
name = "page"
title = "page"
technique = "handler"
path = "/"
plan = {{ phases = [{{ kind = "closed", clients = 16, requests = 32 }}], timeout = 10 }}
"#
    );
    parse(&text, "synthetic.toml").expect("a scenario")
}

/// Workers that keep the processors of a park busy; more are of no use.
const BUSY: u32 = 6;

/// Synthetic servers by name.
#[derive(Default)]
struct Park {
    behaviours: BTreeMap<&'static str, Behaviour>,
    /// Contestants that die after so many measurements.
    mortal: BTreeMap<&'static str, u32>,
    not_available: Option<String>,
    starts: Rc<Count<u32>>,
    /// True if it can be started with so many workers, and what an answer then costs in seconds of processor time.
    pool: Option<f64>,
}

struct Member {
    server: Synthetic,
    /// Measurements until it dies.
    left: Option<u32>,
    /// Seconds of processor time that an answer costs.
    cost: Option<f64>,
}

impl Contestant for Member {
    fn address(&self) -> SocketAddr {
        self.server.address
    }

    fn died(&mut self) -> Option<String> {
        let left = self.left.as_mut()?;
        *left = left.saturating_sub(1);
        (*left == 0).then(|| "killed by signal 9".to_owned())
    }

    fn cost(&self) -> Cost {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand answers")]
        let processor = self.cost.map(|each| each * self.server.answers() as f64);
        Cost { processor, ..Cost::default() }
    }
}

impl Servers for Park {
    fn known(&self) -> Vec<Server> {
        let known = |name: &&'static str| Server {
            name: (*name).to_owned(),
            title: (*name).to_owned(),
            version: Some("1".to_owned()),
            unavailable: None,
        };
        [A, B].iter().map(known).collect()
    }

    fn unavailable(&self, _name: &str, _case: &Case) -> Option<String> {
        self.not_available.clone()
    }

    fn start(&mut self, name: &str, _case: &Case, folder: &Path) -> Result<Box<dyn Contestant>> {
        self.starts.set(self.starts.get() + 1);
        assert!(folder.is_dir());
        let Some(behaviour) = self.behaviours.get(name) else {
            bail!("port 80 is taken\nits log's last line")
        };
        let server = Synthetic::start(behaviour.clone())?;
        Ok(Box::new(Member { server, left: self.mortal.get(name).copied(), cost: None }))
    }

    fn workers(&self, _name: &str, _case: &Case) -> Workers {
        if self.pool.is_some() { Workers::Pool } else { Workers::None }
    }

    fn start_with_workers(
        &mut self,
        name: &str,
        _case: &Case,
        folder: &Path,
        workers: u32,
    ) -> Result<Box<dyn Contestant>> {
        assert!(folder.is_dir());
        let behaviour = Behaviour { workers: Some(workers.min(BUSY)), ..self.behaviours[name].clone() };
        let server = Synthetic::start(behaviour)?;
        Ok(Box::new(Member { server, left: None, cost: self.pool }))
    }
}

/// A server whose answers take so many tenths of a millisecond. It sleeps them: what else the machine does then hardly
/// matters.
fn takes(tenths: u64) -> Behaviour {
    Behaviour { delay: Duration::from_micros(tenths * 100), ..Behaviour::default() }
}

fn park(a: Behaviour, b: Behaviour) -> Park {
    Park { behaviours: BTreeMap::from([(A, a), (B, b)]), ..Park::default() }
}

fn take(mut park: Park, rounds: u32) -> Run {
    let scenario = select(&scenario(rounds), &Options::default()).expect("nothing to choose from");
    take_with(&mut park, scenario, &Options::default(), &mut |_| {}).expect("a run")
}

fn cell<'r>(run: &'r Run, name: &str) -> &'r Cell {
    run.cells.iter().find(|cell| cell.server == name).expect("a cell")
}

fn rates(run: &Run, name: &str) -> Rounds {
    cell(run, name).samples.iter().filter_map(|sample| Some((sample.round, sample.rate()?))).collect()
}

/// Half of the answers of each round came in so many seconds.
fn times(run: &Run, name: &str) -> Rounds {
    cell(run, name).samples.iter().map(|sample| (sample.round, sample.phases[0].latency.p50)).collect()
}

/// Returns B's time relative to A's.
fn b_of_a(run: &Run) -> Ratio {
    ratio(&times(run, B), &times(run, A)).expect("both have rounds")
}

/// Short rounds, many of them: what else the machine does hits both.
const ROUNDS: u32 = 24;

/// One at a time: these are not to disturb one another.
static ALONE: Mutex<()> = Mutex::new(());

/// Alone, a run of two servers whose answers take so many tenths of a millisecond. Where the machine is so busy that
/// nobody could tell a tenth, further rounds are taken; when there are enough is told by the interval's width alone,
/// not by where it lies.
fn compared(a: u64, b: u64) -> Run {
    const CLEAR: f64 = 1.06;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut run = take(park(takes(a), takes(b)), ROUNDS);
    for more in 1..10 {
        let (low, high) = b_of_a(&run).interval.expect("many rounds");
        if high / low < CLEAR {
            break;
        }
        let further = take(park(takes(a), takes(b)), ROUNDS);
        for (cell, further) in run.cells.iter_mut().zip(further.cells) {
            let renumbered = further
                .samples
                .into_iter()
                .map(|sample| Sample { round: sample.round + more * ROUNDS, ..sample });
            cell.samples.extend(renumbered);
        }
    }
    run
}

#[test]
fn a_contestant_slowed_by_a_tenth_is_found() {
    let found = b_of_a(&compared(500, 550));
    assert!(!found.within_noise(), "{found:?}");
    assert!(found.value > 1.05 && found.value < 1.15, "{found:?}");
}

#[test]
fn a_contestant_slowed_by_nothing_is_not_found() {
    let found = b_of_a(&compared(500, 500));
    assert!(found.within_noise(), "{found:?}");
}

#[test]
fn the_same_run_twice_agrees_and_a_slower_one_is_worse() {
    let (first, second) = (compared(500, 550), compared(500, 550));
    let (a, b) = (b_of_a(&first), b_of_a(&second));
    let (one, other) = (a.interval.expect("rounds"), b.interval.expect("rounds"));
    let smallest = 1.0 + SMALLEST;
    assert!(one.0 <= other.1 * smallest && other.0 <= one.1 * smallest, "{a:?} and {b:?}");
    let comparison = compare(&first, &second, None, compare::SMALLEST).expect("the same scenario");
    assert!(!comparison.worse(), "{comparison:?}");
    let slower = compared(900, 550);
    let comparison = compare(&first, &slower, None, compare::SMALLEST).expect("the same scenario");
    assert!(comparison.worse(), "{comparison:?}");
}

#[test]
fn rounds_turn_around() {
    let run = take(park(takes(1), takes(1)), 4);
    let mut order: Vec<(f64, &str)> = run
        .cells
        .iter()
        .flat_map(|cell| cell.samples.iter().map(|sample| (sample.at, cell.server.as_str())))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(order.iter().map(|(_, name)| *name).collect::<Vec<_>>(), [A, B, B, A, A, B, B, A]);
    assert_eq!(run.incomplete, None);
    assert!(cell(&run, A).samples.iter().all(|sample| sample.answers() == 32));
}

#[test]
fn answers_that_differ_are_shown_and_not_timed() {
    let run = take(park(takes(1), Behaviour { length: 6, ..takes(1) }), 2);
    let why = cell(&run, B).failed.as_deref().expect("it differs");
    assert!(why.contains(&format!("--- {A}\n+++ {B}\n")) && why.contains("-xxxxx\n+xxxxxx\n"), "{why}");
    assert!(cell(&run, B).samples.is_empty());
    assert_eq!(cell(&run, A).samples.len(), 2);
    assert!(run.notes.iter().any(|note| note.contains("answers differently")), "{:?}", run.notes);
}

#[test]
fn who_does_not_start_is_recorded_and_the_others_go_on() {
    let only_b = Park { behaviours: BTreeMap::from([(B, takes(1))]), ..Park::default() };
    let run = take(only_b, 2);
    assert_eq!(cell(&run, A).failed.as_deref(), Some("port 80 is taken\nits log's last line"));
    assert_eq!(cell(&run, B).samples.len(), 2);
}

#[test]
fn a_technique_that_is_not_there_is_said_and_nothing_starts() {
    let mut park = park(takes(1), takes(1));
    park.not_available = Some("Hostler has no FastCGI yet".to_owned());
    let starts = Rc::clone(&park.starts);
    let run = take(park, 2);
    for name in [A, B] {
        assert_eq!(
            cell(&run, name).failed.as_deref(),
            Some("not available here: Hostler has no FastCGI yet")
        );
    }
    assert_eq!(starts.get(), 0);
}

#[test]
fn who_dies_is_started_again_once_and_the_others_go_on() {
    let mut park = park(takes(1), takes(1));
    // Of each life the third measurement is its last.
    park.mortal.insert(A, 3);
    let starts = Rc::clone(&park.starts);
    let run = take(park, 8);
    let died = cell(&run, A);
    assert_eq!(died.samples.iter().map(|sample| sample.round).collect::<Vec<_>>(), [0, 1, 3, 4]);
    assert_eq!(died.failed.as_deref(), Some("died twice: killed by signal 9"));
    assert_eq!(cell(&run, B).samples.len(), 8);
    assert_eq!(starts.get(), 3);
    assert!(run.notes.iter().any(|note| note.contains("died in round 3")), "{:?}", run.notes);
    assert_eq!(run.incomplete, None);
}

#[test]
fn an_interrupted_run_keeps_what_was_measured() {
    let options = Options::default();
    let mut park = park(takes(100), takes(100));
    let scenario = select(&scenario(20), &options).expect("nothing to choose from");
    let cancel = options.cancel.clone();
    let mut measured = 0;
    let run = take_with(&mut park, scenario, &options, &mut |event| {
        if let Event::Progress { part, .. } = event {
            measured += 1;
            if part > 0.2 {
                cancel.store(true, Ordering::Relaxed);
            }
        }
    })
    .expect("a run");
    assert!(measured > 0);
    assert_eq!(run.incomplete.as_deref(), Some("interrupted"));
    let samples = cell(&run, A).samples.len();
    assert!((1..20).contains(&samples), "{samples}");
    // What was broken off is no sample.
    assert!(run.cells.iter().flat_map(|cell| &cell.samples).all(|sample| sample.answers() == 32));
    let folder = tempfile::tempdir().expect("a folder");
    hostler_lab::run::save(&run, folder.path()).expect("saved");
    assert_eq!(hostler_lab::run::open(folder.path()).expect("read"), run);
}

#[test]
fn no_successful_request_no_rate() {
    // The answers that are compared before are good, all others break off.
    let run = take(park(takes(1), Behaviour { break_after: Some(2), ..takes(1) }), 2);
    let broken = cell(&run, B);
    assert_eq!(broken.samples.len(), 2);
    assert!(broken.samples.iter().all(|sample| sample.answers() == 0 && sample.rate().is_none()));
    assert!(broken.samples.iter().all(|sample: &Sample| sample.phases[0].errors.sum() > 0));
    assert_eq!(ratio(&rates(&run, B), &rates(&run, A)), None);
    let saved = serde_json::to_string(&run).expect("JSON");
    assert!(!saved.contains("null,null"), "not a number");
}

#[test]
fn an_error_page_is_not_timed() {
    let run = take(park(takes(1), Behaviour { status: 503, ..takes(1) }), 2);
    assert_eq!(cell(&run, B).failed.as_deref(), Some("answers 503: xxxxx"));
    assert!(cell(&run, B).samples.is_empty());
}

/// As a run has them.
fn run_processors() -> u32 {
    take(park(takes(1), takes(1)), 1).machine.processors
}

#[test]
fn a_page_that_waits_asks_for_the_workers_that_servers_of_so_many_need() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // 20 ms in a worker; all processors together do BUSY requests in that time.
    let mut park = park(takes(200), takes(200));
    park.pool = Some(0.020 * f64::from(run_processors()) / f64::from(BUSY));
    let options = Options::default();
    let mut scenario = select(&scenario(1), &options).expect("nothing to choose from");
    let run = take_with(&mut park, scenario.clone(), &options, &mut |_| {}).expect("a run");
    let found = run.advice.iter().find(|one| one.says.contains("workers")).expect("advice about workers");
    // One more where the machine was so busy that 20 ms were longer.
    let asked = (BUSY..BUSY + 4).find(|number| found.says.contains(&format!("asks for {number} workers")));
    assert!(asked.is_some(), "{found:?}");
    assert!(found.evidence[2].contains("more would not help"), "{found:?}");
    scenario.advice = false;
    assert_eq!(take_with(&mut park, scenario, &options, &mut |_| {}).expect("a run").advice, []);
}
