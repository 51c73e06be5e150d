//! Pools: the workers of one kind for one site, whatever kind of process they are and however they are spoken to.
//!
//! Requests are served first come, first served, by whichever worker is idle. What the pool knows about a worker
//! it keeps in its own memory: what the worker can write is a tenant's.
//!
//! - [`Pool`] is shared by the front's threads; its state is behind one lock (`state`).
//! - How a worker is spoken to is its [`Backend`]'s, which also offers requests to it, and what begins one (`begin` of
//!   `backend::ring`).
//! - Where workers come from, and how they end, is a [`Supervisor`](crate::supervisor::Supervisor)'s;
//!   [`Pool::supervise`] tells it what to do, on one thread for each pool (`maintain`).

mod abandoned;
mod budget;
mod counters;
mod figures;
mod gather;
mod growth;
pub(crate) mod maintain;
mod queue;
mod rest;
mod settings;
pub(crate) mod state;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod ticket;
mod weight;
pub(crate) mod worker;

pub use budget::Budget;
pub use figures::{Figure, Figures, Measure};
pub use hostler_wire::engine::WorkerId;
pub use settings::Settings;
pub use status::{BUCKETS, Histogram, Status, WorkerState, WorkerStatus};

use crate::backend::{Backend, Common as _, Place as _, Request as _};
use crate::{Error, Kind};
use counters::Counters;
use state::{AbandonedRequest, Deliveries, Phase, State};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use ticket::{RunningRequest, Ticket};
use tokio::sync::{Notify, oneshot};

/// A pool. Several threads of the front submit to one.
pub struct Pool<B: Backend> {
    name: String,
    pub(crate) settings: Settings,
    state: Mutex<State<B>>,
    /// True if a request that comes now is refused because of those that wait; written with the state.
    full: AtomicBool,
    pub(crate) counters: Counters,
    /// Wakes [`Self::supervise`].
    pub(crate) attention: Notify,
    /// State that all workers share.
    pub(crate) common: B::Common,
    /// Numbers of requests that have waited.
    tickets: AtomicU64,
    /// Facts about the parent.
    facts: Mutex<Facts>,
    /// Memory that it shares with other pools.
    budget: OnceLock<Arc<Budget>>,
}

/// Facts about a pool's parent, for the status page.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) pid: Option<u32>,
    pub(crate) version: String,
    memory: u64,
    figures: Figures,
}

/// The first pause before an abandoned request is looked at again; later pauses are longer.
const FIRST_LOOK: Duration = Duration::from_millis(1);

