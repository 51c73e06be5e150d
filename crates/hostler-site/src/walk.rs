//! Answers `Walk`: a path, one component at a time, by descriptors (`hostler_sys::fs`).
//!
//! Each directory is watched *before* anything in it is looked at, so that no change falls between the two.

use hostler_sys::fs::{self, Node, Of, Resolution, Stat, Watches};
use hostler_wire::site::{AccessFile, FileInfo, FileKind, Level, Walk, WalkResult};
use rustix::fs::FileType;
use rustix::io::Errno;
use serde_bytes::ByteBuf;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Longest access file, in bytes; a longer one is EFBIG.
const LONGEST_ACCESS_FILE: usize = 1 << 20;

/// Returns a file's status in wire form.
#[allow(clippy::useless_conversion)] // Some fields are narrower on other machines.
pub(crate) fn info(stat: &Stat) -> FileInfo {
    FileInfo {
        kind: match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::Regular,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Symlink,
            _ => FileKind::Other,
        },
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        nlink: u64::from(stat.st_nlink),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        dev: stat.st_dev,
        ino: stat.st_ino,
        mtime: stat.st_mtime,
        mtime_nsec: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
        ctime: stat.st_ctime,
        atime: stat.st_atime,
    }
}

/// The errno of an error; EIO for one that has none.
pub(crate) fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())
}

/// Walks a path; the descriptor is that of the opened end.
pub(crate) fn walk(request: &Walk, watches: Option<&Watches>) -> (WalkResult, Option<OwnedFd>) {
    let mut walker = Walker::new(request, if request.watch { watches } else { None });
    let end = walker.walk_to_end();
    let mut file = None;
    if let Some(node) = end.filter(|node| request.open && node.is_regular()) {
        match node.open_file() {
            Ok(opened) => file = Some(opened),
            Err(e) => walker.walked.open_errno = Some(errno(&e)),
        }
    }
    walker.walked.opened = file.is_some();
    (walker.walked, file)
}

struct Walker<'a> {
    request: &'a Walk,
    watches: Option<&'a Watches>,
    walked: WalkResult,
}

impl<'a> Walker<'a> {
    fn new(request: &'a Walk, watches: Option<&'a Watches>) -> Self {
        let walked = WalkResult {
            id: request.id,
            levels: Vec::new(),
            stopped: None,
            stopped_link: None,
            watches: Vec::new(),
            watched: watches.is_some(),
            open_errno: None,
            opened: false,
        };
        Self { request, watches, walked }
    }

    /// Walks as far as it goes and returns the last node that was reached.
    fn walk_to_end(&mut self) -> Option<Node> {
        let mut node = match Node::root() {
            Ok(root) if self.request.path.starts_with(b"/") => root,
            Ok(_) => return self.stop(&Errno::INVAL.into()),
            Err(e) => return self.stop(&e),
        };
        self.add_level(&node, None);
        let path: &[u8] = &self.request.path;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if !node.is_directory() {
                break;
            }
            match self.step(&node, name) {
                Ok(next) => node = next,
                Err(e) => {
                    self.stop(&e);
                    break;
                }
            }
        }
        Some(node)
    }

    fn stop(&mut self, error: &io::Error) -> Option<Node> {
        self.walked.stopped = Some(errno(error));
        None
    }

    fn step(&mut self, directory: &Node, name: &[u8]) -> io::Result<Node> {
        if name == b"." || name == b".." {
            return Err(Errno::INVAL.into());
        }
        let mut node = directory.child(name)?;
        if !node.is_link() && !node.is_directory() {
            // From here on writing to the file matters, and it is looked at again after that is watched.
            if let Some(watches) = self.watches {
                let _ = watches.add(directory, Of::Contents);
            }
            node = directory.child(name)?;
        }
        if !node.is_link() {
            self.add_level(&node, None);
            return Ok(node);
        }
        let owner = node.stat().st_uid;
        self.walked.stopped_link = Some(owner);
        let found = self.follow(&node, directory)?;
        self.walked.stopped_link = None;
        self.add_level(&found.node, Some(owner));
        Ok(found.node)
    }

    /// Follows a link; the directories that it leads through are watched, and the answer depends on them.
    fn follow(&mut self, link: &Node, directory: &Node) -> io::Result<Resolution> {
        link.follow(directory, &mut |passed| self.depend_on(passed))
    }

    fn depend_on(&mut self, node: &Node) {
        match self.watches.and_then(|watches| watches.add(node, Of::Contents)) {
            Some(watch) if self.walked.watches.contains(&watch) => {}
            Some(watch) => self.walked.watches.push(watch),
            None => self.walked.watched = false,
        }
    }

    /// A file with several hard links can be changed where its directory's watch does not tell.
    fn depend_on_file(&mut self, node: &Node) {
        if node.is_regular() && node.stat().st_nlink > 1 {
            self.depend_on(node);
        }
    }

    fn add_level(&mut self, node: &Node, link_owner: Option<u32>) {
        let mut level = Level { info: info(node.stat()), link_owner, htaccess: None, watch: None };
        if node.is_directory() {
            let access = self.walked.levels.len() >= self.request.htaccess_from as usize;
            let of = if access { Of::Contents } else { Of::Names };
            level.watch = self.watches.and_then(|watches| watches.add(node, of));
            self.walked.watched &= level.watch.is_some();
            if access {
                level.htaccess = self.access_file(node);
            }
        } else {
            self.depend_on_file(node);
        }
        self.walked.levels.push(level);
    }

    /// The first of the access files that exists. As in Apache one that can't be opened counts as one that
    /// exists, and a dangling link does not.
    fn access_file(&mut self, directory: &Node) -> Option<AccessFile> {
        for name in &self.request.access_files {
            let text = match self.access_text(directory, name) {
                Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::NOENT | Errno::NOTDIR)) => continue,
                Err(e) => Err(errno(&e)),
                Ok(text) => Ok(ByteBuf::from(text)),
            };
            return Some(AccessFile { name: name.clone(), text });
        }
        None
    }

    fn access_text(&mut self, directory: &Node, name: &[u8]) -> io::Result<Vec<u8>> {
        let mut node = directory.child(name)?;
        if node.is_link() {
            node = self.follow(&node, directory)?.node;
        }
        if node.is_null_device() {
            return Ok(Vec::new());
        }
        if node.is_directory() {
            return Err(Errno::ISDIR.into());
        }
        self.depend_on_file(&node);
        fs::read_to_end(node.open_file()?.as_fd(), LONGEST_ACCESS_FILE)
    }
}
