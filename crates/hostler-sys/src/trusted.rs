//! Directories that only root can change, reached step by step, so that root may write there.
//!
//! Whoever can rename or link in any directory of a path decides what the path means. [`open_directory`] holds
//! each directory on the way open, looks at the held one, and follows a symbolic link only where root made it.
//! A sticky directory of root's (`/tmp`) may be passed through to a directory of root's, which nobody else can
//! move there or away; it may hold neither a link nor the file itself.

use rustix::fs::Gid;
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, Stat, accessat, fstat, openat, readlinkat, statat,
};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// The owners whose directories are trusted.
#[derive(Clone, Copy)]
pub enum Trust<'a> {
    /// Root's alone; directories that their group may write too when this says that the group (gid) is harmless.
    Root(&'a dyn Fn(u32) -> bool),
    /// Anyone's: for a process that is not root and so has nothing to lend.
    Anyone,
}

/// Why a directory won't do.
#[derive(Debug)]
pub enum Untrusted {
    /// Someone other than root could change what lies in this directory.
    Writable {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link that is not root's, or too many of them.
    Link {
        /// The link.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// It can't be opened; `NotFound` when it does not exist.
    Io {
        /// The path at which the walk ended.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl std::fmt::Display for Untrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Writable { path, owner, mode } => write!(
                f,
                "others than root can write to {} (owner uid {owner}, mode {mode:04o})",
                path.display()
            ),
            Self::Link { path, owner } => {
                write!(f, "{} is a symbolic link (of uid {owner}) that root won't follow", path.display())
            }
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Untrusted {}

/// As many symbolic links as the kernel follows.
const MOST_LINKS: usize = 40;

/// Opens the absolute `path` (as `O_PATH`), a directory in which, as on the whole way to it, only `trust` can
/// change things.
///
/// # Errors
/// [`Untrusted`], with the place that is to blame.
pub fn open_directory(path: &Path, trust: Trust<'_>) -> Result<OwnedFd, Untrusted> {
    let mut walk = Walk::from_root(trust)?;
    walk.follow(names(path), false)?;
    walk.finish()
}

/// As [`open_directory`]; missing directories below /run, which is empty after each start of the machine, are created
/// (mode 0755, this process's own).
///
/// # Errors
/// As there.
pub fn open_or_create_directory(path: &Path, trust: Trust<'_>) -> Result<OwnedFd, Untrusted> {
    let mut walk = Walk { creates: true, ..Walk::from_root(trust)? };
    walk.follow(names(path), false)?;
    walk.finish()
}

/// Returns whether directories at this path are created when they are missing.
#[must_use]
pub fn is_of_this_start(path: &Path) -> bool {
    ["/run", "/var/run"].iter().any(|root| path.starts_with(root) && path != Path::new(root))
}

/// Opens the regular file at the absolute `path` for reading; on the way to it only `trust` can change things.
/// The file itself may be a link of root's.
///
/// # Errors
/// [`Untrusted`], with the place that is to blame.
pub fn open_file(path: &Path, trust: Trust<'_>) -> Result<OwnedFd, Untrusted> {
    let mut walk = Walk::from_root(trust)?;
    let name = walk.follow(names(path), true)?;
    let at = walk.path.join(&name);
    let directory = walk.finish()?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(&directory, &name, flags, Mode::empty());
    let opened = file.and_then(|file| fstat(&file).map(|stat| (file, stat.st_mode)));
    match opened {
        Ok((file, mode)) if FileType::from_raw_mode(mode) == FileType::RegularFile => Ok(file),
        Ok(_) => {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
            Err(Untrusted::Io { path: at, error })
        }
        Err(e) => Err(Untrusted::Io { path: at, error: e.into() }),
    }
}

/// The names on a path; `..` is one of them.
fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_os_string())
        .collect()
}

/// A place on the way.
struct Walk<'a> {
    trust: Trust<'a>,
    directory: OwnedFd,
    path: PathBuf,
    /// The directory is sticky and open to all: only a directory of root's may come next.
    sticky: bool,
    /// Missing directories are created, see [`is_of_this_start`].
    creates: bool,
}

