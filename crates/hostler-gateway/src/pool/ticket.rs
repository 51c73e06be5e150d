//! A request that waits for a worker.

use super::worker::Worker;
use super::{Pool, Work};
use crate::Error;
use crate::backend::ring::{Cutter, Unsent};
use hostler_ring::front::Channel;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// The way to whoever waits.
pub(super) type Reply = oneshot::Sender<Result<Begun, Error>>;

/// A request in the queue, or placed behind a running one.
pub(super) struct Ticket {
    pub(super) work: Work,
    pub(super) since: Instant,
    pub(super) reply: Reply,
}

impl Ticket {
    /// Whether anybody still waits.
    pub(super) fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }
}

/// A request that was placed behind a running one, and can be taken back until the worker takes it.
pub(super) struct Placed {
    pub(super) ticket: Ticket,
    pub(super) index: usize,
    pub(super) channel: Channel,
    /// The worker is told the request's configuration by it.
    pub(super) defines: bool,
    /// What had no room.
    pub(super) unsent: Unsent,
    /// When it was placed here.
    pub(super) since: Instant,
}

impl Placed {
    /// The request is the worker's now: to whom to tell it, and what to go on with.
    pub(super) fn begin(
        self,
        pool: &Arc<Pool>,
        worker: Arc<Worker>,
    ) -> (oneshot::Sender<Result<Begun, Error>>, Begun) {
        let Self { ticket, index, channel, defines, unsent, .. } = self;
        let Ticket { work, since, reply } = ticket;
        pool.counters.waits.add(since.elapsed());
        let begun = Begun {
            pool: pool.clone(),
            worker,
            index,
            channel: Some(channel),
            unsent,
            since: Instant::now(),
            defines: defines.then_some(work.directory.0),
            behind: false,
            work,
            finished: None,
        };
        (reply, begun)
    }
}

/// A request that a worker has. Whoever drops it leaves the worker to the pool, which waits for its end.
pub(super) struct Begun {
    pub(super) pool: Arc<Pool>,
    pub(super) worker: Arc<Worker>,
    pub(super) index: usize,
    /// `None` once it has gone to an exchange, or to the pool.
    pub(super) channel: Option<Channel>,
    pub(super) unsent: Unsent,
    pub(super) since: Instant,
    /// The request, for another worker if this one dies before it takes it.
    pub(super) work: Work,
    /// The worker is told this configuration by it.
    pub(super) defines: Option<u32>,
    /// It has been placed behind others.
    pub(super) behind: bool,
    /// The answer is complete: the worker need not be told that nobody waits, it is only cleaning up.
    pub(super) finished: Option<Cutter>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(channel) = self.channel.take() {
            self.pool.clone().abandon(self, channel);
        }
    }
}
