//! A pool's workers: has its supervisor make, replace and end them, and says so to whoever waits.
//!
//! **Runs as** the front, a task on one of its threads. **Diagnostics**: why an engine can't be started is told to
//! the requests that wait for it, and again to those that come before the next attempt.

use super::growth::{self, Pace};
use super::state::{Phase, State};
use super::worker::{Death, Record, Worker};
use super::{Facts, Pool, WorkerId, WorkerState, weight};
use crate::Error;
use crate::backend::Backend;
use crate::supervisor::{End, SeatEvent, Source, Supervisor};
use hostler_wire::site::Exit;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::time::sleep_until;

const SECOND: Duration = Duration::from_secs(1);
/// The interval at which memory is measured, in seconds.
const WEIGHING: u32 = 5;
/// The time limit for a worker that is exiting, and for a source to end one that is to be killed.
pub(crate) const FAREWELL: Duration = Duration::from_secs(10);
/// A source that has lived for so long may be replaced at once.
const LONG: Duration = Duration::from_secs(5);

impl<B: Backend> Pool<B> {
    /// Keeps the pool's workers until it is closed. To be spawned on a thread's `LocalSet`, once for each pool.
    pub async fn supervise<S: Supervisor<B>>(self: Arc<Self>, supervisor: S) {
        let pauses = self.settings.pauses;
        let (mut generation, mut pause, mut again) = (0, pauses.0, false);
        while self.wanted(again).await {
            again = false;
            generation += 1;
            self.lock().phase = Phase::Starting;
            // In a place of its own: a pool without a parent, which may stay one for long, takes little memory.
            let life = Box::pin(async {
                let source = supervisor.start(&self, generation).await?;
                let since = Instant::now();
                Ok::<_, Error>((Maintenance::new(&self, source, generation).keep().await, since.elapsed()))
            });
            match life.await {
                Ok((end, lived)) => {
                    self.counters.ended(end);
                    if end.is_unasked() && lived < LONG {
                        // One that ends again and again must not be started in a circle.
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(pauses.1);
                    } else {
                        pause = pauses.0;
                    }
                    again = end.is_unasked();
                }
                Err(error) => {
                    self.failed(&error, pause);
                    pause = (pause * 2).min(pauses.1);
                }
            }
        }
    }

    /// Waits until there is something to do; false: the pool is closed. `again`: its source has ended in use.
    async fn wanted(&self, again: bool) -> bool {
        loop {
            {
                let state = self.lock();
                if state.closing {
                    return false;
                }
                if again || state.waiting() > 0 || !state.warmers.is_empty() {
                    return true;
                }
            }
            self.attention.notified().await;
        }
    }

    /// The engine can't be started: all who wait are told, and those who come in the near future.
    fn failed(self: &Arc<Self>, error: &Error, pause: Duration) {
        let why = error.source.as_ref().map_or_else(|| error.to_string(), ToString::to_string);
        self.locked(|state, out| {
            let again = || Error { origin: error.origin, ..Error::because(error.kind, why.clone()) };
            let again = || Error { last_lines: error.last_lines.clone(), ..again() };
            state.fail_all(|| again().retry_after(pause.as_secs() as u32 + 1), out);
            state.phase = Phase::Failed(error.kind, why.clone(), Instant::now() + pause);
            state.growth_due = None;
            state.warmers.clear();
        });
        *self.facts() = Facts::default();
        self.rest();
    }

    /// Workers can come from the source now. `workers`: so many the pool begins with, if it may have as many.
    pub(crate) fn ready(&self, workers: u32) {
        let mut state = self.lock();
        state.phase = Phase::Ready;
        state.target = state.target.max(workers.min(self.settings.max_workers) as usize);
        state.last_use = Instant::now();
        // Those that came meanwhile may be more than the workers that it begins with.
        state.growth_due = (state.waiting() > 0).then(|| Instant::now() + self.settings.patience);
    }

    /// The workers of a source that is no longer kept get no further requests; those that are at nothing are taken out
    /// at once.
    pub(crate) fn let_go(self: &Arc<Self>, generation: u32) {
        self.leave(|worker| worker.parent == generation);
        *self.facts() = Facts::default();
    }

    /// From now on requests are served by workers that are made anew, with what is loaded then. Those that are at
    /// something finish it, and go.
    pub fn renew(self: &Arc<Self>) {
        if !matches!(self.lock().phase, Phase::Ready) {
            // What is being loaded is loaded now.
            return;
        }
        self.leave(|_| true);
        self.lock().renewed = true;
        self.attention.notify_one();
    }