impl<B: Backend> Pool<B> {
    /// A pool that has no processes yet, for a front of so many threads. [`Self::supervise`] must run for it.
    #[must_use]
    pub fn new(name: String, settings: Settings, threads: u32) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::new(&settings, threads)),
            full: AtomicBool::new(false),
            name,
            settings,
            common: B::Common::new(threads),
            tickets: AtomicU64::new(0),
            counters: Counters::default(),
            attention: Notify::new(),
            facts: Mutex::default(),
            budget: OnceLock::new(),
        })
    }

    /// Returns whether each of its workers serves one request.
    #[must_use]
    pub fn is_one_shot(&self) -> bool {
        self.settings.one_shot
    }

    /// Its name: engine and site.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a request that comes now is refused, as far as that can be told without looking closer.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    /// Begins a request with an idle worker, if there is one.
    ///
    /// # Errors
    /// The work comes back when nobody is idle: [`Self::wait`].
    pub(crate) fn take_idle(self: &Arc<Self>, work: B::Work) -> Result<RunningRequest<B>, B::Work> {
        // Outside of `locked`, which is for those who may have others to tell.
        let (start, due) = {
            let mut state = self.lock();
            let start = state.take_idle(&self.settings, &work);
            let due = start.as_ref().is_some_and(|start| start.last) && state.is_fork_due(&self.settings);
            (start, due)
        };
        let Some(start) = start else { return Err(work) };
        if due {
            self.attention.notify_one();
        }
        Ok(start.offer(self, work))
    }

    /// Why a request that comes now would be refused, as far as that can be told without looking closer: so many wait
    /// that no more may. Counts as a failure: whoever asks goes on with nothing else.
    #[must_use]
    pub fn refusal(&self) -> Option<Error> {
        self.is_full().then(|| {
            self.counters.failed(Kind::QueueFull);
            queue::full(&self.settings)
        })
    }

    /// Begins a request, first come, first served. `since`: when it came. Dropping the future withdraws the request,
    /// unless it is to be run to its end all the same ([`OnAbandon`](crate::backend::OnAbandon)).
    ///
    /// # Errors
    /// [`Kind::QueueFull`], [`Kind::QueueTimeout`] (both tell when to try again), [`Kind::EngineFailed`],
    /// [`Kind::EngineNotLoaded`], [`Kind::System`].
    pub(crate) async fn wait(
        self: &Arc<Self>,
        work: B::Work,
        since: Instant,
    ) -> Result<RunningRequest<B>, Error> {
        let (reply, receiver) = oneshot::channel();
        let number = self.tickets.fetch_add(1, Relaxed);
        let ticket = Ticket { number, work, since, reply, until: None };
        self.locked(|state, out| {
            state.may_start()?;
            state.submit(self, ticket, out)
        })?;
        let mut waiting = Waiting { pool: self, receiver: Some(receiver), number, left: true };
        let Some(receiver) = &mut waiting.receiver else { return Err(Error::new(Kind::EngineFailed)) };
        let answer = tokio::time::timeout(self.settings.queue_timeout, receiver).await;
        let begun = match answer {
            Ok(Ok(begun)) => begun,
            Ok(Err(_)) => Err(Error::because(Kind::EngineFailed, "the server is stopping")),
            // Dropping the guard withdraws the request.
            Err(_) => {
                waiting.left = false;
                return Err(self.late().retry_after(5));
            }
        };
        waiting.receiver = None;
        begun
    }

    /// Why a request has got no worker in time: all were busy, no further one could be made, or there is none yet.
    fn late(&self) -> Error {
        let state = self.lock();
        match (&state.unmade, &state.phase) {
            (Some(why), _) if state.records.len() < self.settings.max_workers as usize => {
                Error::because(Kind::WorkerNotMade, why.clone())
            }
            (None, Phase::Starting) => {
                Error::because(Kind::EngineFailed, "what is loaded ahead of its workers takes too long")
            }
            _ => queue::late(&self.settings),
        }
    }

    /// The process id of a worker; 0: it has none that we know.
    pub(crate) fn pid_of(&self, worker: WorkerId) -> u32 {
        self.lock().records.get(&worker).map_or(0, |record| record.worker.pid.load(Relaxed))
    }

    /// Runs with the state; then tells those who wait.
    pub(crate) fn locked<T>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut State<B>, &mut Deliveries<B>) -> T,
    ) -> T {
        let mut out = Deliveries::none();
        let result = {
            let mut state = self.lock();
            let result = change(&mut state, &mut out);
            self.full.store(state.refuses(&self.settings), Relaxed);
            result
        };
        out.send();
        result
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, State<B>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn facts(&self) -> std::sync::MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has ended, and nobody holds its place any more.
    pub(crate) fn finished(self: &Arc<Self>, worker: WorkerId, index: usize, exits: bool) {
        self.locked(|state, out| state.finished(self, worker, index, exits, out));
    }

    /// A request has been taken back before its worker has seen it, and nobody holds its place any more.
    pub(crate) fn returned(self: &Arc<Self>, begun: &RunningRequest<B>) {
        self.locked(|state, out| {
            let Some(record) = state.records.get_mut(&begun.worker.id) else { return };
            record.taken_back(begun.defines);
            if record.held == 1 << begun.index {
                state.finished(self, begun.worker.id, begun.index, false, out);
            } else {
                // It is not done with anything because of that.
                record.let_go(begun.index);
            }
        });
    }

    pub(crate) fn kill(self: &Arc<Self>, worker: WorkerId) {
        self.locked(|state, out| state.kill(self, worker, out));
        self.attention.notify_one();
    }

    /// Gives up a request that nothing waits for any more: the pool waits for its end.
    pub(crate) fn abandon(self: &Arc<Self>, begun: &mut RunningRequest<B>, mut place: B::Place) {
        let runs_on = begun.runs_on();
        // One that stands behind others would hold their worker liable for the time that they take.
        if (!runs_on || begun.behind) && place.take_back() {
            // The worker has not seen it.
            drop(place);
            self.returned(begun);
            if runs_on {
                self.run_later(begun);
            }
            return;
        }
        place.abandon(runs_on);
        let now = Instant::now();
        let abandoned = AbandonedRequest {
            worker: begun.worker.clone(),
            index: begun.index,
            place,
            deadline: now + begun.work.on_abandon().limit(),
            look: (now + FIRST_LOOK, FIRST_LOOK),
        };
        if !begun.worker.is_dead() {
            self.lock().abandoned.push(abandoned);
            self.attention.notify_one();
        }
    }

    /// Queues a request whose client has gone.
    fn run_later(self: &Arc<Self>, begun: &mut RunningRequest<B>) {
        let (number, until) =
            (self.tickets.fetch_add(1, Relaxed), Instant::now() + begun.work.on_abandon().limit());
        let (reply, _nobody_waits) = oneshot::channel();
        let (work, since) = (begun.work.again(), begun.since);
        let ticket = Ticket { number, work, since, reply, until: Some(until) };
        // It has been admitted before: whether the queue is full makes no difference.
        self.locked(|state, out| state.enter(self, ticket, out));
    }

    /// Has the pool start its processes, if it has none, and waits until they can serve, or can't be made.
    pub async fn warm(&self) {
        let (warmer, done) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.closing || matches!(state.phase, Phase::Failed(..)) {
                return;
            }
            state.warmers.push(warmer);
        }
        self.attention.notify_one();
        // Its end is the answer.
        let _ = done.await;
    }

    /// Ends the pool's processes and lets [`Self::supervise`] return. Requests that wait are refused.
    pub fn close(self: &Arc<Self>) {
        self.locked(|state, out| {
            state.closing = true;
            state.warmers.clear();
            state.fail_all(|| Error::because(Kind::EngineFailed, "the server is stopping"), out);
        });
        self.attention.notify_one();
        self.common.call_all();
    }

    /// It is in use, in a way that it can't see.
    pub fn touch(&self) {
        self.lock().last_use = Instant::now();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closing
    }

    /// Returns how many times all its processes were stopped because they were unused, or because other pools needed
    /// their memory.
    #[must_use]
    pub fn ends(&self) -> u64 {
        self.counters.evicted.load(Relaxed) + self.counters.idled.load(Relaxed)
    }

    /// Returns the state of the pool.
    #[must_use]
    pub fn status(&self) -> Status {
        let (workers, failed, queue) = {
            let state = self.lock();
            let mut workers: Vec<_> = state.records.values().map(worker::Record::status).collect();
            workers.sort_unstable_by_key(|worker| worker.id);
            let failed = match &state.phase {
                Phase::Failed(_, why, _) => Some(why.clone()),
                _ => None,
            };
            (workers, failed, state.waiting())
        };
        let facts = self.facts();
        Status {
            name: self.name.clone(),
            parent: facts.pid,
            failed,
            version: facts.version.clone(),
            memory: facts.memory,
            workers,
            max_workers: self.settings.max_workers,
            queue,
            begun: self.counters.begun.load(Relaxed),
            served: self.counters.served.load(Relaxed),
            errors: self.counters.errors(),
            forked: self.counters.forked.load(Relaxed),
            crashed: self.counters.crashed.load(Relaxed),
            evicted: self.counters.evicted.load(Relaxed),
            idled: self.counters.idled.load(Relaxed),
            latency: self.counters.latency.read(),
            waits: self.counters.waits.read(),
            // They are of processes that are there.
            figures: if facts.pid.is_some() { facts.figures.clone() } else { Figures::default() },
        }
    }

    /// Keeps what an engine tells of its pool; whether it has an advice that it had not before.
    pub fn tell_figures(&self, figures: Figures) -> bool {
        let mut facts = self.facts();
        let is_new = figures.advice.is_some() && figures.advice != facts.figures.advice;
        facts.figures = figures;
        is_new
    }
}

impl<B: Backend> std::fmt::Debug for Pool<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A request that waits: withdrawn when whoever waits leaves.
struct Waiting<'a, B: Backend> {
    pool: &'a Arc<Pool<B>>,
    receiver: Option<oneshot::Receiver<Result<RunningRequest<B>, Error>>>,
    /// Its ticket's.
    number: u64,
    /// The client itself has left.
    left: bool,
}

impl<B: Backend> Drop for Waiting<'_, B> {
    fn drop(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            drop(receiver);
            self.pool.locked(|state, _| state.withdraw(self.number, self.left));
        }
    }
}
