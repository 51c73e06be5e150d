//! The origins of processes: forked from a warm parent, executed for one request, started so that they listen on a
//! socket, or already there and connected to. A folder or file for each.
//!
//! A [`Supervisor`] is told by its pool how many workers to have and which to end; it decides nothing about requests.

pub mod connect;
pub mod exec;
pub mod fork;
mod lines;
pub mod listen;

use crate::Error;
use crate::backend::Backend;
use crate::pool::worker::Worker;
use crate::pool::{Pool, WorkerId};
use hostler_wire::site::Exit;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// A process that runs, and that somebody watches over.
pub trait Process {
    /// Polls for its exit status; `None` if it will never be known.
    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<Exit>>;

    /// Ends it, with all processes of its group. Called at most once, and not after its end is known.
    fn kill(&mut self);
}

/// One way to workers. Used on one thread.
pub trait Supervisor<B: Backend>: 'static {
    /// The origin of workers while it exists: a parent process, for example.
    type Source: Source<B>;

    /// Makes a source, and waits until workers can come from it. `generation`: the how manieth of the pool.
    ///
    /// # Errors
    /// Whatever the cause is, it is told to the requests that wait.
    fn start(
        &self,
        pool: &Arc<Pool<B>>,
        generation: u32,
    ) -> impl Future<Output = Result<Self::Source, Error>>;
}

/// An origin of workers.
pub trait Source<B: Backend> {
    /// Begins to make a worker; what has become of it [`Self::event`] tells. The inner error: it can't be made now.
    ///
    /// # Errors
    /// The source is of no use any more.
    fn add(&mut self, worker: WorkerId) -> impl Future<Output = Result<io::Result<B::Seat>, End>>;

    /// Returns how many further workers may be made now, besides the pool's own settings.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Has a worker end when it has nothing to do.
    ///
    /// # Errors
    /// The source is of no use any more.
    fn retire(&mut self, worker: WorkerId) -> impl Future<Output = Result<(), End>>;

    /// Has a worker end at once.
    ///
    /// # Errors
    /// The source is of no use any more.
    fn kill(&mut self, worker: WorkerId) -> impl Future<Output = Result<(), End>>;

    /// Waits for the next event. May be dropped at any time without losing one.
    ///
    /// # Errors
    /// The source is of no use any more.
    fn event(&mut self) -> impl Future<Output = Result<SeatEvent, End>>;

    /// Called each second.
    ///
    /// # Errors
    /// The source is of no use any more.
    fn each_second(&mut self, now: Instant) -> Result<(), End>;

    /// A worker has ended that nobody has asked to. `busy`: it had a request, which tells so, unless the worker had
    /// not begun it, or had answered it.
    fn crashed(&self, worker: &Arc<Worker<B>>, exit: Exit, busy: bool);

    /// No further worker can be made now.
    fn not_made(&self, why: &str);

    /// The process whose memory is the pool's, besides its workers'.
    fn parent(&self) -> Option<u32>;

    /// It is no longer kept; its workers finish what they are at, and go.
    fn end(self, end: End);
}

/// A change in a worker's life.
#[derive(Debug)]
pub enum SeatEvent {
    /// Its process exists, and does what it does at its start.
    Made(WorkerId, u32),
    /// It takes requests; its process id, 0 if there is none that we know.
    Began(WorkerId, u32),
    /// It could not be made, or could not begin: why.
    Failed(WorkerId, String),
    /// It has ended.
    Ended(WorkerId, Exit),
    /// Nothing that concerns the pool.
    Other,
}

/// Why a source of workers is no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It has ended, or makes no sense.
    Gone,
    /// It does not do, or tell, what it has to.
    Stuck,
    /// The pool is closed.
    Closed,
    /// Its memory is needed elsewhere.
    Evicted,
    /// It has been idle for long.
    Idle,
    /// The code that its workers have loaded is out of date.
    Renewed,
}

impl End {
    /// Returns whether nobody has asked for it.
    #[must_use]
    pub const fn is_unasked(self) -> bool {
        matches!(self, Self::Gone | Self::Stuck)
    }
}
