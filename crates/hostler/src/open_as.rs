//! Files in tenants' directories: opened by a child that has the tenant's identity (`hostler open-as`), logs for
//! appending, certificates for reading.
//!
//! The planner sends what to open in one datagram each on descriptor 3: `a`, `e`, `r`, `l` or `d`, the mode and group of a
//! new file (four bytes each), and the path. It gets an errno (four bytes, 0: opened) with the descriptor. The child belongs to the tenant: its answers are checked, and
//! waited for only so long.
//!
//! **Runs as** the site's user (the child), root (the planner's side).

use hostler_sys::fdpass::{Wait, recv, send};
use hostler_sys::poll;
use hostler_sys::process::{self, Pid, Program, Signal, Spawn, spawn};
use hostler_sys::trusted::{NewLog, append_path, is_open_log, is_readable_file, may_write};
use hostler_wire::plan::Identity;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use crate::Failed;

/// The time limit of the child for one file.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_PATH: usize = 4096;
/// The ways to open; `e` is `a` for a file that exists, `l` only looks whether `a` would do.
const APPEND: u8 = b'a';
const EXISTING: u8 = b'e';
const READ: u8 = b'r';
const LOOK: u8 = b'l';
/// A directory, to see whether it can be read and entered.
const ENTER: u8 = b'd';
const O_NONBLOCK: i32 = 0o4000;

/// The child's side: opens what it is told until the planner is done.
pub(crate) fn command() -> Result<(), Failed> {
    hostler_sys::harden::settle(c"hostler-open")?;
    let planner = hostler_sys::exec::inherited(3)
        .map_err(|_| "this command is for the planner, which passes a socket as descriptor 3")?;
    let mut asked = [0; HEAD + LONGEST_PATH];
    loop {
        let n = recv(planner.as_fd(), &mut asked, &mut Vec::new(), Wait::Yes)?;
        let Some((head, path)) = asked[..n].split_first_chunk() else { return Ok(()) };
        answer(&planner, &open(*head, Path::new(std::ffi::OsStr::from_bytes(path))))?;
    }
}

/// The way, and the mode and group of a new file, before the path.
const HEAD: usize = 9;

fn head(how: u8, new: NewLog) -> [u8; HEAD] {
    let [a, b, c, d] = new.mode.to_le_bytes();
    // No process can be in this group.
    let [e, f, g, h] = new.group.unwrap_or(u32::MAX).to_le_bytes();
    [how, a, b, c, d, e, f, g, h]
}

fn open([how, a, b, c, d, e, f, g, h]: [u8; HEAD], path: &Path) -> io::Result<OwnedFd> {
    let group = Some(u32::from_le_bytes([e, f, g, h])).filter(|group| *group != u32::MAX);
    let new = NewLog { mode: u32::from_le_bytes([a, b, c, d]), group };
    // Without blocking: a pipe may stand there instead of a file.
    if how == ENTER {
        return enter(path).map(OwnedFd::from);
    }
    if let APPEND | EXISTING = how {
        return append_path(path, (how == APPEND).then_some(new));
    }
    let mut options = OpenOptions::new();
    match how {
        LOOK => options.append(true),
        _ => options.read(true),
    };
    match options.custom_flags(O_NONBLOCK).open(path) {
        Err(e) if how == LOOK && e.kind() == io::ErrorKind::NotFound => {
            may_write(path.parent().unwrap_or(path))?;
            File::options().append(true).open("/dev/null").map(OwnedFd::from)
        }
        opened => opened.map(OwnedFd::from),
    }
}

/// Opens a directory, if its files can be reached, too.
///
/// # Errors
/// The kernel's.
pub(crate) fn enter(path: &Path) -> io::Result<File> {
    let directory = File::open(path)?;
    // For this one must be allowed to enter it.
    path.join(".").metadata()?;
    Ok(directory)
}

