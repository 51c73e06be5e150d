//! Pools of warm workers: processes of one engine for one site, forked from one parent, each spoken to through
//! shared memory of its own (`hostler_ring`).
//!
//! Requests are served first come, first served, by whichever worker is idle. What the pool knows about a worker
//! it keeps in its own memory: the worker's memory is a tenant's.
//!
//! - [`Pool`] is shared by the front's threads; its state is behind one lock (`state`).
//! - [`Exchange`] is one request's conversation, on one thread (`exchange`, `thread`).
//! - [`Pool::maintain`] runs on one thread for each pool: it starts the parent, forks, reaps, replaces (`maintain`).

mod abandoned;
mod budget;
mod counters;
mod gather;
mod growth;
pub(crate) mod maintain;
mod queue;
mod settings;
pub(crate) mod state;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod ticket;
mod weight;
pub(crate) mod worker;

pub use crate::backend::cgi::Process;
pub use crate::backend::ring::{Attentive, Exchange, Frame, attentive, before_park};
pub use crate::supervisor::fork::{Host, Started};
pub use budget::Budget;
pub use hostler_wire::engine::WorkerId;
pub use settings::Settings;
pub use status::{BUCKETS, Histogram, Status, WorkerState, WorkerStatus};

use crate::backend::ring::bells::Bells;
use crate::backend::ring::{Kept, listen};
use crate::{Error, Kind};
use counters::Counters;
use hostler_ring::front::Channel;
use hostler_wire::work::{ToWorker, read_head, request_flag};
use state::{Abandoned, Deliveries, Phase, State};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use ticket::{Begun, Ticket};
use tokio::sync::{Notify, oneshot};

/// A pool. Several threads of the front submit to one.
pub struct Pool {
    name: String,
    pub(crate) settings: Settings,
    pub(crate) threads: u32,
    state: Mutex<State>,
    /// Whether a request that comes now is refused because of those that wait; written with the state.
    full: AtomicBool,
    pub(crate) counters: Counters,
    /// Wakes [`Self::maintain`].
    pub(crate) attention: Notify,
    /// By which workers wake the front's threads, while there is something to be woken for.
    pub(crate) bells: Mutex<Option<Arc<Bells>>>,
    /// What is known of the parent.
    facts: Mutex<Facts>,
    /// What its workers have said and is still kept.
    pub(crate) kept: Arc<Kept>,
    /// Memory that it shares with other pools.
    budget: OnceLock<Arc<Budget>>,
}

/// What is known of a pool's parent, for the status page.
#[derive(Default)]
pub(crate) struct Facts {
    pid: Option<u32>,
    version: String,
    memory: u64,
}

/// A request for a worker.
#[derive(Debug)]
pub struct Work {
    /// The submitting thread of the front: its number, below that given to [`Pool::new`].
    pub thread: u32,
    /// Number of the configuration that the request names, and the encoded message `ToWorker::Define` with it.
    pub directory: (u32, Arc<[u8]>),
    /// The encoded message `ToWorker::Request`, perhaps behind others.
    pub request: Vec<u8>,
    /// How long the worker may neither read nor write when it is its turn; then it is killed (504).
    pub timeout: Duration,
}

impl Work {
    /// Whether messages with the request's body follow the request.
    pub(crate) fn has_body(&self) -> bool {
        let mut messages = &*self.request;
        while let Some((head, rest)) = messages.split_first_chunk() {
            match read_head(*head) {
                Ok((ToWorker::REQUEST, _)) => {
                    // The flags are the first field of the message.
                    let flags = rest.first_chunk().map_or(0, |flags| u32::from_le_bytes(*flags));
                    return flags & request_flag::BODY != 0;
                }
                Ok((_, length)) => messages = rest.get(length..).unwrap_or_default(),
                Err(_) => return false,
            }
        }
        false
    }

    /// The same work once more, taken out of this.
    pub(crate) fn again(&mut self) -> Self {
        let request = std::mem::take(&mut self.request);
        Self { request, directory: self.directory.clone(), ..*self }
    }
}

/// How soon an abandoned request is looked at again; the pauses grow.
const FIRST_LOOK: Duration = Duration::from_millis(1);

