//! Directories that are one user's alone.
//!
//! Root makes them for others with [`make_for`], in a directory that root alone can change: then no other user can have
//! made one of that name, and root need not look at what its owner does in it. A process makes its own with
//! [`make_own`], and with [`make_unique`] where others may make directories too.

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, RenameFlags, Uid, chmod, chownat, mkdirat, readlinkat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// Names that [`make_unique`] tries: one that is taken was guessed, or it is very bad luck.
const TRIES: u32 = 16;

/// Makes a directory that root and no one else can change, for the directories of others; one that is there may stay.
///
/// # Errors
/// The kernel's.
pub fn make_common(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
        // The umask may have taken bits away: sites pass through it.
        Ok(()) => Ok(rustix::fs::chmodat(parent, name, Mode::from_raw_mode(0o755), AtFlags::empty())?),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes a directory of this owner's (mode 0700) in one that root alone can change. One that is there is not looked at:
/// root has made it, and its owner may have mounted a file system there that answers when it likes.
///
/// # Errors
/// The kernel's; nothing is left behind then.
pub fn make_for(parent: BorrowedFd<'_>, name: &OsStr, uid: u32, gid: u32) -> io::Result<()> {
    // EINVAL: it is there and is no link. Then nothing is written, which a full disk would refuse; and the file system that
    // its owner may have mounted there is not asked.
    if matches!(readlinkat(parent, name, Vec::new()), Err(Errno::INVAL)) {
        return Ok(());
    }
    // Under another name first: one that stands under its own is its owner's.
    let mut unfinished = OsString::from(".new-");
    unfinished.push(name);
    unfinished.push(format!("-{}", std::process::id()));
    let _ = unlinkat(parent, &unfinished, AtFlags::REMOVEDIR);
    mkdirat(parent, &unfinished, Mode::RWXU)?;
    let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    let made = chownat(parent, &unfinished, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW)
        .and_then(|()| renameat_with(parent, &unfinished, parent, name, RenameFlags::NOREPLACE));
    if made.is_err() {
        let _ = unlinkat(parent, &unfinished, AtFlags::REMOVEDIR);
    }
    match made {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes a directory that this process's user alone may enter; one of its own that is there is closed to others.
///
/// # Errors
/// The kernel's. `PermissionDenied`: what stands there is not a directory of this user's.
pub fn make_own(path: &Path) -> io::Result<()> {
    match mkdirat(CWD, path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    if !is_own(path)? {
        let why = format!("{} is not a directory of this user's", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    if mode(path)? & 0o077 != 0 {
        chmod(path, Mode::RWXU)?;
    }
    Ok(())
}

/// Returns true if this is a directory of this process's user; a link does not count.
///
/// # Errors
/// The kernel's.
pub fn is_own(path: &Path) -> io::Result<bool> {
    let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_directory = rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Directory;
    Ok(is_directory && found.st_uid == rustix::process::geteuid().as_raw())
}

/// Returns true if it is this user's, and others may neither enter nor change it.
#[must_use]
pub fn is_private(path: &Path) -> bool {
    is_own(path).unwrap_or(false) && mode(path).is_ok_and(|mode| mode & 0o077 == 0)
}

/// Returns true if only this user and root can rename or remove entries of this directory.
#[must_use]
pub fn is_safe_parent(path: &Path) -> bool {
    let Ok(found) = rustix::fs::stat(path) else { return false };
    let owners = [0, rustix::process::geteuid().as_raw()];
    owners.contains(&found.st_uid) && found.st_mode & 0o022 == 0
}

fn mode(path: &Path) -> io::Result<u32> {
    Ok(statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?.st_mode & 0o7777)
}

/// Makes a directory (mode 0700) under a name that others cannot guess.
///
/// # Errors
/// The kernel's.
pub fn make_unique(parent: &Path) -> io::Result<PathBuf> {
    for _ in 0..TRIES {
        let path = parent.join(format!("hostler-{:016x}", RandomState::new().build_hasher().finish()));
        match mkdirat(CWD, &path, Mode::RWXU) {
            // The parent may be one in which others can rename.
            Ok(()) if is_private(&path) => return Ok(path),
            Ok(()) => return Err(Errno::ACCESS.into()),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn an_existing_directory_of_another_owner_keeps_it() {
        let parent = tempfile::tempdir().unwrap();
        let open = std::fs::File::open(parent.path()).unwrap();
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        for _ in 0..2 {
            make_for(open.as_fd(), OsStr::new("site-1"), uid, gid).unwrap();
        }
        let made = std::fs::metadata(parent.path().join("site-1")).unwrap();
        assert_eq!((made.uid(), made.mode() & 0o7777), (uid, 0o700));
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn only_a_directory_of_its_own_will_do() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("own");
        make_own(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(!is_private(&path));
        make_own(&path).unwrap();
        assert!(is_private(&path), "others were shut out");
        let link = parent.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(make_own(&link).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_ne!(make_unique(parent.path()).unwrap(), make_unique(parent.path()).unwrap());
    }
}
