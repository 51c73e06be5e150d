//! Programs that listen at a socket of their own, started for us by whoever may: either one program for all connections
//! of a pool ([`Pool::keep_program`]), or one for each of them, which serves one request at a time
//! ([`Pool::keep_programs`]).
//!
//! **Runs as** the front. **Diagnostics**: what the programs write, and ends of theirs that nobody has asked for, go to
//! the host's log; why none can be started is told to the requests that wait.

mod each;
mod program;
mod serving;
mod single;

pub use each::Lives;
pub use serving::greet;

use crate::Error;
use crate::supervisor::Process;
use std::future::Future;
use std::os::fd::OwnedFd;

/// A program that has been started, and what connects to its socket is served or waits.
pub struct RunningProgram {
    /// Its process id.
    pub pid: u32,
    /// Watches over it.
    pub process: Box<dyn Process>,
    /// The reading ends of its standard output and error, which don't block.
    pub output: [OwnedFd; 2],
    /// Its socket, for [`Host::connect`].
    pub socket: Vec<u8>,
}

impl std::fmt::Debug for RunningProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Started").field("pid", &self.pid).finish_non_exhaustive()
    }
}

/// A pool's interface to its process. Everything is called on one thread.
pub trait Host: 'static {
    /// Starts the program once more.
    ///
    /// # Errors
    /// Whatever the cause is, it is told to the requests that wait.
    fn start(&self) -> impl Future<Output = Result<RunningProgram, Error>>;

    /// Connects to the socket of one that has been started. The descriptor may be blocking, and others may hold it, too.
    ///
    /// # Errors
    /// [`Kind::NotConnected`](crate::Kind::NotConnected), say.
    fn connect(&self, socket: &[u8]) -> impl Future<Output = Result<OwnedFd, Error>>;

    /// Returns how many further connections may be made now; the pool has `open` of them.
    fn room(&self, open: usize) -> usize {
        let _ = open;
        usize::MAX
    }

    /// Called each second as long as the pool has programs.
    fn in_use(&self);

    /// A line for the log, about the program of this process id, or that it has written.
    fn line(&self, pid: u32, line: &[u8]);
}
