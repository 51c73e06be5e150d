//! The assignment of requests to workers, decided under a pool's lock. All critical sections are short: nothing waits
//! in them.
//!
//! A request goes to a worker that is about to be done with what it has (`gather`), or to the one that was idle last
//! (it is warm, and perhaps still spinning). When nobody is idle it is placed behind a running one, at most one for
//! each worker, or queued. A worker that falls idle takes the oldest of all of them: what was placed elsewhere is
//! taken back. So no request waits behind a busy worker while another is idle, but for about a millisecond where that
//! one was believed to be almost done.

use super::settings::Settings;
use super::ticket::{PlacedRequest, Reply, RunningRequest, Ticket};
use super::worker::{Death, Record, Worker};
use super::{Pool, WorkerId, WorkerState};
use crate::backend::{Backend, Common as _, Place as _, Request as _};
use crate::{Error, Kind};
use hostler_wire::work::MovingAverage;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Why no further connection is made, and when that is looked at again.
const CROWDED: &str =
    "the site has as many connections to its programs as it may, and none of them became free in time";
const CROWDED_PAUSE: Duration = Duration::from_millis(100);

/// The state of a pool's processes.
#[derive(Debug)]
pub(crate) enum Phase {
    /// There are none.
    Cold,
    /// The parent loads.
    Starting,
    /// Workers can be forked.
    Ready,
    /// The parent could not be started; it is not tried again before this time.
    Failed(Kind, String, Instant),
}

/// A request that nobody waits for any more, and that its worker has not ended yet.
pub(crate) struct AbandonedRequest<B: Backend> {
    pub(crate) worker: Arc<Worker<B>>,
    pub(crate) index: usize,
    pub(crate) place: B::Place,
    /// When it is killed.
    pub(crate) deadline: Instant,
    /// When it is looked at next, and after which pause again.
    pub(crate) look: (Instant, Duration),
}

/// A pool's state.
pub(crate) struct State<B: Backend> {
    pub(crate) phase: Phase,
    pub(crate) records: HashMap<WorkerId, Record<B>, foldhash::fast::RandomState>,
    /// The one that fell idle last is at the end.
    pub(crate) idle: Vec<WorkerId>,
    /// The worker at which short requests of a thread of the front gather.
    pub(crate) gathering: Vec<Option<WorkerId>>,
    /// The usual duration of requests.
    pub(crate) usual: MovingAverage,
    /// Workers with a request placed behind the running one, the oldest request first.
    pub(crate) placed: VecDeque<WorkerId>,
    /// Requests that are younger than all that are placed.
    pub(crate) queue: VecDeque<Ticket<B>>,
    pub(crate) abandoned: Vec<AbandonedRequest<B>>,
    /// Workers to be killed.
    pub(crate) kills: Vec<WorkerId>,
    /// Idle workers to be asked to go.
    pub(crate) retired: Vec<WorkerId>,
    /// Workers that the pool should have.
    pub(crate) target: usize,
    /// When it is to be looked whether requests still wait.
    pub(crate) growth_due: Option<Instant>,
    pub(crate) last_use: Instant,
    pub(crate) closing: bool,
    /// Its memory is needed elsewhere.
    pub(crate) evicted: bool,
    /// The code that its workers have loaded is out of date.
    pub(crate) renewed: bool,
    pub(crate) next_worker: WorkerId,
    /// Why the last worker that was wanted could not be made.
    pub(crate) unmade: Option<String>,
    /// The callers that want the pool to have processes before there are requests; notified when it has them or cannot.
    pub(crate) warmers: Vec<oneshot::Sender<()>>,
}

/// Requests that have got a worker, or won't; sent when the lock is released.
pub(crate) struct Deliveries<B: Backend>(Vec<Delivery<B>>);

/// A recipient, and its message.
type Delivery<B> = (Reply<B>, Result<RunningRequest<B>, Error>);

impl<B: Backend> Deliveries<B> {
    pub(crate) const fn none() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn add(&mut self, reply: Reply<B>, result: Result<RunningRequest<B>, Error>) {
        self.0.push((reply, result));
    }

    /// Tells those who wait. One who has left leaves his worker to the pool.
    pub(crate) fn send(self) {
        for (reply, result) in self.0 {
            drop(reply.send(result));
        }
    }
}

/// The parts that a request needs to begin, chosen under the lock.
pub(crate) struct Start<B: Backend> {
    pub(crate) worker: Arc<Worker<B>>,
    pub(crate) index: usize,
    pub(crate) defines: bool,
    /// The worker has others before it.
    pub(crate) behind: bool,
    /// It is the worker's last request: a successor is due.
    pub(crate) last: bool,
}

