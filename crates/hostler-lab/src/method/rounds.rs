//! Rounds: a case's contestants side by side, loaded in turn, in an order that turns around each time.

use super::answer::{Answer, difference};
use super::calls::{self, Calls};
use super::clock::{self, Clock};
use super::place::{Place, answers, target};
use super::pools::Pools;
use super::servers::{Servers, folder_for_all};
use super::{Event, Options, evidence, sample, select, state, workers};
use crate::load::{self, Phase, Plan};
use crate::run::{Advice, Cell, Run, Sample};
use crate::scenario::Case;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use tempfile::TempDir;

/// Seconds in which a contestant is started, compared and warmed up, about.
const START: f64 = 3.0;

/// The note on counting system calls without the kernel's counters.
const BY_STRACE: &str = "System calls were counted with strace, in a round of its own that is not timed.";

/// The mark of an interrupted run.
const INTERRUPTED: &str = "interrupted";

/// Takes all cases of the run's scenario and puts what came of them into the run; what was found out besides comes back.
pub(super) fn all(
    servers: &mut dyn Servers,
    run: &mut Run,
    options: &Options,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<Advice>> {
    let scenario = run.scenario.clone();
    let cell_seconds = |case: &Case| clock::seconds(&case.plan) * f64::from(scenario.rounds);
    let planned = |case: &Case| {
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let contestants = select::contestants(&scenario, case).len() as f64;
        let workers = if looks_for_workers(run) { workers::SECONDS } else { 0.0 };
        contestants * (cell_seconds(case) + START) + workers
    };
    let mut taking = Taking {
        servers,
        options,
        events,
        clock: Clock::new(scenario.cases.iter().map(planned).sum()),
        folder: folder_for_all("logs")?,
        notes: Vec::new(),
        found: Vec::new(),
        evidence: BTreeSet::new(),
    };
    for case in &scenario.cases {
        let names = select::contestants(&scenario, case);
        run.cells.extend(taking.case(case, &names, run, scenario.rounds));
        if taking.cancelled() {
            run.incomplete = Some(INTERRUPTED.to_owned());
            break;
        }
    }
    run.notes.append(&mut taking.notes);
    run.evidence = std::mem::take(&mut taking.evidence).into_iter().collect();
    Ok(taking.found)
}

/// State that all cases share.
struct Taking<'a> {
    servers: &'a mut dyn Servers,
    options: &'a Options,
    events: &'a mut dyn FnMut(Event<'_>),
    clock: Clock,
    folder: TempDir,
    notes: Vec<String>,
    found: Vec<Advice>,
    /// Files that were kept, relative to the run's folder.
    evidence: BTreeSet<String>,
}

