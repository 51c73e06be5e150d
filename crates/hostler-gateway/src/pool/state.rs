//! Who serves whom: what is decided under a pool's lock. All critical sections are short: nothing waits in them.
//!
//! A request goes to the worker that was idle last (it is warm, and perhaps still spinning). When nobody is idle it
//! is placed behind a running one, at most one for each worker, or queued. A worker that falls idle takes the oldest
//! of all of them: what was placed elsewhere is taken back. So no request waits behind a busy worker while another
//! is idle.

use super::settings::Settings;
use super::ticket::{Begun, Placed, Ticket};
use super::worker::{Death, Record, Worker};
use super::{Pool, Work, WorkerId, WorkerState};
use crate::backend::ring::{Cutter, Unsent};
use crate::{Error, Kind};
use hostler_ring::front::Channel;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a request may wait before a further worker is forked for it: much less than a fork takes to pay, and
/// longer than the many requests wait that are served in microseconds.
const PATIENCE: Duration = Duration::from_millis(3);

/// How long a request stays placed behind a running one while others are placed behind ones that end sooner: longer
/// than most requests take, or requests would be moved about all the time.
const STALE: Duration = Duration::from_millis(1);

/// What a pool's processes are at.
#[derive(Debug)]
pub(super) enum Phase {
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
pub(super) struct Abandoned {
    pub(super) worker: Arc<Worker>,
    pub(super) index: usize,
    pub(super) channel: Channel,
    /// `None`: the worker was told that nobody waits. Else it goes on to the end of its cleanup.
    pub(super) cutter: Option<Cutter>,
    /// When it is killed.
    pub(super) deadline: Instant,
    /// When it is looked at next, and after which pause again.
    pub(super) look: (Instant, Duration),
}

/// A pool's state.
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) records: HashMap<WorkerId, Record, foldhash::fast::RandomState>,
    /// The one that fell idle last is at the end.
    pub(super) idle: Vec<WorkerId>,
    /// Workers with a request placed behind the running one, the oldest request first.
    pub(super) placed: VecDeque<WorkerId>,
    /// Requests that are younger than all that are placed.
    pub(super) queue: VecDeque<Ticket>,
    pub(super) abandoned: Vec<Abandoned>,
    /// Workers to be killed.
    pub(super) kills: Vec<WorkerId>,
    /// Idle workers to be asked to go.
    pub(super) retired: Vec<WorkerId>,
    /// Workers that the pool should have.
    pub(super) target: usize,
    /// When it is to be looked whether requests still wait.
    pub(super) growth_due: Option<Instant>,
    pub(super) last_use: Instant,
    pub(super) closing: bool,
    /// Its memory is needed elsewhere.
    pub(super) evicted: bool,
    pub(super) next_worker: WorkerId,
}

/// Requests that have got a worker, or won't; sent when the lock is released.
#[derive(Default)]
pub(super) struct Deliveries(Vec<(oneshot::Sender<Result<Begun, Error>>, Result<Begun, Error>)>);

impl Deliveries {
    /// Tells those who wait. One who has left leaves his worker to the pool.
    pub(super) fn send(self) {
        for (reply, result) in self.0 {
            drop(reply.send(result));
        }
    }
}

/// What a request needs to begin, chosen under the lock.
pub(super) struct Start {
    worker: Arc<Worker>,
    index: usize,
    channel: Channel,
    defines: bool,
    /// It is the worker's last request: a successor is due.
    pub(super) last: bool,
}

impl Start {
    /// Offers the request to its worker.
    pub(super) fn offer(mut self, pool: &Arc<Pool>, work: Work) -> Begun {
        let unsent = offer(&mut self.channel, &work, self.defines);
        self.worker.open.store(true, Release);
        Begun {
            pool: pool.clone(),
            worker: self.worker,
            index: self.index,
            channel: Some(self.channel),
            unsent,
            since: Instant::now(),
            defines: self.defines.then_some(work.directory.0),
            work,
            finished: None,
        }
    }
}

