//! Paths by descriptors: what has been judged is what is opened.
//!
//! A [`Node`] holds a file, directory or link by an `O_PATH` descriptor: it is found without being opened, so a
//! FIFO or device does nothing, and its status, its link text and its contents all belong to the very same
//! inode, whatever is renamed meanwhile. Symbolic links are followed here, one component at a time, because the
//! callers want to know each directory that they lead through.

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub use rustix::fs::Stat;

mod mounts;
mod watch;
pub use watch::{Of, Watches};

/// Most symbolic links in one resolution, as in the kernel.
const MOST_LINKS: usize = 40;
/// Longest name of a path that the kernel takes, in bytes (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;

/// Puts another file at an open descriptor's number, at once: each system call uses either file.
///
/// # Errors
/// The kernel's; the descriptor is then as before.
pub fn replace_descriptor(descriptor: BorrowedFd<'_>, file: &OwnedFd) -> io::Result<()> {
    // SAFETY: the number is open as long as the borrow lives, remains open under it, and is not closed here.
    let mut at = std::mem::ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(descriptor.as_raw_fd()) });
    Ok(rustix::io::dup3(file, &mut at, rustix::io::DupFlags::CLOEXEC)?)
}

/// Something in the file system, held by an `O_PATH` descriptor.
#[derive(Debug)]
pub struct Node {
    fd: OwnedFd,
    stat: Stat,
}

/// The end of a resolution.
#[derive(Debug)]
pub struct Resolution {
    /// The file there; never a link.
    pub node: Node,
    /// The directory where it was found under [`Self::name`].
    pub directory: Node,
    /// Its name there (`.` where the path ended with a directory's own name for itself).
    pub name: Vec<u8>,
}

impl Node {
    /// The directory `/`.
    ///
    /// # Errors
    /// The kernel's (EMFILE).
    pub fn root() -> io::Result<Self> {
        Self::open(CWD, b"/", OFlags::empty())
    }

    /// The directory at an absolute path, all links followed (by the kernel, in one call).
    ///
    /// # Errors
    /// The kernel's: ENOENT, ENOTDIR, EACCES.
    pub fn directory(path: &[u8]) -> io::Result<Self> {
        Self::open(CWD, path, OFlags::DIRECTORY)
    }

    /// Opens this name in the directory, a link itself and not its target.
    ///
    /// # Errors
    /// The kernel's: ENOENT, ENOTDIR, EACCES, ENAMETOOLONG; EINVAL for a name with a NUL.
    pub fn child(&self, name: &[u8]) -> io::Result<Self> {
        let node = Self::open(self.fd.as_fd(), name, OFlags::NOFOLLOW)?;
        // A directory of autofs that is not mounted yet has no size, and is only mounted when it is opened as
        // a directory.
        if node.is_directory() && node.stat.st_size == 0 && node.file_system() == Some(watch::AUTOFS) {
            return Self::open(self.fd.as_fd(), name, OFlags::NOFOLLOW | OFlags::DIRECTORY);
        }
        Ok(node)
    }

    fn open(directory: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> io::Result<Self> {
        let fd = rustix::fs::openat(directory, name, flags | OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Self { fd, stat })
    }

    fn again(&self) -> io::Result<Self> {
        Ok(Self { fd: rustix::io::fcntl_dupfd_cloexec(&self.fd, 3)?, stat: self.stat })
    }

    /// Its status when it was found.
    #[must_use]
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Returns whether it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.kind() == FileType::Directory
    }

    /// Returns whether it is a regular file.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    /// Returns whether it is a symbolic link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.kind() == FileType::Symlink
    }

    /// Returns whether it is a socket.
    #[must_use]
    pub fn is_socket(&self) -> bool {
        self.kind() == FileType::Socket
    }

    /// Returns whether it is `/dev/null` (Apache takes it for an empty `.htaccess`).
    #[must_use]
    pub fn is_null_device(&self) -> bool {
        self.kind() == FileType::CharacterDevice && self.stat.st_rdev == rustix::fs::makedev(1, 3)
    }

    /// Its file system's magic number (`statfs`).
    fn file_system(&self) -> Option<i64> {
        rustix::fs::fstatfs(&self.fd).ok().map(|found| found.f_type)
    }

    /// Opens this very file for reading (through `/proc/self/fd`). Without waiting: a lease that somebody holds
    /// gives EAGAIN.
    ///
    /// # Errors
    /// The kernel's, EACCES above all; EINVAL for anything but a regular file, which is not opened; EREMOTE for a file
    /// that a program of a user's makes up ([`mounts::is_a_users`]).
    pub fn open_file(&self) -> io::Result<OwnedFd> {
        if !self.is_regular() {
            return Err(Errno::INVAL.into());
        }
        // Whoever reads such a file waits for that program, and it may never answer.
        if self.file_system() == Some(mounts::FUSE) && mounts::is_a_users(self.stat.st_dev) {
            return Err(Errno::REMOTE.into());
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(own_path(self.as_fd(), |path| rustix::fs::open(path, flags, Mode::empty()))?)
    }

    /// Opens this very directory for [`entries`].
    fn open_directory(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.fd, c".", flags, Mode::empty())?)
    }

    /// Returns whether this process may execute the file of this name in this directory. The name must not be a link.
    ///
    /// # Errors
    /// The kernel's; EACCES is "no".
    pub fn may_execute(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::accessat(&self.fd, name, Access::EXEC_OK, AtFlags::empty())?)
    }

    /// The text of this symbolic link, which was found in `directory`.
    ///
    /// As the kernel with `protected_symlinks`: in a sticky directory where everybody may write, only links of
    /// the process's own user and of the directory's owner are followed.
    fn target(&self, directory: &Self) -> io::Result<Vec<u8>> {
        let shared = directory.stat.st_mode & 0o1002 == 0o1002;
        let owner = self.stat.st_uid;
        if shared && owner != directory.stat.st_uid && owner != rustix::process::geteuid().as_raw() {
            return Err(Errno::ACCESS.into());
        }
        Ok(rustix::fs::readlinkat(&self.fd, c"", Vec::new())?.into_bytes())
    }

    /// Follows this link, found in `directory`, to its end. `visit` is told each directory on the way before
    /// anything is looked up in it.
    ///
    /// # Errors
    /// The kernel's: ENOENT for a dangling link, ELOOP, EACCES, ENOTDIR.
    pub fn follow(&self, directory: &Self, visit: &mut dyn FnMut(&Self)) -> io::Result<Resolution> {
        resolve(directory, &self.target(directory)?, visit)
    }
}

