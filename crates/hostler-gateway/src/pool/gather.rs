//! Short requests gather at one worker for each thread of the front instead of waking many: it serves one after
//! another without sleeping in between, and the thread hears of several answers at once. Waking a worker and being
//! woken by it cost more than a short request itself. A worker that served several threads would wake each of them for
//! fewer answers.
//!
//! How long requests take is the workers' own word. A worker that says too little has more placed behind its
//! requests, which are its own site's; and what a request has got stuck behind after all is taken back after about a
//! millisecond (`thread`).

use super::settings::Settings;
use super::state::{Deliveries, Start, State};
use super::ticket::Ticket;
use super::worker::Record;
use super::{Pool, WorkerId, WorkerState};
use crate::backend::{Backend, Request as _};
use hostler_wire::work::MovingAverage;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

/// The expected time that a request may wait behind others, in microseconds: a few times the cost of waking a worker
/// for it.
const AHEAD: u32 = 60;
/// Idle workers that are looked at for one that the thread has spoken with last.
const LOOKED_AT: usize = 16;

/// Returns whether so many requests are done soon.
fn allows(usual: MovingAverage, requests: u32) -> bool {
    usual.micros().saturating_mul(requests) <= AHEAD
}

impl<B: Backend> Record<B> {
    /// Returns whether this work may be placed behind what the worker has, to be run there in all likelihood.
    fn may_be_joined(&self, usual: MovingAverage, work: &B::Work) -> bool {
        self.state == WorkerState::Busy
            && !self.goes_next()
            && self.placed.is_none()
            && self.defining == 0
            && work.configuration().is_none_or(|number| self.told.contains(&number))
            && self.has_room()
            && allows(usual, self.held.count_ones())
            && self.worker.opening.load(Acquire) == 0
            && !self.worker.is_dead()
    }
}

impl<B: Backend> State<B> {
    /// Finds a busy worker that is done with what it has before another would be awake; this one, if it is.
    pub(super) fn join(
        &mut self,
        settings: &Settings,
        work: &B::Work,
        named: Option<WorkerId>,
    ) -> Option<Start<B>> {
        // A body may come in pieces, which could not be told to another worker if this one turns out to be stuck.
        if settings.one_shot || settings.queue_length == 0 || !self.are_short() || !work.is_whole() {
            return None;
        }
        let id = self.joinable(work, named)?;
        let record = self.records.get_mut(&id)?;
        let index = record.hold()?;
        record.given();
        let worker = Arc::clone(&record.worker);
        worker.begin_opening();
        Some(Start { worker, index, defines: false, behind: true, last: false })
    }

    /// A busy worker that this work may join: the one named, the one at which the work's thread gathers, or any, if
    /// nobody is idle.
    fn joinable(&mut self, work: &B::Work, named: Option<WorkerId>) -> Option<WorkerId> {
        let usual = self.usual;
        let may = |record: &&Record<B>| record.may_be_joined(usual, work);
        let own = self.gathering.get(work.thread() as usize).copied().flatten();
        let known =
            [named, own].into_iter().flatten().find(|id| self.records.get(id).is_some_and(|r| may(&r)));
        if known.is_some() || !self.idle.is_empty() {
            return known;
        }
        let any = self.records.values().find(may)?.worker.id;
        if let Some(own) = self.gathering.get_mut(work.thread() as usize) {
            *own = Some(any);
        }
        Some(any)
    }

    /// Takes an idle worker for a request of this thread: the one at which the thread gathers, else one at which no
    /// other does, and of those the one that fell idle last.
    pub(super) fn pop_idle(&mut self, thread: u32) -> Option<WorkerId> {
        if B::STAYS {
            let its = |id: &&WorkerId| self.records.get(id).is_some_and(|record| record.thread == thread);
            let last = self.idle.iter().rev().take(LOOKED_AT).position(|id| its(&id));
            return match last {
                Some(before) => Some(self.idle.remove(self.idle.len() - 1 - before)),
                None => self.idle.pop(),
            };
        }
        let Some(&own) = self.gathering.get(thread as usize) else { return self.idle.pop() };
        let mine = own.and_then(|own| self.idle.iter().rposition(|id| *id == own));
        let free = || self.idle.iter().rposition(|id| !self.gathering.contains(&Some(*id)));
        let id = match mine.or_else(free) {
            Some(at) => self.idle.remove(at),
            None => self.idle.pop()?,
        };
        self.gathering[thread as usize] = Some(id);
        Some(id)
    }

    /// Gives a busy worker more of what waits: as many as it is done with soon, or one that it can begin at once.
    pub(super) fn refill(&mut self, pool: &Arc<Pool<B>>, id: WorkerId, out: &mut Deliveries<B>) {
        if self.are_short() {
            self.join_queued(pool, id, out);
        } else {
            self.place_behind(id);
        }
    }

    /// Returns whether requests are so short that others may be placed behind them.
    pub(super) fn are_short(&self) -> bool {
        allows(self.usual, 1)
    }

    /// Requests of the queue join those that run, first with this worker.
    fn join_queued(&mut self, pool: &Arc<Pool<B>>, id: WorkerId, out: &mut Deliveries<B>) {
        while let Some(ticket) = self.queue.pop_front() {
            if !ticket.is_wanted() {
                continue;
            }
            match self.join(&pool.settings, &ticket.work, Some(id)) {
                Some(start) => self.begin(pool, start, ticket, out),
                None => return self.queue.push_front(ticket),
            }
        }
    }

    /// A request that has waited begins.
    pub(super) fn begin(
        &self,
        pool: &Arc<Pool<B>>,
        start: Start<B>,
        ticket: Ticket<B>,
        out: &mut Deliveries<B>,
    ) {
        pool.counters.waits.add(ticket.since.elapsed());
        out.add(ticket.reply, Ok(start.offer(pool, ticket.work)));
    }
}
