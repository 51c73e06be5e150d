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
//!
//! A frame's body is a byte that says which message it is, and fields ([`crate::codec`]): an engine in any language can
//! speak it, see `docs/protocol.md`.

use crate::build::{BUILD_BYTES, Build};
use crate::codec::{Decoder, Encoder, Malformed};
use crate::frame::{self, FrameError};
use crate::site::Exit;

/// The variable that tells a site's process the names of the engines whose programs it is passed, in the order of their
/// descriptors, with colons between.
pub const ENGINES: &str = "HOSTLER_ENGINES";
/// Most engines that a server has.
pub const MOST_ENGINES: usize = 32;

/// Returns whether this can be an engine's name: that of its program after `hostler-`, with a version where there are
/// several (`php-8.2`). Nothing in it means anything in a path.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_of_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    name.len() <= 32 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(is_of_name)
}

/// Number of a worker within its pool, never used twice.
pub type WorkerId = u32;

/// From front to parent.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Answer: [`FromEngine::Forked`] or [`FromEngine::ForkFailed`], later [`FromEngine::Exited`] or
    /// [`FromEngine::WorkerFailed`].
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The loaded code is out of date: this front needs another parent.
    Stale,
    /// Loading failed; the parent exits.
    Failed {
        /// Why: the interpreter's own words, several lines perhaps.
        why: String,
    },
    /// The worker's process exists. One that serves a single request takes it from now on.
    Forked {
        /// The worker's number.
        worker: WorkerId,
        /// Its process id.
        pid: u32,
    },
    /// A worker that serves many requests has begun to serve: what it does at its start is done.
    Began {
        /// The worker's number.
        worker: WorkerId,
    },
    /// There is no such worker.
    ForkFailed {
        /// The worker's number.
        worker: WorkerId,
        /// errno of fork.
        errno: i32,
    },
    /// The worker could not begin to serve; it has ended and was reaped.
    WorkerFailed {
        /// The worker's number.
        worker: WorkerId,
        /// Why: the interpreter's own words.
        why: String,
    },
    /// The worker has ended and was reaped.
    Exited {
        /// The worker's number.
        worker: WorkerId,
        /// How.
        exit: Exit,
    },
}

/// The settings of a parent before its first fork: those of all engines, and the engine's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// The title in `ps`: engine and site.
    pub title: String,
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
    /// The code to load and the way to load it, in the engine's own form.
    pub own: Vec<u8>,
    /// The configuration lines of the parts of `own`, for messages: `file:line`. They do not affect what is loaded.
    pub places: Vec<String>,
}

/// Facts about a virtual host that programs may ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// True if it is a `<VirtualHost>`.
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
    /// `ServerAlias`.
    pub aliases: Vec<String>,
}

mod to_engine {
    pub(super) const WAKERS: u8 = 0;
    pub(super) const DOOR: u8 = 1;
    pub(super) const ADOPT: u8 = 2;
    pub(super) const SETUP: u8 = 3;
    pub(super) const FORK: u8 = 4;
    pub(super) const KILL: u8 = 5;
    pub(super) const RETIRE: u8 = 6;
}

impl ToEngine {
    /// Appends it as a frame that `fds` descriptors will accompany.
    ///
    /// # Errors
    /// [`FrameError::Unsendable`]: it is over the limits.
    pub fn encode(&self, fds: usize, out: &mut Vec<u8>) -> Result<(), FrameError> {
        frame::put(fds, out, |e| match self {
            Self::Wakers => e.u8(to_engine::WAKERS),
            Self::Door => e.u8(to_engine::DOOR),
            Self::Adopt => e.u8(to_engine::ADOPT),
            Self::Setup(setup) => {
                e.u8(to_engine::SETUP);
                setup.encode(e);
            }
            Self::Fork { worker } => numbered(e, to_engine::FORK, *worker),
            Self::Kill { worker } => numbered(e, to_engine::KILL, *worker),
            Self::Retire { worker } => numbered(e, to_engine::RETIRE, *worker),
        })
    }

    /// The message in a frame's body.
    ///
    /// # Errors
    /// [`FrameError::Malformed`], also when bytes are left over.
    pub fn decode(body: &[u8]) -> Result<Self, FrameError> {
        whole(body, |d| {
            Ok(match d.u8()? {
                to_engine::WAKERS => Self::Wakers,
                to_engine::DOOR => Self::Door,
                to_engine::ADOPT => Self::Adopt,
                to_engine::SETUP => Self::Setup(Box::new(Setup::decode(d)?)),
                to_engine::FORK => Self::Fork { worker: d.u32()? },
                to_engine::KILL => Self::Kill { worker: d.u32()? },
                to_engine::RETIRE => Self::Retire { worker: d.u32()? },
                _ => return Err(Malformed),
            })
        })
    }
}

/// `HELLO` is the first, and the form of its frame the same in all builds: see [`crate::build`].
mod from_engine {
    pub(super) const HELLO: u8 = 0;
    pub(super) const READY: u8 = 1;
    pub(super) const STALE: u8 = 2;
    pub(super) const FAILED: u8 = 3;
    pub(super) const FORKED: u8 = 4;
    pub(super) const FORK_FAILED: u8 = 5;
    pub(super) const WORKER_FAILED: u8 = 6;
    pub(super) const EXITED: u8 = 7;
    pub(super) const BEGAN: u8 = 8;
    /// How: by itself, or by a signal.
    pub(super) const STATUS: u8 = 0;
    pub(super) const SIGNAL: u8 = 1;
}