impl<B: Backend> Start<B> {
    /// Offers the request to its worker.
    pub(crate) fn offer(self, pool: &Arc<Pool<B>>, work: B::Work) -> RunningRequest<B> {
        let place = B::offer(&self.worker, self.index, &work, self.defines);
        self.worker.end_opening();
        RunningRequest {
            pool: pool.clone(),
            worker: self.worker,
            index: self.index,
            place: Some(place),
            since: Instant::now(),
            defines: work.configuration().filter(|_| self.defines),
            behind: self.behind,
            work,
            whole: None,
        }
    }
}

impl<B: Backend> State<B> {
    /// For a front of so many threads.
    pub(crate) fn new(settings: &Settings, threads: u32) -> Self {
        Self {
            phase: Phase::Cold,
            records: HashMap::default(),
            idle: Vec::new(),
            gathering: vec![None; threads as usize],
            usual: MovingAverage::LONG,
            placed: VecDeque::new(),
            queue: VecDeque::new(),
            abandoned: Vec::new(),
            kills: Vec::new(),
            retired: Vec::new(),
            target: settings.first() as usize,
            growth_due: None,
            last_use: Instant::now(),
            closing: false,
            evicted: false,
            renewed: false,
            next_worker: 1,
            unmade: None,
            warmers: Vec::new(),
        }
    }

    /// Requests wait for workers that may not be made now: others have them.
    pub(crate) fn crowded(&mut self, now: Instant) {
        self.unmade = Some(CROWDED.to_owned());
        self.growth_due = Some(now + CROWDED_PAUSE);
    }

    /// Returns whether a request may wait for a worker at all.
    ///
    /// # Errors
    /// The engine could not be started a moment ago, or the pool is being closed.
    pub(crate) fn may_start(&mut self) -> Result<(), Error> {
        if self.closing {
            return Err(Error::because(Kind::EngineFailed, "the server is stopping"));
        }
        match &self.phase {
            Phase::Failed(kind, why, until) => {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(());
                }
                Err(Error::because(*kind, why.clone()).retry_after(left.as_secs() as u32 + 1))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn next_id(&mut self) -> WorkerId {
        let id = self.next_worker;
        self.next_worker = id.wrapping_add(1);
        id
    }

    /// Tells those who wait for the pool's processes, if there is nothing more to wait for: it has its workers, or
    /// gets none.
    pub(crate) fn tell_warmers(&mut self) {
        if self.warmers.is_empty() {
            return;
        }
        let lasting = self.records.values().filter(|record| record.lasts());
        let starting = self.records.values().any(|record| record.state == WorkerState::Starting);
        if self.closing || self.unmade.is_some() || (!starting && lasting.count() >= self.target) {
            self.warmers.clear();
        }
    }

    /// Requests that wait for a worker.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len() + self.placed.len()
    }

    /// Returns whether nothing is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.waiting() == 0 && self.records.values().all(|record| record.state != WorkerState::Busy)
    }

    /// Takes a worker for a request that nothing older waits for: one that is as good as done, or an idle one.
    pub(crate) fn take_idle(&mut self, settings: &Settings, work: &B::Work) -> Option<Start<B>> {
        if !self.queue.is_empty() {
            return None;
        }
        if let Some(start) = self.join(settings, work, None) {
            return Some(start);
        }
        let id = self.pop_idle(work.thread())?;
        self.start(id, work)
    }

    /// A worker that is at nothing begins a request.
    fn start(&mut self, id: WorkerId, work: &B::Work) -> Option<Start<B>> {
        let record = self.records.get_mut(&id)?;
        record.state = WorkerState::Busy;
        record.since = Instant::now();
        record.thread = work.thread();
        let index = record.hold()?;
        record.given();
        let defines = record.tell(work.configuration());
        record.defining = u32::from(defines) << index;
        if record.last {
            self.growth_due = Some(record.since);
        }
        record.worker.begin_opening();
        let (worker, last) = (record.worker.clone(), record.last);
        Some(Start { worker, index, defines, behind: false, last })
    }

    /// Gives a worker that is at nothing the oldest request that waits; else it is idle.
    pub(crate) fn assign(&mut self, pool: &Arc<Pool<B>>, id: WorkerId, out: &mut Deliveries<B>) {
        while let Some(ticket) = self.oldest() {
            if !ticket.is_wanted() {
                continue;
            }
            let Some(start) = self.start(id, &ticket.work) else {
                self.queue.push_front(ticket);
                return;
            };
            self.begin(pool, start, ticket, out);
            self.refill(pool, id, out);
            return;
        }
        if let Some(record) = self.records.get_mut(&id) {
            record.state = WorkerState::Idle;
            record.since = Instant::now();
            self.idle.push(id);
        }
    }

