//! A request that waits for a worker.

use super::Pool;
use super::worker::Worker;
use crate::Error;
use crate::backend::{Backend, OnAbandon, Request as _};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// The way to whoever waits.
pub(crate) type Reply<B> = oneshot::Sender<Result<RunningRequest<B>, Error>>;

/// A request in the queue, or placed behind a running one.
pub(crate) struct Ticket<B: Backend> {
    /// No other one of the pool has it.
    pub(crate) number: u64,
    pub(crate) work: B::Work,
    pub(crate) since: Instant,
    pub(crate) reply: Reply<B>,
    /// Its client has gone, and it is to be run all the same if it begins before this time.
    pub(crate) until: Option<Instant>,
}

impl<B: Backend> Ticket<B> {
    /// Returns whether it is still to be run.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.reply.is_closed() || self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Its client has gone.
    pub(crate) fn leave(&mut self) {
        if let OnAbandon::RunToEnd(limit) = self.work.on_abandon()
            && self.work.is_whole()
        {
            self.until = Some(Instant::now() + limit);
        }
    }
}

/// A request that was placed behind a running one, and can be taken back until the worker takes it.
pub(crate) struct PlacedRequest<B: Backend> {
    pub(crate) ticket: Ticket<B>,
    pub(crate) index: usize,
    pub(crate) place: B::Place,
    /// The worker is told the request's configuration by it.
    pub(crate) defines: bool,
    /// When it was placed here.
    pub(crate) since: Instant,
}

impl<B: Backend> PlacedRequest<B> {
    /// The configuration that the worker is told by it.
    pub(crate) fn defined(&self) -> Option<u32> {
        self.ticket.work.configuration().filter(|_| self.defines)
    }

    /// The request is the worker's now: to whom to tell it, and what to go on with.
    pub(crate) fn begin(self, pool: &Arc<Pool<B>>, worker: Arc<Worker<B>>) -> (Reply<B>, RunningRequest<B>) {
        let defines = self.defined();
        let Self { ticket, index, place, .. } = self;
        let Ticket { work, since, reply, .. } = ticket;
        pool.counters.waits.add(since.elapsed());
        let begun = RunningRequest {
            pool: pool.clone(),
            worker,
            index,
            place: Some(place),
            since: Instant::now(),
            defines,
            behind: false,
            work,
            whole: None,
        };
        (reply, begun)
    }
}

/// A request that a worker has. Whoever drops it leaves the worker to the pool, which waits for its end.
pub(crate) struct RunningRequest<B: Backend> {
    pub(crate) pool: Arc<Pool<B>>,
    pub(crate) worker: Arc<Worker<B>>,
    pub(crate) index: usize,
    /// `None` once it has gone to a conversation, or to the pool.
    pub(crate) place: Option<B::Place>,
    pub(crate) since: Instant,
    /// The request, for another worker if this one dies before it takes it.
    pub(crate) work: B::Work,
    /// The worker is told this configuration by it.
    pub(crate) defines: Option<u32>,
    /// It has been placed behind others.
    pub(crate) behind: bool,
    /// True if the whole request has come by now; `None`: only if the work is whole.
    pub(crate) whole: Option<bool>,
}

impl<B: Backend> RunningRequest<B> {
    /// Returns whether it is run to its end when its client has gone.
    pub(crate) fn runs_on(&self) -> bool {
        matches!(self.work.on_abandon(), OnAbandon::RunToEnd(_))
            && self.whole.unwrap_or_else(|| self.work.is_whole())
    }
}

impl<B: Backend> Drop for RunningRequest<B> {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.pool.clone().abandon(self, place);
        }
    }
}