impl FromEngine {
    /// Appends it as a frame without descriptors.
    ///
    /// # Errors
    /// [`FrameError::Unsendable`]: it is over the limits.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        frame::put(0, out, |e| match self {
            Self::Hello(build) => {
                e.u8(from_engine::HELLO);
                e.0.extend_from_slice(&build.to_bytes());
            }
            Self::Ready { version, workers } => {
                e.u8(from_engine::READY);
                e.bytes(version.as_bytes());
                e.u32(*workers);
            }
            Self::Stale => e.u8(from_engine::STALE),
            Self::Failed { why } => {
                e.u8(from_engine::FAILED);
                e.bytes(why.as_bytes());
            }
            Self::Forked { worker, pid } => {
                numbered(e, from_engine::FORKED, *worker);
                e.u32(*pid);
            }
            Self::Began { worker } => numbered(e, from_engine::BEGAN, *worker),
            Self::ForkFailed { worker, errno } => {
                numbered(e, from_engine::FORK_FAILED, *worker);
                e.u32(errno.cast_unsigned());
            }
            Self::WorkerFailed { worker, why } => {
                numbered(e, from_engine::WORKER_FAILED, *worker);
                e.bytes(why.as_bytes());
            }
            Self::Exited { worker, exit } => {
                numbered(e, from_engine::EXITED, *worker);
                let (how, number) = match exit {
                    Exit::Status(status) => (from_engine::STATUS, *status),
                    Exit::Signal(signal) => (from_engine::SIGNAL, *signal),
                };
                e.u8(how);
                e.u32(number.cast_unsigned());
            }
        })
    }

    /// The message in a frame's body. What is meant for people need not be UTF-8.
    ///
    /// # Errors
    /// [`FrameError::Malformed`], also when bytes are left over.
    pub fn decode(body: &[u8]) -> Result<Self, FrameError> {
        whole(body, |d| {
            Ok(match d.u8()? {
                from_engine::HELLO => Self::Hello(Build::from_bytes(d.array::<BUILD_BYTES>()?)),
                from_engine::READY => Self::Ready { version: words(d)?, workers: d.u32()? },
                from_engine::STALE => Self::Stale,
                from_engine::FAILED => Self::Failed { why: words(d)? },
                from_engine::FORKED => Self::Forked { worker: d.u32()?, pid: d.u32()? },
                from_engine::BEGAN => Self::Began { worker: d.u32()? },
                from_engine::FORK_FAILED => {
                    Self::ForkFailed { worker: d.u32()?, errno: d.u32()?.cast_signed() }
                }
                from_engine::WORKER_FAILED => Self::WorkerFailed { worker: d.u32()?, why: words(d)? },
                from_engine::EXITED => {
                    let (worker, how, number) = (d.u32()?, d.u8()?, d.u32()?.cast_signed());
                    let exit = match how {
                        from_engine::STATUS => Exit::Status(number),
                        from_engine::SIGNAL => Exit::Signal(number),
                        _ => return Err(Malformed),
                    };
                    Self::Exited { worker, exit }
                }
                _ => return Err(Malformed),
            })
        })
    }
}

fn numbered(e: &mut Encoder<'_>, kind: u8, worker: WorkerId) {
    e.u8(kind);
    e.u32(worker);
}

fn words(d: &mut Decoder<'_>) -> Result<String, Malformed> {
    d.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn whole<T>(
    body: &[u8],
    read: impl FnOnce(&mut Decoder<'_>) -> Result<T, Malformed>,
) -> Result<T, FrameError> {
    let mut d = Decoder(body);
    let message = read(&mut d).map_err(|_| FrameError::Malformed)?;
    d.end().map(|()| message).map_err(|_| FrameError::Malformed)
}

impl Setup {
    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        e.bytes(self.title.as_bytes());
        e.bytes(self.server_root.as_bytes());
        e.list(&self.servers, |e, server| server.encode(e));
        e.bool(self.one_shot);
        e.u32(self.max_requests);
        e.bool(self.cpu.is_some());
        let (soft, hard) = self.cpu.unwrap_or_default();
        e.u64(soft);
        e.u64(hard);
        e.bytes(&self.own);
        e.texts(&self.places);
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            title: d.string()?,
            server_root: d.string()?,
            servers: d.list(ServerFacts::LEAST, ServerFacts::decode)?,
            one_shot: d.bool()?,
            max_requests: d.u32()?,
            cpu: {
                let (limited, limits) = (d.bool()?, (d.u64()?, d.u64()?));
                limited.then_some(limits)
            },
            own: d.bytes()?.to_vec(),
            places: d.texts()?,
        })
    }
}

impl ServerFacts {
    /// Bytes that one takes at least.
    const LEAST: usize = 49;

    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        e.u32(self.id);
        e.bytes(self.name.as_bytes());
        e.bytes(self.admin.as_bytes());
        e.u16(self.port);
        e.bytes(self.document_root.as_bytes());
        e.bytes(self.software.as_bytes());
        e.bool(self.is_virtual);
        e.bytes(self.error_log.as_bytes());
        e.u8(self.log_level);
        e.u32(self.timeout);
        e.bool(self.keep_alive);
        e.u64(self.keep_alive_timeout);
        e.u32(self.keep_alive_max);
        e.texts(&self.aliases);
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`]
    pub fn decode(d: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            id: d.u32()?,
            name: d.string()?,
            admin: d.string()?,
            port: d.u16()?,
            document_root: d.string()?,
            software: d.string()?,
            is_virtual: d.bool()?,
            error_log: d.string()?,
            log_level: d.u8()?,
            timeout: d.u32()?,
            keep_alive: d.bool()?,
            keep_alive_timeout: d.u64()?,
            keep_alive_max: d.u32()?,
            aliases: d.texts()?,
        })
    }
}

#[cfg(test)]
mod tests;
