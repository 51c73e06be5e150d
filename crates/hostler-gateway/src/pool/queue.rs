//! Requests that wait: in the queue, or placed behind one that runs.

use super::settings::Settings;
use super::state::{Deliveries, Phase, State};
use super::ticket::{PlacedRequest, Ticket};
use super::worker::Record;
use super::{Pool, WorkerId, WorkerState};
use crate::backend::{Backend, Request as _};
use crate::{Error, Kind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time a request stays placed behind a running one while others are placed behind ones that end sooner: longer
/// than most requests take, or requests would be moved about all the time.
const STALE: Duration = Duration::from_millis(1);

/// The refusal of a request because of those that wait.
pub(super) fn full(settings: &Settings) -> Error {
    let Settings { queue_length, max_workers, max_workers_set_by, .. } = settings;
    let why = format!("HostlerQueueLength is {queue_length}, {max_workers_set_by} is {max_workers}");
    Error::because(Kind::QueueFull, why).retry_after(2)
}

/// Why a request gets no worker that has waited as long as it may.
pub(super) fn late(settings: &Settings) -> Error {
    let Settings { queue_timeout, max_workers, max_workers_set_by, .. } = settings;
    let seconds = queue_timeout.as_secs_f32();
    let why = format!("HostlerQueueTimeout is {seconds} s, {max_workers_set_by} is {max_workers}");
    Error::because(Kind::QueueTimeout, why)
}

impl<B: Backend> State<B> {
    /// Takes the oldest request out of those that wait.
    pub(super) fn oldest(&mut self) -> Option<Ticket<B>> {
        while let Some(id) = self.placed.pop_front() {
            let ticket = self.records.get_mut(&id).and_then(Record::take_back);
            if ticket.is_some() {
                return ticket;
            }
        }
        self.queue.pop_front()
    }

    /// Places the oldest request that waits behind what this worker runs: one that has been placed elsewhere and
    /// got stuck there, or the first of the queue.
    pub(super) fn place_behind(&mut self, id: WorkerId) {
        loop {
            if !self.records.get(&id).is_some_and(Record::is_placeable) {
                return;
            }
            let Some(ticket) = self.stuck().or_else(|| self.queue.pop_front()) else { return };
            let Some(record) = self.records.get_mut(&id).filter(|_| ticket.is_wanted()) else { continue };
            let Some(index) = record.free() else { return self.queue.push_front(ticket) };
            record.given();
            let defines = record.tell(ticket.work.configuration());
            let place = B::offer(&record.worker, index, &ticket.work, defines);
            let since = Instant::now();
            record.placed = Some(PlacedRequest { ticket, index, place, defines, since });
            self.placed.push_back(id);
            return;
        }
    }

    /// The oldest of those that are placed, if it has been for long.
    fn stuck(&mut self) -> Option<Ticket<B>> {
        let record = self.records.get_mut(self.placed.front()?)?;
        let is_stuck = record.placed.as_ref().is_some_and(|placed| placed.since.elapsed() >= STALE);
        if !is_stuck {
            return None;
        }
        self.placed.pop_front();
        record.take_back()
    }

    /// Returns whether as many requests wait as may. Those for which a worker can still be forked, or is being forked,
    /// do not count: they wait for that, not for others.
    fn is_full(&self, settings: &Settings) -> bool {
        let most = settings.queue_length;
        if self.queue.len() < most {
            return false;
        }
        let busy = self.records.values().filter(|record| record.state == WorkerState::Busy).count();
        let free = (settings.max_workers as usize).saturating_sub(busy);
        // One more may be placed behind a running one, unless nothing may wait at all.
        let placed = if most == 0 { self.placed.len() } else { 0 };
        self.queue.len() + placed >= most + free
    }

    /// Returns whether a request that comes now is refused whoever is idle: nobody passes those that wait.
    pub(super) fn refuses(&self, settings: &Settings) -> bool {
        !self.queue.is_empty() && self.is_full(settings)
    }

    /// Queues a request, and finds a place for it if there is one.
    ///
    /// # Errors
    /// The queue is full.
    pub(super) fn submit(
        &mut self,
        pool: &Arc<Pool<B>>,
        ticket: Ticket<B>,
        out: &mut Deliveries<B>,
    ) -> Result<(), Error> {
        if self.is_full(&pool.settings) {
            return Err(full(&pool.settings));
        }
        self.enter(pool, ticket, out);
        Ok(())
    }

    /// Queues a request however many wait, and finds a place for it if there is one.
    pub(super) fn enter(&mut self, pool: &Arc<Pool<B>>, ticket: Ticket<B>, out: &mut Deliveries<B>) {
        self.enqueue(ticket);
        self.dispatch(pool, out);
        if B::PLACES_BEHIND && self.queue.len() == 1 && self.idle.is_empty() && !self.are_short() {
            // Behind the one that began last: what has run for long will often run longer.
            let busy = self.records.values().filter(|record| record.is_placeable());
            if let Some(id) = busy.max_by_key(|record| record.since).map(|record| record.worker.id) {
                self.place_behind(id);
            }
        }
        if !matches!(self.phase, Phase::Ready) {
            pool.attention.notify_one();
        } else if self.waiting() > 0 && self.growth_due.is_none() {
            let patience = if self.records.is_empty() { Duration::ZERO } else { pool.settings.patience };
            self.growth_due = Some(Instant::now() + patience);
            pool.attention.notify_one();
        }
    }

    /// Queues a request by its age: one that comes back from a worker is older than those that came since.
    fn enqueue(&mut self, ticket: Ticket<B>) {
        let younger = self.queue.iter().rev().take_while(|other| other.since > ticket.since).count();
        self.queue.insert(self.queue.len() - younger, ticket);
    }

    /// Gives idle workers what waits.
    pub(super) fn dispatch(&mut self, pool: &Arc<Pool<B>>, out: &mut Deliveries<B>) {
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

    /// Reports to all waiting requests why they get no worker.
    pub(super) fn fail_all(&mut self, error: impl Fn() -> Error, out: &mut Deliveries<B>) {
        self.queue.drain(..).for_each(|ticket| out.add(ticket.reply, Err(error())));
    }

    /// Withdraws a request. `left`: its client has gone; otherwise it has been answered. Drops the requests that are
    /// not to run.
    pub(super) fn withdraw(&mut self, number: u64, left: bool) {
        if left {
            let placed =
                self.records.values_mut().filter_map(|record| Some(&mut record.placed.as_mut()?.ticket));
            let mut tickets = self.queue.iter_mut().chain(placed);
            tickets.find(|ticket| ticket.number == number).iter_mut().for_each(|ticket| ticket.leave());
        }
        self.forget_unwanted();
    }

    /// Forgets the requests that are not to be run any more.
    pub(super) fn forget_unwanted(&mut self) {
        self.queue.retain(Ticket::is_wanted);
        if self.placed.is_empty() {
            return;
        }
        let unwanted =
            |record: &&mut Record<B>| record.placed.as_ref().is_some_and(|p| !p.ticket.is_wanted());
        let mut freed = Vec::new();
        for record in self.records.values_mut().filter(unwanted) {
            if record.take_back().is_some() {
                freed.push(record.worker.id);
            }
        }
        self.placed.retain(|id| !freed.contains(id));
        for id in freed {
            self.place_behind(id);
        }
    }
}
