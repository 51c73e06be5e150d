//! Pools of warm workers: processes of one engine for one site, forked from one parent, each spoken to through
//! shared memory ([`hostler_ring`](../../hostler_ring/index.html)).
//!
//! Requests are served first come, first served, by whichever worker is idle. What the pool knows about a worker
//! it keeps in its own memory: the worker's memory is a tenant's.

mod settings;
mod status;

pub use settings::Settings;
pub use status::{BUCKETS, Histogram, Status, WorkerState, WorkerStatus};

use crate::{Error, Kind};
use bytes::Bytes;
pub use hostler_wire::engine::WorkerId;
use hostler_wire::work::ToWorker;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A pool. Several threads of the front submit to one.
#[derive(Debug)]
pub struct Pool {
    name: String,
    settings: Settings,
}

/// A request for a worker.
#[derive(Debug)]
pub struct Work {
    /// The submitting thread of the front; its number is that of its waker.
    pub thread: u32,
    /// Number and encoded [`ToWorker::Define`] message of the configuration that the request names.
    pub directory: (u32, Arc<[u8]>),
    /// The encoded [`ToWorker::Request`] message.
    pub request: Vec<u8>,
    /// How long the worker may neither read nor write when it is its turn; then it is killed (504).
    pub timeout: Duration,
}

/// One message of a worker: [`hostler_wire::work::FromWorker::decode`] tells what it says. Bodies may come in
/// pieces that are cut anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The message's kind.
    pub kind: u8,
    /// What follows its head.
    pub body: Bytes,
}

impl Pool {
    /// A pool that has no processes yet.
    #[must_use]
    pub fn new(name: String, settings: Settings) -> Arc<Self> {
        Arc::new(Self { name, settings })
    }

    /// Begins a request with an idle worker, if there is one.
    ///
    /// # Errors
    /// The work comes back when nobody is idle: [`Self::begin`] waits.
    pub fn try_begin(self: &Arc<Self>, work: Work) -> Result<Exchange, Work> {
        Err(work)
    }

    /// Begins a request, first come, first served.
    ///
    /// # Errors
    /// [`Kind::QueueFull`], [`Kind::QueueTimeout`], [`Kind::EngineFailed`].
    pub async fn begin(self: &Arc<Self>, _work: Work) -> Result<Exchange, Error> {
        Err(Error::new(Kind::EngineFailed))
    }

    /// What the pool is at.
    #[must_use]
    pub fn status(&self) -> Status {
        Status { name: self.name.clone(), max_workers: self.settings.max_workers, ..Status::default() }
    }
}

/// The conversation with a worker about one request, on the thread where it began. Dropped before its end, the
/// worker is told that nobody waits any more; it serves nobody else until it has finished, or is killed after the
/// request's timeout.
#[derive(Debug)]
pub struct Exchange(());

impl Exchange {
    /// The next message, the last of which is `End`; then `None`. After an error there is nothing more.
    pub fn poll_next(&mut self, _context: &mut Context<'_>) -> Poll<Option<Result<Frame, Error>>> {
        Poll::Ready(None)
    }

    /// Says something to the worker. What there is no room for is kept until there is: see [`Self::poll_room`].
    pub fn tell(&mut self, _message: &ToWorker<'_>) {}

    /// Ready when all that was said has gone to the worker: time to read the next piece of the request's body.
    pub fn poll_room(&mut self, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    /// The worker's number and process id.
    #[must_use]
    pub fn worker(&self) -> (WorkerId, u32) {
        (0, 0)
    }
}

/// To be called by each thread of the front just before it parks (tokio's `on_thread_park`): wakes the tasks whose
/// worker has said something, and asks the other workers to wake the thread when they do.
pub fn before_park() {}