    fn leave(self: &Arc<Self>, is_its: impl Fn(&Worker<B>) -> bool) {
        self.locked(|state, out| {
            let theirs = state.records.values().filter(|record| is_its(&record.worker));
            let unneeded = theirs.filter(|record| record.state != WorkerState::Busy);
            let unneeded: Vec<_> = unneeded.map(|record| record.worker.id).collect();
            for id in unneeded {
                state.died(self, id, Death::Orphaned, out);
            }
            // Nothing more is placed behind what the others are at.
            let rest = state.records.values_mut().filter(|record| is_its(&record.worker));
            rest.for_each(|record| record.last = true);
            state.phase = Phase::Cold;
            state.growth_due = None;
            state.target = self.settings.first() as usize;
        });
    }

    /// Workers that are still there of a source: their numbers and process ids.
    pub(crate) fn workers_of(&self, generation: u32) -> Vec<(WorkerId, u32)> {
        let state = self.lock();
        let theirs = state.records.values().filter(|record| record.worker.parent == generation);
        theirs.map(|record| (record.worker.id, record.worker.pid.load(Relaxed))).collect()
    }

    /// A worker has gone, of a source that has.
    pub(crate) fn orphan_gone(self: &Arc<Self>, worker: WorkerId) {
        self.locked(|state, out| drop(state.died(self, worker, Death::Orphaned, out)));
    }
}

/// The maintenance between a pool and the source of its workers.
struct Maintenance<B: Backend, S> {
    pool: Arc<Pool<B>>,
    source: S,
    /// The pool's source, by number.
    generation: u32,
    pace: Pace,
    /// Workers that were to be killed, and since when.
    doomed: HashMap<WorkerId, Instant>,
    next_second: Instant,
    seconds: u32,
}

impl<B: Backend, S: Source<B>> Maintenance<B, S> {
    fn new(pool: &Arc<Pool<B>>, source: S, generation: u32) -> Self {
        Self {
            pool: pool.clone(),
            source,
            generation,
            pace: Pace::default(),
            doomed: HashMap::new(),
            next_second: Instant::now(),
            seconds: 0,
        }
    }

    /// Serves the pool as long as the source lives and is needed.
    async fn keep(mut self) -> End {
        let end = loop {
            let due = match self.step().await {
                Ok(due) => due,
                Err(end) => break end,
            };
            tokio::select! {
                event = self.source.event() => match event {
                    Ok(event) => self.happened(event),
                    Err(end) => break end,
                },
                () = self.pool.attention.notified() => {}
                () = sleep_until(due.into()) => {}
            }
            // A source that says ever more leaves others their turns.
            tokio::task::coop::consume_budget().await;
        };
        self.source.end(end);
        end
    }

    /// Does what is to be done now. When there is something to do next.
    async fn step(&mut self) -> Result<Instant, End> {
        let now = Instant::now();
        self.pool.look_after_abandoned(now);
        let second = now >= self.next_second;
        if second {
            self.next_second = now + SECOND;
            self.seconds = self.seconds.wrapping_add(1);
            self.each_second(now)?;
        }
        let (forks, kills, retired) = {
            let mut state = self.pool.lock();
            if std::mem::take(&mut state.renewed) {
                return Err(End::Renewed);
            }
            let evicted = std::mem::take(&mut state.evicted);
            if (state.closing || evicted) && state.is_quiet() && state.abandoned.is_empty() {
                return Err(if state.closing { End::Closed } else { End::Evicted });
            }
            let wanted = growth::wanted(&mut state, &self.pool.settings, &mut self.pace, now, second);
            let forks = if wanted == 0 { 0 } else { wanted.min(self.source.room()) };
            if forks < wanted {
                state.crowded(now);
            }
            let forks: Vec<_> = (0..forks).map(|_| state.next_id()).collect();
            if forks.is_empty() {
                state.tell_warmers();
            }
            (forks, std::mem::take(&mut state.kills), std::mem::take(&mut state.retired))
        };
        for worker in kills {
            self.doomed.insert(worker, now);
            self.source.kill(worker).await?;
        }
        for worker in retired {
            self.source.retire(worker).await?;
        }
        for worker in forks {
            self.add(worker).await?;
        }
        Ok(self.due())
    }