    /// A new worker runs.
    pub(crate) fn forked(
        &mut self,
        pool: &Arc<Pool<B>>,
        id: WorkerId,
        pid: u32,
        out: &mut Deliveries<B>,
    ) -> bool {
        let Some(record) = self.records.get(&id).filter(|r| r.state == WorkerState::Starting) else {
            return false;
        };
        record.worker.pid.store(pid, Relaxed);
        self.unmade = None;
        self.assign(pool, id, out);
        true
    }

    /// A worker is done with the request in this channel, which nobody holds any more.
    pub(crate) fn finished(
        &mut self,
        pool: &Arc<Pool<B>>,
        id: WorkerId,
        index: usize,
        exits: bool,
        out: &mut Deliveries<B>,
    ) {
        let Some(record) = self.records.get_mut(&id) else { return };
        if !record.let_go(index) {
            return;
        }
        self.last_use = Instant::now();
        if record.state != WorkerState::Busy {
            return;
        }
        if record.held != 0 {
            if exits {
                self.end(pool, id);
                self.dispatch(pool, out);
            } else {
                self.refill(pool, id, out);
            }
            return;
        }
        let placed = record.placed.take();
        if placed.is_some() {
            self.placed.retain(|other| *other != id);
        }
        if let Some(placed) = placed {
            self.promote(pool, id, placed, exits, out);
        } else if exits || record.last {
            self.end(pool, id);
        } else {
            self.assign(pool, id, out);
        }
    }

    /// Promotes the request placed behind to the running one, unless it was given up or the worker will exit.
    fn promote(
        &mut self,
        pool: &Arc<Pool<B>>,
        id: WorkerId,
        mut placed: PlacedRequest<B>,
        exits: bool,
        out: &mut Deliveries<B>,
    ) {
        let Some(record) = self.records.get_mut(&id) else { return };
        let unwanted = exits || !placed.ticket.is_wanted();
        if unwanted && placed.place.take_back() {
            record.taken_back(placed.defined());
            let PlacedRequest { ticket, place, .. } = placed;
            drop(place);
            if ticket.is_wanted() {
                self.queue.push_front(ticket);
            }
            if exits {
                self.end(pool, id);
                self.dispatch(pool, out);
            } else {
                self.assign(pool, id, out);
            }
            return;
        }
        record.held = 1 << placed.index;
        record.defining = u32::from(placed.defines) << placed.index;
        record.since = Instant::now();
        record.last |= exits;
        let (reply, begun) = placed.begin(pool, record.worker.clone());
        out.add(reply, Ok(begun));
        self.refill(pool, id, out);
    }

    /// A worker gets no more requests: it exits, or is killed.
    pub(crate) fn end(&mut self, pool: &Arc<Pool<B>>, id: WorkerId) {
        let Some(record) = self.records.get_mut(&id) else { return };
        record.state = WorkerState::Ending;
        record.since = Instant::now();
        let ticket = record.take_back();
        record.worker.going.store(true, Release);
        if record.held != 0 {
            pool.common.call_all();
        }
        self.idle.retain(|other| *other != id);
        self.placed.retain(|other| *other != id);
        if let Some(ticket) = ticket {
            self.queue.push_front(ticket);
        }
        self.growth_due = Some(Instant::now());
        if self.closing || self.is_fork_due(&pool.settings) {
            pool.attention.notify_one();
        }
    }

    /// Kills a worker.
    pub(crate) fn kill(&mut self, pool: &Arc<Pool<B>>, id: WorkerId, out: &mut Deliveries<B>) {
        if self.records.contains_key(&id) && !self.kills.contains(&id) {
            self.end(pool, id);
            self.kills.push(id);
            self.dispatch(pool, out);
        }
    }

    /// A worker is gone. Whether it was to be; `None`: nobody knows it.
    pub(crate) fn died(
        &mut self,
        pool: &Arc<Pool<B>>,
        id: WorkerId,
        death: Death,
        out: &mut Deliveries<B>,
    ) -> Option<Record<B>> {
        self.idle.retain(|other| *other != id);
        self.placed.retain(|other| *other != id);
        self.kills.retain(|other| *other != id);
        let mut record = self.records.remove(&id)?;
        let _ = record.worker.death.set(death);
        if record.held != 0 || record.placed.is_some() {
            // Whoever waits for it has to hear of it.
            pool.common.call_all();
        }
        if let Some(ticket) = record.take_back() {
            self.queue.push_front(ticket);
        } else if let Some(placed) = record.placed.take() {
            // It had taken this one, too, which is not safe to be repeated; but perhaps it has answered it.
            let (reply, begun) = placed.begin(pool, record.worker.clone());
            out.add(reply, Ok(begun));
        }
        self.abandoned.retain(|abandoned| abandoned.worker.id != id);
        self.growth_due = Some(Instant::now());
        self.dispatch(pool, out);
        Some(record)
    }
}