impl<'a> Walk<'a> {
    /// Goes the way of these names, links followed; with `but_last` it stops in the directory of the last one,
    /// and returns that.
    fn follow(&mut self, mut left: VecDeque<OsString>, but_last: bool) -> Result<OsString, Untrusted> {
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            match self.link(&name)? {
                None if but_last && left.is_empty() => return Ok(name),
                None => self.enter(&name)?,
                Some(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Untrusted::Link { path: self.path.join(name), owner: 0 });
                    }
                    if target.is_absolute() {
                        *self = Self { creates: self.creates, ..Self::from_root(self.trust)? };
                    }
                    for name in names(&target).into_iter().rev() {
                        left.push_front(name);
                    }
                }
            }
        }
        Ok(OsString::from("."))
    }

    fn from_root(trust: Trust<'a>) -> Result<Self, Untrusted> {
        let path = PathBuf::from("/");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(directory) => Ok(Self { trust, directory, path, sticky: false, creates: false }),
            Err(e) => Err(Untrusted::Io { path, error: e.into() }),
        }
    }

    fn failed(&self, name: &OsStr, error: Errno) -> Untrusted {
        Untrusted::Io { path: self.path.join(name), error: error.into() }
    }

    /// Returns the target of the link of this name; `None` when it is not a link.
    fn link(&self, name: &OsStr) -> Result<Option<PathBuf>, Untrusted> {
        let found = statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = match found {
            Err(Errno::NOENT) if self.creates && !self.sticky && is_of_this_start(&self.path.join(name)) => {
                rustix::fs::mkdirat(&self.directory, name, Mode::from_raw_mode(0o755))
                    .map_err(|e| self.failed(name, e))?;
                return Ok(None);
            }
            found => found.map_err(|e| self.failed(name, e))?,
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            return Ok(None);
        }
        let roots_own = !self.sticky && stat.st_uid == 0;
        if matches!(self.trust, Trust::Root(_)) && !roots_own {
            return Err(Untrusted::Link { path: self.path.join(name), owner: stat.st_uid });
        }
        let target = readlinkat(&self.directory, name, Vec::new()).map_err(|e| self.failed(name, e))?;
        Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes()))))
    }

    fn enter(&mut self, name: &OsStr) -> Result<(), Untrusted> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = openat(&self.directory, name, flags, Mode::empty()).map_err(|e| self.failed(name, e))?;
        let stat = fstat(&next).map_err(|e| self.failed(name, e))?;
        if name == ".." {
            self.path.pop();
        } else {
            self.path.push(name);
        }
        self.directory = next;
        self.sticky = false;
        let Trust::Root(harmless) = self.trust else { return Ok(()) };
        let (mode, owner) = (stat.st_mode & 0o7777, stat.st_uid);
        let others = mode & 0o002 != 0 || (mode & 0o020 != 0 && !harmless(stat.st_gid));
        if owner != 0 || (others && mode & 0o1000 == 0) {
            return Err(Untrusted::Writable { path: self.path.clone(), owner, mode });
        }
        self.sticky = others;
        Ok(())
    }

    fn finish(self) -> Result<OwnedFd, Untrusted> {
        if self.sticky {
            let mode = fstat(&self.directory).map_or(0, |stat| stat.st_mode & 0o7777);
            return Err(Untrusted::Writable { path: self.path, owner: 0, mode });
        }
        Ok(self.directory)
    }
}

/// Puts a file with these bytes and this mode at `name` in an open directory, at once and whole, replacing what is there.
/// Nothing is followed.
///
/// # Errors
/// The kernel's; nothing has then changed.
pub fn replace_file(directory: BorrowedFd<'_>, name: &OsStr, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}", std::process::id()));
    let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory, &temporary, flags, Mode::from_raw_mode(mode))?;
    let done = std::fs::File::from(file)
        .write_all(bytes)
        .and_then(|()| Ok(rustix::fs::renameat(directory, &temporary, directory, name)?));
    if done.is_err() {
        let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
    }
    done
}

/// Removes a file in an open directory.
///
/// # Errors
/// The kernel's.
pub fn remove_file(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(directory, name, AtFlags::empty())?)
}

/// The mode and group of a log that is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewLog {
    /// Permission bits, regardless of the umask.
    pub mode: u32,
    /// Its group, if this process may give it; `None`: the process's own.
    pub group: Option<u32>,
}

impl NewLog {
    /// A log that replaces none: for its owner and readable by `group`.
    #[must_use]
    pub fn first(group: Option<u32>) -> Self {
        Self { mode: 0o640, group }
    }
}

