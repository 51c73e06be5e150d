//! Log files in tenants' directories: opened by a child that has the tenant's identity (`hostler open-logs`).
//!
//! The planner sends one path in each datagram on descriptor 3, and gets an errno (four bytes, 0: opened) with
//! the descriptor. The child belongs to the tenant: its answers are checked, and waited for only so long.
//!
//! **Runs as** the site's user (the child), root (the planner's side).

use hostler_sys::fdpass::{Wait, recv, send};
use hostler_sys::poll;
use hostler_sys::process::{self, Pid, Program, Signal, Spawn, spawn};
use hostler_sys::trusted::is_open_log;
use hostler_wire::plan::Identity;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use crate::Failed;

/// How long the child may take for one file.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_PATH: usize = 4096;
const O_NONBLOCK: i32 = 0o4000;

/// The child's side: opens what it is told until the planner is done.
pub(crate) fn command() -> Result<(), Failed> {
    hostler_sys::harden::settle(c"hostler-log")?;
    let planner = hostler_sys::exec::inherited(3)
        .map_err(|_| "this command is for the planner, which passes a socket as descriptor 3")?;
    let mut path = [0; LONGEST_PATH];
    loop {
        match recv(planner.as_fd(), &mut path, &mut Vec::new(), Wait::Yes)? {
            0 => return Ok(()),
            n => answer(&planner, open(Path::new(std::ffi::OsStr::from_bytes(&path[..n]))))?,
        }
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    // Without blocking: a pipe may stand there instead of a file.
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o640).custom_flags(O_NONBLOCK);
    options.open(path).map(OwnedFd::from)
}

fn answer(planner: &OwnedFd, opened: io::Result<OwnedFd>) -> io::Result<()> {
    let errno = opened.as_ref().err().map_or(0, |e| e.raw_os_error().unwrap_or(5));
    let fds: Vec<_> = opened.iter().map(AsFd::as_fd).collect();
    send(planner.as_fd(), &errno.to_le_bytes(), &fds, Wait::Yes).map(drop)
}

/// The planner's side: a child that opens files for it. It ends with this.
pub(crate) struct Opener {
    pid: Pid,
    socket: OwnedFd,
}

impl Opener {
    /// Starts a child with this identity.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn start(identity: &Identity) -> Result<Self, String> {
        let failed = |e: &dyn std::fmt::Display| format!("can't open logs as uid {}: {e}", identity.uid);
        let program = Program::open(Path::new("/proc/self/exe")).map_err(|e| failed(&e))?;
        let (ours, theirs) = hostler_sys::socket::seqpacket_pair().map_err(|e| failed(&e))?;
        let null = File::options().read(true).write(true).open("/dev/null").map_err(|e| failed(&e))?;
        let identity =
            process::Identity { uid: identity.uid, gid: identity.gid, groups: identity.groups.clone() };
        let pid = spawn(&Spawn {
            program: &program,
            args: &[c"hostler".to_owned(), c"open-logs".to_owned()],
            env: &[],
            fds: &[(null.as_fd(), 0), (null.as_fd(), 1), (null.as_fd(), 2), (theirs.as_fd(), 3)],
            identity: Some(&identity),
            limits: &[],
            directory: Some(c"/"),
            no_new_privs: true,
            dies_with_parent: true,
            own_session: true,
        });
        Ok(Self { pid: pid.map_err(|e| failed(&e))?, socket: ours })
    }

    /// Opens a file for appending, made when it is missing.
    ///
    /// # Errors
    /// What the child met with; `TimedOut` or `InvalidData` when it does not behave.
    pub(crate) fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = path.as_os_str().as_bytes();
        if path.len() > LONGEST_PATH {
            return Err(io::Error::from(io::ErrorKind::InvalidFilename));
        }
        send(self.socket.as_fd(), path, &[], Wait::No)?;
        let watch = poll::Watch { fd: self.socket.as_fd(), write: false };
        if !poll::wait(&[watch], Some(PATIENCE))?.iter().any(|ready| ready.read) {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        let (mut errno, mut fds) = ([0; 4], Vec::new());
        let n = recv(self.socket.as_fd(), &mut errno, &mut fds, Wait::No)?;
        match (n, i32::from_le_bytes(errno), fds.pop()) {
            (4, 0, Some(fd)) if fds.is_empty() && is_open_log(fd.as_fd()) => Ok(fd),
            (4, 0, Some(_)) => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file")),
            (4, errno, None) if errno > 0 => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the child that opens logs misbehaves")),
        }
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        process::kill(self.pid, Signal::KILL);
        let _ = process::wait(self.pid);
    }
}
