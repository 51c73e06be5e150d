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
pub(crate) type Reply = oneshot::Sender<Result<Begun, Error>>;

/// A request in the queue, or placed behind a running one.
pub(crate) struct Ticket {
    pub(crate) work: Work,
    pub(crate) since: Instant,
    pub(crate) reply: Reply,
}

impl Ticket {
    /// Whether anybody still waits.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }
}

/// A request that was placed behind a running one, and can be taken back until the worker takes it.
pub(crate) struct Placed {
    pub(crate) ticket: Ticket,
    pub(crate) index: usize,
    pub(crate) channel: Channel,
    /// The worker is told the request's configuration by it.
    pub(crate) defines: bool,
    /// What had no room.
    pub(crate) unsent: Unsent,
    /// When it was placed here.
    pub(crate) since: Instant,
}

impl Placed {
    /// The request is the worker's now: to whom to tell it, and what to go on with.
    pub(crate) fn begin(
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
pub(crate) struct Begun {
    pub(crate) pool: Arc<Pool>,
    pub(crate) worker: Arc<Worker>,
    pub(crate) index: usize,
    /// `None` once it has gone to an exchange, or to the pool.
    pub(crate) channel: Option<Channel>,
    pub(crate) unsent: Unsent,
    pub(crate) since: Instant,
    /// The request, for another worker if this one dies before it takes it.
    pub(crate) work: Work,
    /// The worker is told this configuration by it.
    pub(crate) defines: Option<u32>,
    /// It has been placed behind others.
    pub(crate) behind: bool,
    /// The answer is complete: the worker need not be told that nobody waits, it is only cleaning up.
    pub(crate) finished: Option<Cutter>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(channel) = self.channel.take() {
            self.pool.clone().abandon(self, channel);
        }
    }
}