fn answer(planner: &OwnedFd, opened: &io::Result<OwnedFd>) -> io::Result<()> {
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
        let failed = |e: &dyn std::fmt::Display| format!("can't open files as uid {}: {e}", identity.uid);
        let program = Program::open(Path::new("/proc/self/exe")).map_err(|e| failed(&e))?;
        let (ours, theirs) = hostler_sys::socket::seqpacket_pair().map_err(|e| failed(&e))?;
        let null = File::options().read(true).write(true).open("/dev/null").map_err(|e| failed(&e))?;
        let identity =
            process::Identity { uid: identity.uid, gid: identity.gid, groups: identity.groups.clone() };
        let pid = spawn(&Spawn {
            program: &program,
            args: &[c"hostler".to_owned(), c"open-as".to_owned()],
            env: &[],
            fds: &[(null.as_fd(), 0), (null.as_fd(), 1), (null.as_fd(), 2), (theirs.as_fd(), 3)],
            identity: Some(&identity),
            group: None,
            limits: &[],
            directory: Some(c"/"),
            no_new_privs: true,
            dies_with_parent: true,
            own_session: true,
        });
        Ok(Self { pid: pid.map_err(|e| failed(&e))?, socket: ours })
    }

    /// Opens a file for appending; a missing one is created as `new` says.
    ///
    /// # Errors
    /// The error that the child met with; `TimedOut` or `InvalidData` when it does not behave.
    pub(crate) fn append(&self, path: &Path, new: Option<NewLog>) -> io::Result<OwnedFd> {
        let (how, new) = new.map_or((EXISTING, NewLog::first(None)), |new| (APPEND, new));
        self.request(head(how, new), path).and_then(|fd| checked(fd, is_open_log))
    }

    /// Looks whether that would do, without making the file.
    ///
    /// # Errors
    /// As [`Opener::append`].
    pub(crate) fn inspect_append(&self, path: &Path) -> io::Result<()> {
        self.open(LOOK, path).map(drop)
    }

    /// Looks whether a directory can be read and entered.
    ///
    /// # Errors
    /// As [`Opener::append`].
    pub(crate) fn enter(&self, path: &Path) -> io::Result<()> {
        self.open(ENTER, path).map(drop)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// As [`Opener::append`].
    pub(crate) fn read(&self, path: &Path) -> io::Result<OwnedFd> {
        self.open(READ, path).and_then(|fd| checked(fd, is_readable_file))
    }

    fn open(&self, how: u8, path: &Path) -> io::Result<OwnedFd> {
        self.request(head(how, NewLog::first(None)), path)
    }

    fn request(&self, head: [u8; HEAD], path: &Path) -> io::Result<OwnedFd> {
        let path = path.as_os_str().as_bytes();
        if path.len() > LONGEST_PATH {
            return Err(io::Error::from(io::ErrorKind::InvalidFilename));
        }
        send(self.socket.as_fd(), &[&head[..], path].concat(), &[], Wait::No)?;
        let watch = poll::Watch { fd: self.socket.as_fd(), write: false };
        if !poll::wait(&[watch], Some(PATIENCE))?.iter().any(|ready| ready.read) {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        let (mut errno, mut fds) = ([0; 4], Vec::new());
        let n = recv(self.socket.as_fd(), &mut errno, &mut fds, Wait::No)?;
        match (n, i32::from_le_bytes(errno), fds.pop()) {
            (4, 0, Some(fd)) if fds.is_empty() => Ok(fd),
            (4, errno, None) if errno > 0 => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the child that opens files misbehaves")),
        }
    }
}

/// The descriptor may be of anything that the tenant could open.
fn checked(fd: OwnedFd, is_usable: impl Fn(BorrowedFd<'_>) -> bool) -> io::Result<OwnedFd> {
    let why = || io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file");
    if is_usable(fd.as_fd()) { Ok(fd) } else { Err(why()) }
}

impl Drop for Opener {
    fn drop(&mut self) {
        process::kill(self.pid, Signal::KILL);
        let _ = process::wait(self.pid);
    }
}

/// One child for each identity, started when first needed.
#[derive(Default)]
pub(crate) struct Openers(Vec<(Identity, Opener)>);

impl Openers {
    /// The child with this identity.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn of(&mut self, identity: &Identity) -> Result<&Opener, String> {
        let at = match self.0.iter().position(|(known, _)| known == identity) {
            Some(at) => at,
            None => {
                self.0.push((identity.clone(), Opener::start(identity)?));
                self.0.len() - 1
            }
        };
        Ok(&self.0[at].1)
    }
}
