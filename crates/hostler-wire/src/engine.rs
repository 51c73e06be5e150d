//! Frames between the front and an engine's parent process: the warm process of a pool that forks its workers.
//!
//! The site's process starts the parent ([`crate::site::Program::Engine`]) with one end of a socket pair as its
//! descriptor 0; the front holds the other. Requests never travel here: they go through shared memory, one for
//! each worker, in the messages of [`crate::work`].
//!
//! A parent outlives the front that it was started for: the front of the next generation, where that has the same for
//! it to load, is made known to it by the site's process ([`ToEngine::Adopt`]). Each front has a control socket, and
//! workers, of its own; the parent ends when the last of them has closed.
//!
//! The parent belongs to a tenant: the front takes from it only that a worker of *this* pool came or went.

use crate::build::Build;
use crate::site::Exit;
use serde::{Deserialize, Serialize};

/// The engines there are: the program `hostler-NAME` of each is held open by the master from its start on, and passed to
/// sites in this order.
pub const ENGINES: [&str; 1] = ["perl"];

/// Number of a worker within its pool, never used twice.
pub type WorkerId = u32;

/// From front to parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToEngine {
    /// Eventfds of the front's threads travel with this frame; further frames add more, in order. A worker writes
    /// to the one whose number the channel names.
    Wakers,
    /// The parent's end of a socket travels with this frame, at whose other end the site's process is: what comes
    /// there is [`ToEngine::Adopt`] and nothing else.
    Door,
    /// From the site's process: a further front. Its control socket and the ends of its pipes for the parent's standard
    /// output and error travel with this frame. Answer, to that front: [`FromEngine::Hello`], then
    /// [`FromEngine::Ready`] or [`FromEngine::Stale`].
    Adopt,
    /// Load the interpreter and what is to be shared. Answer: [`FromEngine::Ready`] or [`FromEngine::Failed`].
    Setup(Box<Setup>),
    /// Fork a worker; its shared memory and the end of its stderr pipe travel with the frame.
    /// Answer: [`FromEngine::Forked`] or [`FromEngine::ForkFailed`], later [`FromEngine::Exited`].
    Fork {
        /// The worker's number.
        worker: WorkerId,
    },
    /// Kill the worker (SIGKILL) if it still runs.
    Kill {
        /// The worker's number.
        worker: WorkerId,
    },
    /// The idle worker is not needed any more: it runs what is to be run at its end, and exits (SIGTERM).
    Retire {
        /// The worker's number.
        worker: WorkerId,
    },
}

/// From parent to front.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromEngine {
    /// First frame, before anything was asked, and of the same form in all builds: the engine's build.
    Hello(Build),
    /// Workers can be forked.
    Ready {
        /// The interpreter's version, for people.
        version: String,
        /// Workers that it has for other fronts.
        workers: u32,
    },
    /// What it has loaded is not any more what would be loaded now: this front needs another parent.
    Stale,
    /// What was to be loaded can't be; the parent exits.
    Failed {
        /// Why: the interpreter's own words, several lines perhaps.
        why: String,
    },
    /// The worker runs.
    Forked {
        /// The worker's number.
        worker: WorkerId,
        /// Its process id.
        pid: u32,
    },
    /// There is no such worker.
    ForkFailed {
        /// The worker's number.
        worker: WorkerId,
        /// errno of fork.
        errno: i32,
    },
    /// The worker has ended and was reaped.
    Exited {
        /// The worker's number.
        worker: WorkerId,
        /// How.
        exit: Exit,
    },
}

/// What a parent loads before its first fork. Words that are an engine's own are in [`Setup::preload`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// What `ps` shows: engine and site.
    pub title: String,
    /// Version of the engine's API where there are several (mod_perl: 1 or 2); 0: the engine decides.
    pub generation: u8,
    /// What to load, in the order of the configuration.
    pub preload: Vec<Preload>,
    /// Arguments of the interpreter (`PerlSwitches`).
    pub switches: Vec<String>,
    /// Environment variables (`PerlSetEnv`, `PerlPassEnv`) of the configuration, over those of the process.
    pub env: Vec<(String, String)>,
    /// `ServerRoot`.
    pub server_root: String,
    /// The virtual hosts that the pool serves, main server first.
    pub servers: Vec<ServerFacts>,
    /// Each worker serves one request (`Isolation fork`).
    pub one_shot: bool,
    /// Requests until a worker ends by itself (`MaxConnectionsPerChild`); 0: no limit.
    pub max_requests: u32,
    /// Seconds of processor time that a worker has for each request, and for its whole life (`RLimitCPU`, soft and
    /// hard); `u64::MAX`: no limit; `None`: as the process has it.
    pub cpu: Option<(u64, u64)>,
    /// Functions to call in each new worker (`PerlChildInitHandler`).
    pub child_init: Vec<String>,
    /// Functions to call when a worker ends (`PerlChildExitHandler`).
    pub child_exit: Vec<String>,
}

/// One thing to load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preload {
    /// What it is.
    pub kind: PreloadKind,
    /// A module's name, a file's path, or code.
    pub text: String,
    /// `file:line` of the directive, for error messages.
    pub origin: String,
    /// It was run when the configuration was read, and what it has built was taken: it is run once more for what it
    /// defines.
    pub configured: bool,
}

/// Kinds of [`Preload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreloadKind {
    /// A module by name (`PerlModule`, `+Handler`).
    Module,
    /// A file (`PerlRequire`, `PerlConfigRequire`).
    File,
    /// A file, once everything else is loaded (`PerlPostConfigRequire`).
    LateFile,
    /// A function, once everything else is loaded (`PerlPostConfigHandler`, `PerlOpenLogsHandler`).
    LateCall,
    /// Code (`<Perl>`).
    Code,
}

/// What programs may ask of a virtual host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Number of the virtual host among those of the pool; 0 is the main server.
    pub id: u32,
    /// `ServerName`.
    pub name: String,
    /// `ServerAdmin`.
    pub admin: String,
    /// Port of `ServerName`, or of the address; 0: none.
    pub port: u16,
    /// `DocumentRoot`.
    pub document_root: String,
    /// The `Server` field's text.
    pub software: String,
    /// Whether it is a `<VirtualHost>`.
    pub is_virtual: bool,
    /// `ErrorLog`, as configured.
    pub error_log: String,
    /// `LogLevel` as syslog's number (0 emerg ... 7 debug).
    pub log_level: u8,
    /// `Timeout`, in seconds.
    pub timeout: u32,
    /// `KeepAlive`.
    pub keep_alive: bool,
    /// `KeepAliveTimeout`, in milliseconds.
    pub keep_alive_timeout: u64,
    /// `MaxKeepAliveRequests`; 0: any number.
    pub keep_alive_max: u32,
    /// `PerlSetVar`, `PerlAddVar` outside of sections.
    pub vars: Vec<(String, String)>,
    /// `ServerAlias`.
    pub aliases: Vec<String>,
}