    fn due(&self) -> Instant {
        let state = self.pool.lock();
        let looks = state.abandoned.iter().map(|abandoned| abandoned.look.0);
        let growth = state.growth_due.map(|due| due.max(self.pace.not_before.unwrap_or(due)));
        looks.chain(growth).fold(self.next_second, Instant::min)
    }

    async fn add(&mut self, id: WorkerId) -> Result<(), End> {
        match self.source.add(id).await? {
            Ok(seat) => {
                let worker = Worker::new(id, &self.pool, self.generation, seat);
                self.pool.lock().records.insert(id, Record::new(worker, &self.pool.settings));
            }
            Err(why) => self.not_made(&why.to_string()),
        }
        Ok(())
    }

    /// Handles an event of a worker. The source is trusted: it can only harm its own pool.
    fn happened(&mut self, event: SeatEvent) {
        match event {
            SeatEvent::Made(worker, pid) => {
                if let Some(record) = self.pool.lock().records.get(&worker) {
                    record.worker.pid.store(pid, Relaxed);
                }
            }
            SeatEvent::Began(worker, pid) => {
                let known = self.pool.locked(|state, out| state.forked(&self.pool, worker, pid, out));
                self.pool.counters.forked.fetch_add(u64::from(known), Relaxed);
            }
            SeatEvent::Failed(worker, why) => self.failed(worker, &why),
            SeatEvent::Ended(worker, exit) => self.ended(worker, exit),
            SeatEvent::Other => {}
        }
    }

    fn failed(&mut self, worker: WorkerId, why: &str) {
        self.doomed.remove(&worker);
        let starts = |state: &State<B>| Some(state.records.get(&worker)?.state == WorkerState::Starting);
        let known = self.pool.locked(|state, out| {
            let starts = starts(state);
            match starts {
                Some(true) => drop(state.records.remove(&worker)),
                // It may have been given a request, which another one can serve.
                Some(false) => drop(state.died(&self.pool, worker, Death::Exit(Exit::Status(1)), out)),
                None => {}
            }
            starts.is_some()
        });
        if known {
            self.not_made(why);
        }
    }

    fn ended(&mut self, worker: WorkerId, exit: Exit) {
        self.doomed.remove(&worker);
        let died = |state: &mut State<B>, out: &mut _| state.died(&self.pool, worker, Death::Exit(exit), out);
        match self.pool.locked(died) {
            // One that exits after its last word may be gone before that has been read.
            Some(record) if record.state != WorkerState::Ending && exit != Exit::Status(0) => {
                self.pool.counters.crashed.fetch_add(1, Relaxed);
                self.stumbled();
                self.source.crashed(&record.worker, exit, record.state == WorkerState::Busy);
            }
            _ => {}
        }
    }

    fn stumbled(&mut self) {
        self.pace.stumbled(Instant::now(), self.pool.counters.served.load(Relaxed));
    }

    fn not_made(&mut self, why: &str) {
        self.stumbled();
        self.pool.lock().unmade = Some(why.to_owned());
        if self.pace.tells(Instant::now()) {
            self.source.not_made(why);
        }
    }

    fn each_second(&mut self, now: Instant) -> Result<(), End> {
        if self.seconds % WEIGHING == 1 {
            weight::measure(&self.pool, self.source.parent());
            if let Some(budget) = self.pool.budget.get() {
                budget.enforce();
            }
        }
        if self.doomed.values().any(|since| now.duration_since(*since) >= FAREWELL) {
            // The source does not do what it is told.
            return Err(End::Stuck);
        }
        self.source.each_second(now)?;
        let pool = &self.pool;
        pool.locked(|state, _| {
            state.forget_unwanted();
            if growth::too_many(state, &pool.settings)
                && let Some(coldest) = state.idle.first().copied()
            {
                state.end(pool, coldest);
                state.retired.push(coldest);
            }
            let late = |record: &&Record<B>| {
                record.state == WorkerState::Ending && now.duration_since(record.since) >= FAREWELL
            };
            let late: Vec<_> = state.records.values().filter(late).map(|r| r.worker.id).collect();
            state.kills.extend(late.into_iter().filter(|id| !self.doomed.contains_key(id)));
            let idle = pool.settings.idle;
            let unused = !idle.is_zero() && now.saturating_duration_since(state.last_use) >= idle;
            if unused && state.is_quiet() && state.abandoned.is_empty() { Err(End::Idle) } else { Ok(()) }
        })
    }
}