impl Pool {
    /// A pool that has no processes yet, for a front of so many threads. [`Self::maintain`] must run for it.
    #[must_use]
    pub fn new(name: String, settings: Settings, threads: u32) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::new(&settings, threads)),
            full: AtomicBool::new(false),
            name,
            settings,
            threads,
            counters: Counters::default(),
            attention: Notify::new(),
            bells: Mutex::default(),
            facts: Mutex::default(),
            kept: Arc::default(),
            budget: OnceLock::new(),
        })
    }

    /// Its name: engine and site.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Begins a request with an idle worker, if there is one. Must be called on a thread's `LocalSet`.
    ///
    /// # Errors
    /// The work comes back when nobody is idle: [`Self::begin`] waits.
    pub fn try_begin(self: &Arc<Self>, work: Work) -> Result<Exchange, Work> {
        if self.full.load(Relaxed) || listen::join(self, work.thread).is_err() {
            return Err(work);
        }
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
        Ok(Exchange::new(start.offer(self, work)))
    }

    /// Why a request that comes now would be refused, as far as that can be told without looking closer: so many wait
    /// that no more may. Counts as a failure: whoever asks goes on with nothing else.
    #[must_use]
    pub fn refusal(&self) -> Option<Error> {
        self.full.load(Relaxed).then(|| {
            self.counters.failed(Kind::QueueFull);
            queue::full()
        })
    }

    /// Begins a request, first come, first served. Must be called on a thread's `LocalSet`. Dropping the future
    /// withdraws the request.
    ///
    /// # Errors
    /// [`Kind::QueueFull`], [`Kind::QueueTimeout`] (both tell when to try again), [`Kind::EngineFailed`],
    /// [`Kind::EngineNotLoaded`], [`Kind::System`].
    pub async fn begin(self: &Arc<Self>, work: Work) -> Result<Exchange, Error> {
        let work = match self.try_begin(work) {
            Ok(exchange) => return Ok(exchange),
            Err(work) => work,
        };
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let begun = self.wait(work, Instant::now()).await;
        begun.map(Exchange::new).inspect_err(|error| self.counters.failed(error.kind))
    }

    /// `since`: when the request came.
    pub(crate) async fn wait(self: &Arc<Self>, work: Work, since: Instant) -> Result<Begun, Error> {
        listen::join(self, work.thread)?;
        let (reply, receiver) = oneshot::channel();
        let ticket = Ticket { work, since, reply };
        self.locked(|state, out| {
            state.may_start()?;
            state.submit(self, ticket, out)
        })?;
        let mut waiting = Waiting { pool: self, receiver: Some(receiver) };
        let Some(receiver) = &mut waiting.receiver else { return Err(Error::new(Kind::EngineFailed)) };
        let begun = match tokio::time::timeout(self.settings.queue_timeout, receiver).await {
            Ok(Ok(begun)) => begun,
            Ok(Err(_)) => Err(Error::because(Kind::EngineFailed, "the server is stopping")),
            // Dropping the guard withdraws the request.
            Err(_) => return Err(self.late().retry_after(5)),
        };
        waiting.receiver = None;
        begun
    }

    /// Why a request has got no worker in time: all were busy, or no further one could be made.
    fn late(&self) -> Error {
        match &self.lock().unmade {
            Some(why) => Error::because(Kind::WorkerNotMade, why.clone()),
            None => Error::new(Kind::QueueTimeout),
        }
    }

    /// Runs with the state; then tells those who wait.
    pub(crate) fn locked<T>(self: &Arc<Self>, change: impl FnOnce(&mut State, &mut Deliveries) -> T) -> T {
        let mut out = Deliveries::default();
        let result = {
            let mut state = self.lock();
            let result = change(&mut state, &mut out);
            self.full.store(state.refuses(&self.settings), Relaxed);
            result
        };
        out.send();
        result
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn facts(&self) -> std::sync::MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has ended, and nobody holds its channel any more.
    pub(crate) fn finished(self: &Arc<Self>, worker: WorkerId, index: usize, exits: bool) {
        self.locked(|state, out| state.finished(self, worker, index, exits, out));
    }

    /// A request has been taken back before its worker has seen it, and nobody holds its channel any more.
    pub(crate) fn returned(self: &Arc<Self>, begun: &Begun) {
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

    /// Nobody waits for a request any more: the pool waits for its end.
    fn abandon(self: &Arc<Self>, begun: &mut Begun, mut channel: Channel) {
        if channel.take_back() {
            // The worker has not seen it.
            drop(channel);
            self.returned(begun);
            return;
        }
        let cutter = begun.finished.take();
        if cutter.is_none() {
            channel.abandon();
        }
        let now = Instant::now();
        let abandoned = Abandoned {
            worker: begun.worker.clone(),
            index: begun.index,
            channel,
            cutter,
            deadline: now + begun.work.timeout,
            look: (now + FIRST_LOOK, FIRST_LOOK),
        };
        if !begun.worker.is_dead() {
            self.lock().abandoned.push(abandoned);
            self.attention.notify_one();
        }
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

    /// Ends the pool's processes and lets [`Self::maintain`] return. Requests that wait are refused.
    pub fn close(self: &Arc<Self>) {
        self.locked(|state, out| {
            state.closing = true;
            state.warmers.clear();
            state.fail_all(|| Error::because(Kind::EngineFailed, "the server is stopping"), out);
        });
        self.attention.notify_one();
        self.call_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closing
    }

    /// How often its processes have all been ended because nobody needed them, or others needed their memory.
    #[must_use]
    pub fn ends(&self) -> u64 {
        self.counters.evicted.load(Relaxed) + self.counters.idled.load(Relaxed)
    }

    /// What the pool is at.
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
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A request that waits: withdrawn when whoever waits leaves.
struct Waiting<'a> {
    pool: &'a Arc<Pool>,
    receiver: Option<oneshot::Receiver<Result<Begun, Error>>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            drop(receiver);
            self.pool.locked(|state, _| state.withdraw(self.pool));
        }
    }
}