/// Opens a regular file in an open directory for appending; a missing one is created as `new` says. Neither a link
/// nor a file with a second name will do.
///
/// # Errors
/// The kernel's (ELOOP for a link; ENOENT without `new`); `InvalidInput` for anything but a regular file with one name.
pub fn append_file(directory: BorrowedFd<'_>, name: &OsStr, new: Option<NewLog>) -> io::Result<OwnedFd> {
    let file = open_log(directory, name, new)?;
    with_one_name(&fstat(file.as_fd())?)?;
    Ok(file)
}

/// Opens a log at a path whose directories are trusted, links followed, with this process's own rights.
///
/// # Errors
/// As [`append_file`].
pub fn append_path(path: &Path, new: Option<NewLog>) -> io::Result<OwnedFd> {
    let flags = APPEND | OFlags::CLOEXEC;
    match openat(CWD, path, flags, Mode::empty()) {
        Err(Errno::NOENT) if new.is_some() => {
            match openat(CWD, path, flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o600)) {
                // Created by another program in between, or a link to a file that is missing.
                Err(Errno::EXIST) => {
                    Ok(openat(CWD, path, flags | OFlags::CREATE, Mode::from_raw_mode(0o640))?)
                }
                Err(e) => Err(e.into()),
                Ok(file) => {
                    apply(&file, new);
                    Ok(file)
                }
            }
        }
        opened => Ok(opened?),
    }
}

const APPEND: OFlags = OFlags::WRONLY.union(OFlags::APPEND).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

fn open_log(directory: BorrowedFd<'_>, name: &OsStr, new: Option<NewLog>) -> io::Result<OwnedFd> {
    let flags = APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(directory, name, flags, Mode::empty()) {
        Err(Errno::NOENT) if new.is_some() => {}
        opened => return Ok(opened?),
    }
    match openat(directory, name, flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o600)) {
        // Created by another program in between.
        Err(Errno::EXIST) => Ok(openat(directory, name, flags, Mode::empty())?),
        Err(e) => Err(e.into()),
        Ok(file) => {
            apply(&file, new);
            Ok(file)
        }
    }
}

/// Sets group and mode of a new log, as far as this process may.
fn apply(file: &OwnedFd, new: Option<NewLog>) {
    let Some(NewLog { mode, group }) = new else { return };
    let _ = rustix::fs::fchown(file, None, group.map(Gid::from_raw));
    let _ = rustix::fs::fchmod(file, Mode::from_raw_mode(mode & 0o777));
}

/// Returns the kernel's name of an open file: its path now, or what it was with ` (deleted)`. No file system is asked.
///
/// # Errors
/// The kernel's: without /proc there is none.
pub fn name_of(file: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(readlinkat(CWD, link, Vec::new())?.into_bytes())
}

/// Returns permission bits and group of an open file, if it is a regular one.
#[must_use]
pub fn mode_and_group(file: BorrowedFd<'_>) -> Option<(u32, u32)> {
    let stat = fstat(file).ok()?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    regular.then_some((stat.st_mode & 0o777, stat.st_gid))
}

fn with_one_name(stat: &Stat) -> io::Result<()> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_nlink != 1 {
        let why = "it is not a regular file with a single name";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(())
}

/// Returns whether [`append_file`] would do, without making the file.
///
/// # Errors
/// As there.
pub fn inspect_append_file(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Err(e) => Err(e.into()),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => Err(Errno::LOOP.into()),
        Ok(stat) => with_one_name(&stat),
    }
}

/// Returns whether this process may make files in a directory.
///
/// # Errors
/// The kernel's.
pub fn may_write(directory: &Path) -> io::Result<()> {
    Ok(accessat(CWD, directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?)
}

/// Returns whether this descriptor, which someone else has opened, can only be appended to, and to a regular file.
#[must_use]
pub fn is_open_log(fd: BorrowedFd<'_>) -> bool {
    let regular = fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    let flags = rustix::fs::fcntl_getfl(fd).unwrap_or(OFlags::PATH);
    regular && flags & (OFlags::ACCMODE | OFlags::APPEND | OFlags::PATH) == OFlags::WRONLY | OFlags::APPEND
}

/// Returns whether this descriptor, which someone else has opened, is of a regular file and can be read.
#[must_use]
pub fn is_readable_file(fd: BorrowedFd<'_>) -> bool {
    let regular = fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    let flags = rustix::fs::fcntl_getfl(fd).unwrap_or(OFlags::PATH);
    regular && !flags.contains(OFlags::PATH) && flags & OFlags::ACCMODE != OFlags::WRONLY
}
