//! Watches on directories and files (`inotify`).

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::{Node, own_path};

/// autofs' magic number.
pub(super) const AUTOFS: i64 = 0x0187;

/// File systems that only this machine changes, so that inotify tells every change: ext2 to ext4, xfs, btrfs,
/// tmpfs, ramfs, overlay, zfs, f2fs, bcachefs, squashfs, erofs, iso9660, vfat, exfat, reiserfs, jfs.
const LOCAL: [i64; 16] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0x0102_1994,
    0x8584_58F6,
    0x794C_7630,
    0x2FC1_2FC1,
    0xF2F5_2010,
    0xCA45_1A4E,
    0x7371_7368,
    0xE0F5_E1E2,
    0x9660,
    0x4D44,
    0x2011_BAB0,
    0x5265_4973,
    0x3153_464A,
];

/// The watched changes of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Its entries and their permissions. Writing to a file in it is not reported: a log beside a document root would
    /// otherwise wake every reader with each line.
    Names,
    /// Also what its files contain.
    Contents,
}

/// An inotify descriptor: whoever shares it reads the events, this process adds the watches.
#[derive(Debug)]
pub struct Watches(OwnedFd);

impl Watches {
    /// A new one, non-blocking and close-on-exec.
    ///
    /// # Errors
    /// The kernel's: EMFILE above all (`fs.inotify.max_user_instances`).
    pub fn new() -> io::Result<Self> {
        Ok(Self(init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?))
    }

    /// Watches a directory, or a file; the same number again for the same inode, and whatever was watched of it
    /// before still is. `None` where that can't be had: the limit is reached, the directory may not be read, or its
    /// file system can change without events (network file systems, FUSE).
    #[must_use]
    pub fn add(&self, node: &Node, of: Of) -> Option<i32> {
        let mut flags = WatchFlags::MASK_ADD
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        if of == Of::Contents {
            flags |= WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE;
        }
        if !node.file_system().is_some_and(|magic| LOCAL.contains(&(magic & 0xFFFF_FFFF))) {
            return None;
        }
        own_path(node.as_fd(), |path| add_watch(&self.0, path, flags)).ok()
    }
}

impl AsFd for Watches {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