impl Taking<'_> {
    fn cancelled(&self) -> bool {
        self.options.cancel.load(Ordering::Relaxed)
    }

    fn note(&mut self, text: &str) {
        let text = evidence::without_places(text);
        (self.events)(Event::Note(&text));
        self.notes.push(text);
    }

    fn progress(&mut self, under_way: f64, doing: &str) {
        let (part, left) = self.clock.left(under_way);
        (self.events)(Event::Progress { part, left, doing });
    }

    /// All cells of a case.
    fn case(&mut self, case: &Case, names: &[&str], run: &Run, rounds: u32) -> Vec<Cell> {
        let mut places: Vec<Place> = names.iter().map(|name| self.start(case, name, run)).collect();
        self.compare(case, &mut places);
        self.look_for_state(case, &mut places);
        for place in places.iter_mut().filter(|place| place.runs.is_some()) {
            self.warm_up(case, place);
            self.count(case, place);
        }
        self.clock.done(START * f64::from(u32::try_from(places.len()).unwrap_or_default()));
        let seconds = clock::seconds(&case.plan);
        for round in 0..rounds {
            let mut order: Vec<usize> = (0..places.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for at in order {
                if places[at].runs.is_some() && !self.cancelled() {
                    self.take(case, &mut places[at], round);
                }
                self.clock.done(seconds);
            }
        }
        self.look_for_workers(case, &places, run);
        for place in &places {
            self.keep_evidence(case, place);
            (self.events)(Event::Done(&place.cell));
        }
        places.into_iter().map(|place| place.cell).collect()
    }

    fn start(&mut self, case: &Case, name: &str, run: &Run) -> Place {
        let cell =
            Cell { case: case.name.clone(), server: name.to_owned(), failed: None, samples: Vec::new() };
        let folder = self.folder.path().join(&case.name).join(name);
        let server = run.servers.iter().find(|server| server.name == name);
        let mut place = Place {
            name: name.to_owned(),
            title: server.map_or(name, |server| &server.title).to_owned(),
            folder,
            runs: None,
            target: None,
            restarted: false,
            calls: Calls::default(),
            cell,
        };
        if self.cancelled() {
            place.fail(INTERRUPTED);
            return place;
        }
        let absent = server.and_then(|server| server.unavailable.clone());
        if let Some(why) = absent.or_else(|| self.servers.unavailable(&place.name, case)) {
            place.fail(&format!("not available here: {why}"));
            return place;
        }
        self.progress(0.0, &format!("{}: starting {}", case.title, place.name));
        self.restart(case, &mut place);
        place
    }

    /// Starts a contestant, for the first time or again.
    fn restart(&mut self, case: &Case, place: &mut Place) {
        place.runs = None;
        let made = evidence::make_folder(&place.folder);
        match made.and_then(|()| self.servers.start(&place.name, case, &place.folder)) {
            Ok(runs) => {
                place.target = Some(target(case, runs.as_ref(), place.target.take()));
                place.runs = Some(runs);
            }
            Err(why) => place.fail(&format!("{why:#}")),
        }
    }

    /// Compares what all contestants answer, at each host. Who answers otherwise than the first who serves the page is
    /// not timed.
    fn compare(&mut self, case: &Case, places: &mut [Place]) {
        let mut model: Option<(String, Vec<Answer>)> = None;
        for place in places.iter_mut().filter(|place| place.runs.is_some()) {
            let answers = match answers(case, place) {
                Ok(answers) => answers,
                // It stands in the report as what could not be measured.
                Err(why) => {
                    place.fail(&format!("{why:#}"));
                    continue;
                }
            };
            let Some((name, expected)) = &model else {
                model = Some((place.name.clone(), answers));
                continue;
            };
            let names = (name.as_str(), place.name.as_str());
            let differing = expected.iter().zip(&answers).find_map(|(a, b)| difference(names, a, b));
            if let Some(diff) = differing {
                let why = format!("answers differently than {name}, so it is not timed:\n{diff}");
                self.note(&format!("{}, {}: {why}", case.title, place.name));
                place.fail(&why);
            }
        }
    }

    /// Finds contestants under which the page remembers what it answered before.
    fn look_for_state(&mut self, case: &Case, places: &mut [Place]) {
        if case.form.is_some() || self.cancelled() {
            return;
        }
        let host = case.hosts.first().map_or("", String::as_str);
        let running = places.iter().filter(|place| place.runs.is_some());
        let repeated =
            running.filter_map(|place| state::repeated(&place.title, place.target.as_ref()?, host).ok());
        let repeated: Vec<_> = repeated.collect();
        if repeated.iter().any(|one| one.changes().is_some()) {
            // Nobody's answers have to stay as long as they were.
            places
                .iter_mut()
                .filter_map(|place| place.target.as_mut())
                .for_each(|t| t.expected_length = None);
        }
        self.found.extend(state::kept(&case.title, &repeated));
    }

    /// Finds how many workers the page asks for, at the first contestant that serves it.
    fn look_for_workers(&mut self, case: &Case, places: &[Place], run: &Run) {
        let Some(place) = places.iter().find(|place| !place.cell.samples.is_empty()) else { return };
        let (Some(runs), Some(target)) = (&place.runs, &place.target) else { return };
        if !looks_for_workers(run) || self.cancelled() {
            return;
        }
        let doing = format!("{}: how many workers at {}", case.title, place.name);
        let of = self.servers.workers(&place.name, case);
        let processors = run.cpu.unwrap_or_else(|| f64::from(run.machine.processors));
        let mut pools = Pools {
            servers: &mut *self.servers,
            name: &place.name,
            case,
            target,
            as_it_is: runs.as_ref(),
            folder: place.folder.clone(),
            cancel: self.options.cancel.clone(),
            started: BTreeMap::new(),
            failed: None,
        };
        let (part, left) = self.clock.left(0.0);
        let events = &mut self.events;
        let mut load = |workers: Option<u32>, plan: &Plan| {
            let doing = doing.as_str();
            pools.load(workers, plan, &mut |_, _| events(Event::Progress { part, left, doing }))
        };
        let found = workers::find(of, &case.plan, processors, &mut load);
        self.found.extend(found.map(|found| found.advice(&case.title, &place.title)));
        if let Some(why) = pools.failed {
            self.note(&format!(
                "{}, {}: the number of workers could not be set: {why}",
                case.title, place.name
            ));
        }
        self.clock.done(workers::SECONDS);
    }

    /// Loads a contestant for as long as the plan says, and forgets what came of it.
    fn warm_up(&mut self, case: &Case, place: &mut Place) {
        let Some(plan) = warm_up(&case.plan) else { return };
        let doing = format!("{}: warming up {}", case.title, place.name);
        let Some(target) = place.target.clone() else { return };
        let cancel = self.options.cancel.clone();
        if let Err(why) = load::run(&target, &plan, &cancel, &mut |_, _| self.progress(0.0, &doing)) {
            place.fail(&format!("{why:#}"));
        }
    }

    /// Counts the system calls of a request.
    fn count(&mut self, case: &Case, place: &mut Place) {
        self.progress(0.0, &format!("{}: counting calls of {}", case.title, place.name));
        if let (Some(runs), Some(target)) = (&place.runs, &place.target) {
            place.calls = calls::count(runs.as_ref(), target, &case.plan, &self.options.cancel);
        }
        if place.calls.by_strace && !self.notes.iter().any(|note| note == BY_STRACE) {
            self.note(BY_STRACE);
        }
    }

    /// A sample; if the contestant dies it is started again once, and gives none in this round.
    fn take(&mut self, case: &Case, place: &mut Place, round: u32) {
        match self.sample(case, place, round) {
            Ok(mut sample) if !self.cancelled() => {
                let answers = sample.answers();
                place.calls.complete(&mut sample.cost, answers);
                if let Some(why) = place.runs.as_mut().and_then(|runs| runs.died()) {
                    self.died(case, place, round, &why);
                } else {
                    place.cell.samples.push(sample);
                }
            }
            Ok(_) => {}
            Err(why) => place.fail(&format!("{why:#}")),
        }
    }

    fn died(&mut self, case: &Case, place: &mut Place, round: u32, why: &str) {
        self.note(&format!("{}, {}: died in round {}: {why}", case.title, place.name, round + 1));
        if place.restarted {
            place.fail(&format!("died twice: {why}"));
            return;
        }
        place.restarted = true;
        self.keep_evidence(case, place);
        self.restart(case, place);
        if place.runs.is_some() {
            self.warm_up(case, place);
        }
    }

    fn sample(&mut self, case: &Case, place: &mut Place, round: u32) -> Result<Sample> {
        let (Some(runs), Some(target)) = (place.runs.as_ref(), place.target.as_ref()) else {
            anyhow::bail!("{} does not run", place.name);
        };
        let doing = format!("{}: {}", case.title, place.name);
        let at = self.clock.now();
        let plan = Plan { warm_up: 0.0, ..case.plan.clone() };
        let seconds = clock::seconds(&plan);
        let before = runs.cost();
        let cancel = self.options.cancel.clone();
        let outcome = load::run(target, &plan, &cancel, &mut |done, all| {
            let part = all.filter(|all| *all > 0.0).map_or(0.0, |all| done / all);
            self.progress(seconds * part.clamp(0.0, 1.0), &doing);
        })?;
        Ok(sample::sample(round, at, outcome, before, runs.cost()))
    }

    /// Keeps what a contestant was configured with and what it said last.
    fn keep_evidence(&mut self, case: &Case, place: &Place) {
        let Some(folder) = &self.options.evidence else { return };
        match evidence::keep(&place.folder, &folder.join(&place.name), case) {
            Ok(names) => {
                let relative = |file| format!("{}/{}/{file}", evidence::FOLDER, place.name);
                self.evidence.extend(names.into_iter().map(relative));
            }
            Err(why) => {
                self.note(&format!("{}: its configuration and logs could not be kept: {why:#}", place.name));
            }
        }
    }
}

/// Returns whether the number of workers is asked for at all.
fn looks_for_workers(run: &Run) -> bool {
    run.scenario.advice && workers::asked_by(run.scenario.report) && !run.saturation
}

/// The plan's first phase for as long as warming up takes; `None`: it does not.
fn warm_up(plan: &Plan) -> Option<Plan> {
    if plan.warm_up <= 0.0 {
        return None;
    }
    let phase = match plan.phases.first()?.clone() {
        Phase::Closed { clients, think, .. } => Phase::Closed {
            clients,
            to_clients: None,
            join: None,
            seconds: Some(plan.warm_up),
            requests: None,
            think,
        },
        Phase::Open { rate, .. } => Phase::Open { rate, to_rate: None, seconds: plan.warm_up },
    };
    Some(Plan { phases: vec![phase], warm_up: 0.0, stop: None, keep_requests: false, ..plan.clone() })
}