impl AsFd for Node {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Calls `open` with the name by which `/proc` knows this descriptor.
fn own_path<T>(fd: BorrowedFd<'_>, open: impl FnOnce(&[u8]) -> Result<T, Errno>) -> Result<T, Errno> {
    let mut name = [0_u8; 32];
    let mut rest = &mut name[..];
    write!(rest, "/proc/self/fd/{}", fd.as_raw_fd()).map_err(|_| Errno::NAMETOOLONG)?;
    let left = rest.len();
    let used = name.len() - left;
    open(&name[..used])
}

/// The path by which the kernel knows what this descriptor holds, for messages.
#[must_use]
pub fn path_of(fd: BorrowedFd<'_>) -> Option<Vec<u8>> {
    own_path(fd, |path| rustix::fs::readlink(path, Vec::new())).ok().map(|path| path.into_bytes())
}

/// Resolves a path from `start` (or from `/`), following all links; `visit` is told each directory on the way
/// before anything is looked up in it.
///
/// # Errors
/// The kernel's, as for `open`; ELOOP over 40 links.
pub fn resolve(start: &Node, path: &[u8], visit: &mut dyn FnMut(&Node)) -> io::Result<Resolution> {
    if path.is_empty() {
        return Err(Errno::NOENT.into());
    }
    let mut at = Resolution { node: start.again()?, directory: start.again()?, name: b".".to_vec() };
    let mut rest: Vec<Vec<u8>> = Vec::new();
    let mut links = 0;
    push(&mut at, &mut rest, path)?;
    while let Some(name) = rest.pop() {
        visit(&at.node);
        let next = at.node.child(&name)?;
        if next.is_link() {
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            let text = next.target(&at.node)?;
            push(&mut at, &mut rest, &text)?;
        } else if !next.is_directory() && !rest.is_empty() {
            return Err(Errno::NOTDIR.into());
        } else {
            at = Resolution { directory: std::mem::replace(&mut at.node, next), node: at.node, name };
        }
    }
    Ok(at)
}

/// Puts a path's components on the stack, the first on top; an absolute one starts again from `/`.
fn push(at: &mut Resolution, rest: &mut Vec<Vec<u8>>, path: &[u8]) -> io::Result<()> {
    if path.is_empty() || path.len() >= LONGEST_PATH {
        return Err(if path.is_empty() { Errno::NOENT } else { Errno::NAMETOOLONG }.into());
    }
    if path.starts_with(b"/") {
        *at = Resolution { node: Node::root()?, directory: Node::root()?, name: b".".to_vec() };
    }
    // A slash at the end asks for a directory, as `.` does.
    if path.ends_with(b"/") {
        rest.push(b".".to_vec());
    }
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    rest.extend(names.rev().map(<[u8]>::to_vec));
    Ok(())
}

/// An entry of a directory.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: Vec<u8>,
    /// Status of what stands there, a link's target for a link; `None` for a dangling link.
    pub stat: Option<Stat>,
    /// The link's owner, if it is a link.
    pub link_owner: Option<u32>,
}

/// All entries of a directory but `.` and `..`, in the kernel's order. What vanishes meanwhile is left out.
///
/// # Errors
/// The kernel's; EOVERFLOW when there are more than `most`.
pub fn entries(directory: &Node, prefix: &[u8], most: usize) -> io::Result<Vec<Entry>> {
    let fd = directory.open_directory()?;
    let mut space = vec![MaybeUninit::uninit(); 32 << 10];
    let mut raw = RawDir::new(&fd, &mut space);
    let mut found = Vec::new();
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." || !name.starts_with(prefix) {
            continue;
        }
        if found.len() == most {
            return Err(Errno::OVERFLOW.into());
        }
        found.extend(entry_of(fd.as_fd(), name));
    }
    Ok(found)
}

fn entry_of(directory: BorrowedFd<'_>, name: &[u8]) -> Option<Entry> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
    let target = if link { rustix::fs::statat(directory, name, AtFlags::empty()).ok() } else { Some(stat) };
    Some(Entry { name: name.to_vec(), stat: target, link_owner: link.then_some(stat.st_uid) })
}

/// Reads a file from its beginning, up to `most` bytes.
///
/// # Errors
/// The kernel's; EFBIG when there is more.
pub fn read_to_end(file: BorrowedFd<'_>, most: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut piece = [0_u8; 8192];
    loop {
        let n = rustix::io::retry_on_intr(|| rustix::io::read(file, &mut piece))?;
        text.extend_from_slice(&piece[..n]);
        if n == 0 {
            return Ok(text);
        }
        if text.len() > most {
            return Err(Errno::FBIG.into());
        }
    }
}

/// A file's first `N` bytes, or all of a shorter one.
///
/// # Errors
/// The kernel's.
pub fn read_head<const N: usize>(file: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut head = [0_u8; N];
    let n = rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut head, 0))?;
    Ok(head[..n].to_vec())
}

#[cfg(test)]
mod tests;