fn offer(channel: &mut Channel, work: &Work, defines: bool) -> Unsent {
    if !defines {
        let gone = channel.offer(work.thread, &work.request);
        return Unsent::rest(work.request.get(gone..).unwrap_or_default().to_vec(), 0);
    }
    let message = [&work.directory.1[..], &work.request].concat();
    let gone = channel.offer(work.thread, &message);
    Unsent::rest(message, gone)
}

impl State {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            phase: Phase::Cold,
            records: HashMap::default(),
            idle: Vec::new(),
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
            next_worker: 1,
        }
    }

    /// Whether a request may wait for a worker at all.
    ///
    /// # Errors
    /// The engine could not be started a moment ago, or the pool is being closed.
    pub(super) fn may_start(&mut self) -> Result<(), Error> {
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

    /// Requests that wait for a worker.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + self.placed.len()
    }

    /// Whether nothing is under way.
    pub(super) fn is_quiet(&self) -> bool {
        self.waiting() == 0 && self.records.values().all(|record| record.state != WorkerState::Busy)
    }

    /// Takes an idle worker for a request that nothing older waits for.
    pub(super) fn take_idle(&mut self, settings: &Settings, work: &Work) -> Option<Start> {
        if !self.queue.is_empty() {
            return None;
        }
        let id = self.idle.pop()?;
        self.start(settings, id, work)
    }

    /// A worker that is at nothing begins a request.
    fn start(&mut self, settings: &Settings, id: WorkerId, work: &Work) -> Option<Start> {
        let record = self.records.get_mut(&id)?;
        record.state = WorkerState::Busy;
        record.since = Instant::now();
        record.thread = work.thread;
        record.given(settings);
        let defines = record.told.insert(work.directory.0);
        if record.last {
            self.growth_due = Some(record.since);
        }
        let channel = record.worker.memory.channel(record.channel);
        let (worker, last) = (record.worker.clone(), record.last);
        Some(Start { worker, index: record.channel, channel, defines, last })
    }

    /// Gives a worker that is at nothing the oldest request that waits; else it is idle.
    fn assign(&mut self, pool: &Arc<Pool>, id: WorkerId, out: &mut Deliveries) {
        while let Some(ticket) = self.oldest() {
            if !ticket.is_wanted() {
                continue;
            }
            let Some(start) = self.start(&pool.settings, id, &ticket.work) else {
                self.queue.push_front(ticket);
                return;
            };
            pool.counters.waits.add(ticket.since.elapsed());
            out.0.push((ticket.reply, Ok(start.offer(pool, ticket.work))));
            self.place_behind(&pool.settings, id);
            return;
        }
        if let Some(record) = self.records.get_mut(&id) {
            record.state = WorkerState::Idle;
            record.since = Instant::now();
            self.idle.push(id);
        }
    }

    /// Takes the oldest request out of those that wait.
    fn oldest(&mut self) -> Option<Ticket> {
        while let Some(id) = self.placed.pop_front() {
            let ticket = self.records.get_mut(&id).and_then(|record| record.take_back());
            if ticket.is_some() {
                return ticket;
            }
        }
        self.queue.pop_front()
    }

    /// Places the oldest request that waits behind what this worker runs: one that has been placed elsewhere and
    /// got stuck there, or the first of the queue.
    fn place_behind(&mut self, settings: &Settings, id: WorkerId) {
        loop {
            if !self.records.get(&id).is_some_and(Record::is_placeable) {
                return;
            }
            let Some(ticket) = self.stuck().or_else(|| self.queue.pop_front()) else { return };
            let Some(record) = self.records.get_mut(&id).filter(|_| ticket.is_wanted()) else { continue };
            let mut channel = record.worker.memory.channel(1 - record.channel);
            record.given(settings);
            let defines = record.told.insert(ticket.work.directory.0);
            let unsent = offer(&mut channel, &ticket.work, defines);
            let since = Instant::now();
            record.placed = Some(Placed { ticket, channel, defines, unsent, since });
            self.placed.push_back(id);
            if record.last {
                self.growth_due = Some(since);
            }
            return;
        }
    }

    /// The oldest of those that are placed, if it has been for long.
    fn stuck(&mut self) -> Option<Ticket> {
        let record = self.records.get_mut(self.placed.front()?)?;
        let is_stuck = record.placed.as_ref().is_some_and(|placed| placed.since.elapsed() >= STALE);
        if !is_stuck {
            return None;
        }
        self.placed.pop_front();
        record.take_back()
    }

    /// Queues a request, and finds a place for it if there is one.
    ///
    /// # Errors
    /// The queue is full.
    pub(super) fn submit(
        &mut self,
        pool: &Arc<Pool>,
        ticket: Ticket,
        out: &mut Deliveries,
    ) -> Result<(), Error> {
        if self.queue.len() >= pool.settings.queue_length {
            self.queue.retain(Ticket::is_wanted);
        }
        if self.queue.len() >= pool.settings.queue_length {
            return Err(Error::new(Kind::QueueFull).retry_after(2));
        }
        self.queue.push_back(ticket);
        self.dispatch(pool, out);
        if self.queue.len() == 1 && self.idle.is_empty() {
            // Behind the one that began last: what has run for long will often run longer.
            let busy = self.records.values().filter(|record| record.is_placeable());
            if let Some(id) = busy.max_by_key(|record| record.since).map(|record| record.worker.id) {
                self.place_behind(&pool.settings, id);
            }
        }
        if !matches!(self.phase, Phase::Ready) {
            pool.attention.notify_one();
        } else if self.waiting() > 0 && self.growth_due.is_none() {
            let patience = if self.records.is_empty() { Duration::ZERO } else { PATIENCE };
            self.growth_due = Some(Instant::now() + patience);
            pool.attention.notify_one();
        }
        Ok(())
    }

    /// Gives idle workers what waits.
    pub(super) fn dispatch(&mut self, pool: &Arc<Pool>, out: &mut Deliveries) {
        while self.waiting() > 0
            && let Some(id) = self.idle.pop()
        {
            let before = self.waiting();
            self.assign(pool, id, out);
            if self.waiting() == before {
                return;
            }
        }
    }

    /// A new worker runs.
    pub(super) fn forked(&mut self, pool: &Arc<Pool>, id: WorkerId, pid: u32, out: &mut Deliveries) -> bool {
        let Some(record) = self.records.get(&id).filter(|r| r.state == WorkerState::Starting) else {
            return false;
        };
        record.worker.pid.store(pid, Relaxed);
        self.assign(pool, id, out);
        true
    }

    /// A worker is done with the request in this channel, which nobody holds any more.
    pub(super) fn finished(
        &mut self,
        pool: &Arc<Pool>,
        id: WorkerId,
        index: usize,
        exits: bool,
        out: &mut Deliveries,
    ) {
        let Some(record) = self.records.get_mut(&id).filter(|record| record.channel == index) else { return };
        record.worker.open.store(false, Relaxed);
        self.last_use = Instant::now();
        let placed = match record.state {
            WorkerState::Busy => record.placed.take(),
            _ => return,
        };
        self.placed.retain(|other| *other != id);
        if let Some(placed) = placed {
            self.promote(pool, id, placed, exits, out);
        } else if exits || record.last {
            self.end(pool, id);
        } else {
            self.assign(pool, id, out);
        }
    }

    /// What was placed behind is what runs now; unless nobody wants it, or the worker will exit.
    fn promote(
        &mut self,
        pool: &Arc<Pool>,
        id: WorkerId,
        mut placed: Placed,
        exits: bool,
        out: &mut Deliveries,
    ) {
        let Some(record) = self.records.get_mut(&id) else { return };
        let unwanted = exits || !placed.ticket.is_wanted();
        if unwanted && placed.channel.take_back() {
            record.taken_back(&placed);
            let Placed { ticket, channel, .. } = placed;
            drop(channel);
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
        let Placed { ticket, channel, defines, unsent, .. } = placed;
        record.channel = 1 - record.channel;
        record.since = Instant::now();
        record.thread = ticket.work.thread;
        record.last |= exits;
        record.worker.open.store(true, Relaxed);
        pool.counters.waits.add(ticket.since.elapsed());
        let begun = Begun {
            pool: pool.clone(),
            worker: record.worker.clone(),
            index: record.channel,
            channel: Some(channel),
            unsent,
            since: record.since,
            defines: defines.then_some(ticket.work.directory.0),
            work: ticket.work,
            finished: None,
        };
        out.0.push((ticket.reply, Ok(begun)));
        self.place_behind(&pool.settings, id);
    }

    /// A worker gets no more requests: it exits, or is killed.
    pub(super) fn end(&mut self, pool: &Arc<Pool>, id: WorkerId) {
        let Some(record) = self.records.get_mut(&id) else { return };
        record.state = WorkerState::Ending;
        record.since = Instant::now();
        let ticket = record.take_back();
        self.idle.retain(|other| *other != id);
        self.placed.retain(|other| *other != id);
        if let Some(ticket) = ticket {
            self.queue.push_front(ticket);
        }
        self.growth_due = Some(Instant::now());
        pool.attention.notify_one();
    }

    /// Kills a worker.
    pub(super) fn kill(&mut self, pool: &Arc<Pool>, id: WorkerId, out: &mut Deliveries) {
        if self.records.contains_key(&id) && !self.kills.contains(&id) {
            self.end(pool, id);
            self.kills.push(id);
            self.dispatch(pool, out);
        }
    }

    /// A worker is gone. Whether it was to be; `None`: nobody knows it.
    pub(super) fn died(
        &mut self,
        pool: &Arc<Pool>,
        id: WorkerId,
        death: Death,
        out: &mut Deliveries,
    ) -> Option<Record> {
        self.idle.retain(|other| *other != id);
        self.placed.retain(|other| *other != id);
        self.kills.retain(|other| *other != id);
        let mut record = self.records.remove(&id)?;
        let _ = record.worker.death.set(death);
        pool.ring(record.thread);
        if let Some(ticket) = record.take_back() {
            self.queue.push_front(ticket);
        } else if let Some(placed) = record.placed.take() {
            // It had taken this one, too, which is not safe to be repeated.
            out.0.push((placed.ticket.reply, Err(record.worker.died(death))));
        }
        self.abandoned.retain(|abandoned| abandoned.worker.id != id);
        self.growth_due = Some(Instant::now());
        self.dispatch(pool, out);
        Some(record)
    }

    /// Those who wait are told why they get no worker.
    pub(super) fn fail_all(&mut self, error: impl Fn() -> Error, out: &mut Deliveries) {
        out.0.extend(self.queue.drain(..).map(|ticket| (ticket.reply, Err(error()))));
    }

    /// Forgets the requests that nobody waits for any more.
    pub(super) fn withdraw(&mut self, pool: &Arc<Pool>) {
        self.queue.retain(Ticket::is_wanted);
        let unwanted = |record: &&mut Record| record.placed.as_ref().is_some_and(|p| !p.ticket.is_wanted());
        let mut freed = Vec::new();
        for record in self.records.values_mut().filter(unwanted) {
            if record.take_back().is_some() {
                freed.push(record.worker.id);
            }
        }
        self.placed.retain(|id| !freed.contains(id));
        for id in freed {
            self.place_behind(&pool.settings, id);
        }
    }
}

impl Record {
    /// Whether a request may be placed behind the one that runs.
    fn is_placeable(&self) -> bool {
        self.state == WorkerState::Busy
            && !self.last
            && self.placed.is_none()
            && self.worker.open.load(Acquire)
            && !self.worker.is_dead()
    }

    /// It has been given one more request.
    fn given(&mut self, settings: &Settings) {
        self.requests += 1;
        let most = if settings.one_shot { 1 } else { u64::from(settings.max_requests) };
        self.last = most > 0 && self.requests >= most;
    }

    /// Takes back what was placed behind, unless the worker has taken it.
    fn take_back(&mut self) -> Option<Ticket> {
        let mut placed = self.placed.take()?;
        if placed.channel.take_back() {
            self.taken_back(&placed);
            return Some(placed.ticket);
        }
        self.placed = Some(placed);
        None
    }

    fn taken_back(&mut self, placed: &Placed) {
        self.requests = self.requests.saturating_sub(1);
        self.last = false;
        if placed.defines {
            self.told.remove(&placed.ticket.work.directory.0);
        }
    }
}
