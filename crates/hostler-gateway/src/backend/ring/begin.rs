//! Getting a worker for a request: at once, or after waiting for its turn.

use super::{Exchange, Pool, RunningRequest, Work, listen};
use crate::Error;
use std::sync::Arc;
use std::time::Instant;

impl Pool {
    /// Begins a request with an idle worker, if there is one. Must be called on a thread's `LocalSet`.
    ///
    /// # Errors
    /// The work comes back when nobody is idle: [`Self::begin`] waits.
    pub fn try_begin(self: &Arc<Self>, work: Work) -> Result<Exchange, Work> {
        if self.is_full() || listen::join(self, work.thread).is_err() {
            return Err(work);
        }
        self.take_idle(work).map(Exchange::new)
    }

    /// Begins a request, first come, first served. Must be called on a thread's `LocalSet`. Dropping the future
    /// withdraws the request, unless it is to be run to its end all the same.
    ///
    /// # Errors
    /// [`Kind::QueueFull`], [`Kind::QueueTimeout`] (both tell when to try again), [`Kind::EngineFailed`],
    /// [`Kind::EngineNotLoaded`], [`Kind::System`].
    ///
    /// [`Kind::QueueFull`]: crate::Kind::QueueFull
    /// [`Kind::QueueTimeout`]: crate::Kind::QueueTimeout
    /// [`Kind::EngineFailed`]: crate::Kind::EngineFailed
    /// [`Kind::EngineNotLoaded`]: crate::Kind::EngineNotLoaded
    /// [`Kind::System`]: crate::Kind::System
    pub async fn begin(self: &Arc<Self>, work: Work) -> Result<Exchange, Error> {
        let work = match self.try_begin(work) {
            Ok(exchange) => return Ok(exchange),
            Err(work) => work,
        };
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let begun = self.wait_for_worker(work, Instant::now()).await;
        begun.map(Exchange::new).inspect_err(|error| self.counters.failed(error.kind))
    }

    /// `since`: when the request came.
    pub(super) async fn wait_for_worker(
        self: &Arc<Self>,
        work: Work,
        since: Instant,
    ) -> Result<RunningRequest, Error> {
        listen::join(self, work.thread)?;
        self.wait(work, since).await
    }
}
