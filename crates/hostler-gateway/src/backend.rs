//! The ways to speak with programs; a file or a folder for each protocol. [`Backend`] is a pool's interface to one.
//!
//! A pool decides who serves whom and knows no protocol; a backend knows one, and decides nothing about workers. What
//! a conversation looks like to whoever made the request is the backend's own: all that happens in it is one function
//! call from there, and no table of functions stands between a request and shared memory.

pub mod ajp;
pub mod body;
pub mod cgi;
pub mod fastcgi;
mod gathered;
pub mod http;
pub mod plain;
pub mod ring;
pub mod stream;
pub(crate) mod timer;
pub(crate) mod turn;

use crate::pool::worker::Worker;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// The treatment of a request whose client has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAbandon {
    /// One that nobody has begun on is taken back. The worker that has begun on it is told, and killed if it is not
    /// done within this time.
    TakeBackOrKill(Duration),
    /// One that has come whole is run to its end, though the worker is told that nobody listens, and its worker killed if
    /// that takes longer than this, counted from when the client has gone. One that has not is treated as by
    /// [`Self::TakeBackOrKill`].
    RunToEnd(Duration),
}

impl OnAbandon {
    /// Returns the time it may still take.
    #[must_use]
    pub const fn limit(self) -> Duration {
        match self {
            Self::TakeBackOrKill(limit) | Self::RunToEnd(limit) => limit,
        }
    }
}

/// The longest time a worker may neither read nor write during a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    /// Then it is killed.
    pub after: Duration,
    /// The directive or option that says so.
    pub set_by: &'static str,
}

impl TimeLimit {
    /// No limit.
    pub const NONE: Self = Self { after: Duration::MAX, set_by: "" };
}

impl std::fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} s exceeded", self.set_by, self.after.as_secs_f32())
    }
}

/// A request, as a pool sees it; what of it is said to a worker is its backend's.
pub trait Request: Debug + Send {
    /// The submitting thread of the front: its number, below that given to the pool.
    fn thread(&self) -> u32;

    /// Number of the configuration that a worker has to have been told before, once.
    fn configuration(&self) -> Option<u32>;

    /// Returns whether all of it is there: nothing that follows has to be sent after it.
    fn is_whole(&self) -> bool;

    /// Returns the treatment of a request whose client leaves.
    fn on_abandon(&self) -> OnAbandon;

    /// The same request once more; this one is not used again.
    fn again(&mut self) -> Self;
}

/// One way of speaking to workers.
pub trait Backend: Sized + Send + Sync + 'static {
    /// A worker costs the thread less that has spoken with it last.
    const STAYS: bool = false;
    /// A request may be placed behind the one that a worker runs.
    const PLACES_BEHIND: bool = true;
    /// A request for one.
    type Work: Request;
    /// The means of reaching a worker, shared by the pool and the exchanges with that worker.
    type Seat: Send + Sync;
    /// A request's hold on its worker's seat, from its offer to its end.
    type Place: Place<Self>;
    /// State that all workers of a pool share.
    type Common: Common;

    /// Requests that a worker may have at the same time, those behind a running one included; at most 32.
    fn capacity(seat: &Self::Seat) -> usize;

    /// Offers a request to a worker at a place that nobody has. `tells`: its configuration goes before it.
    fn offer(worker: &Arc<Worker<Self>>, place: usize, work: &Self::Work, tells: bool) -> Self::Place;
}

/// A request at a worker's. Owned by one thread at a time.
pub trait Place<B: Backend>: Send {
    /// Takes the request back unless the worker has begun on it. True: the worker will not see it.
    ///
    /// A backend that can't tell answers no: then nothing is ever placed behind what its workers run.
    fn take_back(&mut self) -> bool;

    /// Gives up a request that nothing waits for any more. The worker is informed unless its response is complete.
    /// `runs_on`: the request runs to its end nevertheless.
    fn abandon(&mut self, runs_on: bool);

    /// Returns the progress of an abandoned request. Skips some of the worker's output, and never blocks.
    fn look(&mut self, common: &B::Common) -> AbandonedState;
}

/// The progress of an abandoned request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbandonedState {
    /// The worker is still at it.
    Runs,
    /// It has ended.
    Ended {
        /// The worker serves no others after it.
        exits: bool,
    },
    /// The worker breaks the protocol, or its place is lost: it is of no use any more.
    Broken,
}

/// State that all workers of a pool share.
pub trait Common: Send + Sync {
    /// For a front of so many threads.
    fn new(threads: u32) -> Self;

    /// Has all threads look at their conversations: a worker has died, say, that can tell them nothing. Never waits.
    fn call_all(&self);

    /// The pool has neither processes nor requests: gives up what only a busy one needs. Never waits.
    fn rest(&self);
}
