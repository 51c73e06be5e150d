//! The common part of all engines: a warm parent that loads once and forks workers, and workers that serve requests
//! which the front hands over through shared memory. The language's own part is behind [`Engine`] and [`Serve`].
//!
//! **Runs as** the site's user; started by the site's process with a socket as descriptor 0, whose other end is the
//! front's ([`hostler_wire::engine`]). The fronts of later generations may be attached to it, if they would have it load
//! the same. The workers of a front end when its socket is closed, each after the request it is at, and the parent with
//! the last of them.
//!
//! **Diagnostics**: what can't be loaded goes to the front as [`hostler_wire::engine::FromEngine::Failed`]; a
//! malformed frame ends the process with one line on standard error and status 1.

pub mod c;
mod control;
mod incoming;
mod link;
mod notes;
mod parent;
pub mod process;
mod processor;
mod trip;
mod worker;

use hostler_wire::engine::Setup;
use hostler_wire::work::Directory;
use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

pub use incoming::NoMessage;
pub use trip::{Next, Trip};

/// A language's runtime in a pool's parent: loaded once, then forked.
///
/// The process has one thread, before and after forking; an engine that starts others may do so in its workers only.
pub trait Engine: Sized {
    /// The same in a worker.
    type Worker: Serve;

    /// The program's name, of 15 bytes at most: what `ps` and the engine's own messages begin with.
    fn name() -> &'static CStr;

    /// Loads all that workers are to share.
    ///
    /// # Errors
    /// Why something can't be loaded, in the runtime's own words: the pool's requests are told so.
    fn load(setup: &Setup) -> Result<Self, String>;

    /// The runtime and its version, for people.
    fn version(&self) -> String;

    /// Returns whether loading it all once more would give the same, as far as can be told. Asked before a further
    /// front's workers are forked from what is loaded.
    fn is_unchanged(&self) -> bool {
        true
    }

    /// The last of what the parent does before it forks for the first time.
    fn before_fork(&mut self) {}

    /// Called around each fork of a worker.
    fn around_fork(_: Side) {}

    /// Returns the title of the pool's processes in `ps`; `None`: engine and site.
    fn title(&self) -> Option<String> {
        None
    }

    /// The first of what a new worker does, with its own standard error and name.
    ///
    /// # Errors
    /// Why it can't serve. It ends, and the front is told.
    fn begin_worker(&mut self) -> Result<Self::Worker, String>;
}

/// When, and in which of the processes, something is done about a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In the parent, just before.
    Before,
    /// In the parent, afterwards, also when it has failed.
    Parent,
    /// In the worker, first of all.
    Child,
}

/// A language's runtime in a worker: serves one request after another.
pub trait Serve: Sized {
    /// The engine's form of a directory's configuration, kept as long as the worker lives.
    type Directory;

    /// Takes the configuration of a directory, which requests then name by its number. `None`: the engine's own part of it
    /// makes no sense.
    fn define(directory: &Directory<'_>) -> Option<Self::Directory>;

    /// Serves a request: all that the front asks on the trip, which begins with [`Trip::next`].
    fn serve(&mut self, trip: &mut Trip<Self>);

    /// Waits for the next request. A runtime with a lock lets others have it meanwhile.
    fn idle<T>(wait: impl FnOnce() -> T) -> T {
        wait()
    }

    /// The last of what the worker does.
    fn end(&mut self) {}
}

/// An engine's whole life. To be called first thing in `main`.
#[must_use]
pub fn run<E: Engine>() -> ExitCode {
    run_with(E::name(), parent::run::<E>)
}

/// The life of an engine's program in another role: settles, and does `life` with the socket that was its descriptor 0. To
/// be called first thing in `main`.
#[must_use]
pub fn run_with(name: &CStr, life: impl FnOnce(OwnedFd) -> io::Result<()>) -> ExitCode {
    match process::settle(name).and_then(life) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{}: {e}", name.to_string_lossy());
            ExitCode::FAILURE
        }
    }
}
