//! Starting, signalling and reaping child processes.
//!
//! [`spawn`] gives a child exactly the descriptors, environment, limits and identity it names; whatever can't be
//! had, identity above all, fails before the program is run. Which steps the child takes is in `child.rs`.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{WaitId, WaitIdOptions, WaitOptions, WaitStatus};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

use crate::child::{self, Plan};
use crate::limits::{Bounds, Limit};

pub use rustix::process::{Pid, Signal};

/// A Unix identity for a child: real, effective and saved ids alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Supplementary groups; all others are dropped.
    pub groups: Vec<u32>,
}

/// An executable, held open: a package upgrade can't replace it under a running server, and a child may run it
/// although its user can't reach the path.
#[derive(Debug)]
pub struct Program(OwnedFd);

impl Program {
    /// # Errors
    /// The kernel's (ENOENT, EACCES).
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?))
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Everything about a child.
#[derive(Debug)]
pub struct Spawn<'a> {
    /// The program: a binary, not a script (a script's interpreter could not open the held descriptor).
    pub program: &'a Program,
    /// Its arguments, from `argv[0]` on.
    pub args: &'a [CString],
    /// Its whole environment.
    pub env: &'a [CString],
    /// Its descriptors: which of ours, and the number it has in the child (0 to 31). No others are inherited.
    pub fds: &'a [(BorrowedFd<'a>, RawFd)],
    /// Its identity; `None`: our own. With an identity of its own it has no capabilities, and neither it nor its
    /// children can gain others than those that set-id programs for users need (none with `no_new_privs`).
    pub identity: Option<&'a Identity>,
    /// The control group that it enters first ([`crate::cgroup::Group::entrance`]); `None`: ours.
    pub group: Option<BorrowedFd<'a>>,
    /// Limits that differ from ours.
    pub limits: &'a [(Limit, Bounds)],
    /// Working directory; `None`: ours.
    pub directory: Option<&'a CStr>,
    /// Neither it nor its children can gain privileges by set-id programs.
    pub no_new_privs: bool,
    /// The kernel kills it when we end.
    pub dies_with_parent: bool,
    /// It leads a process group (and session) of its own.
    pub own_session: bool,
}

/// Why there is no child: the step that failed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpawnError {
    /// Name of the step, usually that of the system call.
    pub step: &'static str,
    /// errno.
    pub errno: i32,
}

impl std::fmt::Display for SpawnError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.step, io::Error::from_raw_os_error(self.errno))
    }
}

impl std::error::Error for SpawnError {}

impl SpawnError {
    pub(crate) fn last(step: &'static str) -> Self {
        Self::of(step, &io::Error::last_os_error())
    }

    /// The failed step, with the kernel's word.
    #[must_use]
    pub fn of(step: &'static str, error: &io::Error) -> Self {
        Self { step, errno: error.raw_os_error().unwrap_or(libc::EINVAL) }
    }
}

/// Descriptors below this number may be a child's; ours are moved above while the child arranges its own.
const CHILD_NUMBERS: RawFd = 32;

/// Starts a child and returns when it runs its program.
///
/// # Errors
/// [`SpawnError`]; there is then no child and no zombie.
pub fn spawn(spawn: &Spawn<'_>) -> Result<Pid, SpawnError> {
    let high = |fd: BorrowedFd<'_>| {
        fcntl_dupfd_cloexec(fd, CHILD_NUMBERS)
            .map_err(|e| SpawnError { step: "dup", errno: e.raw_os_error() })
    };
    if spawn.fds.iter().any(|(_, number)| !(0..CHILD_NUMBERS).contains(number)) {
        return Err(SpawnError { step: "descriptor number", errno: libc::EBADF });
    }
    let fds = spawn
        .fds
        .iter()
        .map(|(fd, number)| Ok((high(*fd)?, *number)))
        .collect::<Result<Vec<(OwnedFd, RawFd)>, SpawnError>>()?;
    let (result, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|e| SpawnError { step: "pipe", errno: e.raw_os_error() })?;
    // The only writers are to be the child and, until it is closed below, this one.
    let tell = {
        let low = tell;
        high(low.as_fd())?
    };
    let plan = Plan {
        program: high(spawn.program.0.as_fd())?,
        args: child::pointers(spawn.args),
        env: child::pointers(spawn.env),
        fds,
        numbers: CHILD_NUMBERS,
        parent: rustix::process::getpid(),
        tell: tell.as_fd(),
        spawn,
    };
    let pid = child::fork(&plan)?;
    drop(plan);
    drop(tell);
    match child::failure(result) {
        None => Ok(pid),
        Some(error) => {
            let _ = wait(pid);
            Err(error)
        }
    }
}

/// The way a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

impl std::fmt::Display for ExitCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(status) => write!(f, "ended with status {status}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
        }
    }
}

fn ended(status: WaitStatus) -> Option<ExitCause> {
    status.exit_status().map(ExitCause::Status).or_else(|| status.terminating_signal().map(ExitCause::Signal))
}

/// A change of a child's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has ended, and has been reaped.
    Ended(ExitCause),
    /// A signal has stopped it (SIGSTOP, SIGTSTP).
    Stopped,
    /// It goes on (SIGCONT).
    Continued,
}

/// Returns the next child whose state has changed; `None`: there is none.
#[must_use]
pub fn next_change() -> Option<(Pid, Change)> {
    let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
    loop {
        let Ok(Some((pid, status))) = rustix::io::retry_on_intr(|| rustix::process::wait(options)) else {
            return None;
        };
        let change = match ended(status) {
            Some(cause) => Some(Change::Ended(cause)),
            None if status.stopped() => Some(Change::Stopped),
            None => status.continued().then_some(Change::Continued),
        };
        if let Some(change) = change {
            return Some((pid, change));
        }
    }
}

/// Reaps one child that has ended; `None`: no child has.
#[must_use]
pub fn reap() -> Option<(Pid, ExitCause)> {
    loop {
        match rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::NOHANG)) {
            Ok(Some((pid, status))) => {
                if let Some(ended) = ended(status) {
                    return Some((pid, ended));
                }
            }
            _ => return None,
        }
    }
}

/// Waits for this child to end.
///
/// # Errors
/// ECHILD: it is not our child.
pub fn wait(pid: Pid) -> io::Result<ExitCause> {
    loop {
        let found = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(pid), WaitOptions::empty()))?;
        if let Some(ended) = found.and_then(|(_, status)| ended(status)) {
            return Ok(ended);
        }
    }
}

/// Returns whether this child has ended. It is not reaped: nobody else can have its number, nor that of the group that
/// it leads.
///
/// # Errors
/// ECHILD: it is not our child.
pub fn has_ended(child: Pid) -> io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let found = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::Pid(child), look))?;
    Ok(found.is_some())
}

/// Sends a signal to one process; one that is gone already is no error worth telling.
pub fn kill(pid: Pid, signal: Signal) {
    let _ = rustix::process::kill_process(pid, signal);
}

/// Sends a signal to the process group that this process leads.
pub fn kill_group(leader: Pid, signal: Signal) {
    let _ = rustix::process::kill_process_group(leader, signal);
}

/// Returns whether this process is root (by its effective user).
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Sends a signal to one process.
///
/// # Errors
/// EPERM, or ESRCH when it is gone.
pub fn signal(pid: Pid, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process(pid, signal)?)
}

/// Effective user and group of this process.
#[must_use]
pub fn effective_ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}
