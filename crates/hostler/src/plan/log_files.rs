//! Opening log files: by root where root alone decides what a path means, otherwise by a child that is the virtual
//! host's user, and under a single user by the process itself.

use hostler_sys::trusted::{NewLog, Trust, Untrusted, append_file, append_path, name_of, open_directory};
use hostler_sys::users::{group_by_id, group_by_name};
use hostler_wire::logs::{KnownLog, LogFile};
use hostler_wire::plan::Identity;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::open_as::Openers;

/// Why a log was not opened.
pub(super) enum RefusalReason {
    /// The configuration or the administrator must put it right.
    Error(String),
    /// A tenant can bring this about at any time, so it must not keep others from being served.
    TenantsFault(String),
}

impl From<String> for RefusalReason {
    fn from(why: String) -> Self {
        Self::Error(why)
    }
}

/// Opens log files.
pub(super) struct Files {
    sites: Vec<Identity>,
    front: Option<Identity>,
    pub(super) root: bool,
    pub(super) openers: Openers,
}

impl Files {
    /// For a server with these identities; `root`: this process may change to them.
    pub(super) fn new(sites: Vec<Identity>, front: Option<Identity>, root: bool) -> Self {
        Self { sites, front, root, openers: Openers::default() }
    }

    /// Mode and group of a new file: those of the file that it replaces, otherwise readable by `adm`, where that group
    /// exists.
    pub(super) fn new_log(&self, replaced: Option<&KnownLog>) -> NewLog {
        match replaced {
            Some(known) => NewLog { mode: known.mode, group: Some(known.group) },
            None if self.root => NewLog::first(group_by_name("adm").ok().flatten().map(|group| group.gid)),
            None => NewLog::first(None),
        }
    }

    /// Opens a log for appending; a missing file is created as `new` says.
    pub(super) fn open(
        &mut self,
        path: &Path,
        identity: Option<&Identity>,
        new: Option<NewLog>,
    ) -> Result<(OwnedFd, LogFile), RefusalReason> {
        let (fd, opened_by) = if self.root {
            self.open_as_root(path, identity, new)?
        } else {
            (open_as_self(path, new)?, None)
        };
        let name = name_of(fd.as_fd()).unwrap_or_default();
        let path = path.to_string_lossy().into_owned();
        Ok((fd, LogFile { path, name, opened_by }))
    }

    fn open_as_root(
        &mut self,
        path: &Path,
        identity: Option<&Identity>,
        new: Option<NewLog>,
    ) -> Result<(OwnedFd, Option<Identity>), RefusalReason> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(RefusalReason::Error(format!("{} is not the path of a file", path.display())));
        };
        let harmless = |gid| self.is_harmless(gid);
        match open_directory(parent, Trust::Root(&harmless)) {
            Ok(directory) => match append_file(directory.as_fd(), name, new) {
                Ok(fd) => Ok((fd, None)),
                Err(e) => Err(cannot_append(path, &e).into()),
            },
            Err(Untrusted::Io { path, error }) if error.kind() == ErrorKind::NotFound => {
                Err(missing(&path).into())
            }
            Err(untrusted @ Untrusted::Io { .. }) => {
                Err(format!("can't reach the directory of the log: {untrusted}").into())
            }
            Err(untrusted) => {
                let identity =
                    identity.ok_or_else(|| format!("root won't write a log there: {untrusted}"))?;
                let opened = self.open_as(path, identity, new).map_err(|why| {
                    let why = format!("{why} (root won't write there itself: {untrusted})");
                    if self.is_tenants(&untrusted) {
                        RefusalReason::TenantsFault(why)
                    } else {
                        RefusalReason::Error(why)
                    }
                });
                opened.map(|fd| (fd, Some(identity.clone())))
            }
        }
    }

    /// Returns whether a tenant decides what happens at this place.
    pub(super) fn is_tenants(&self, place: &Untrusted) -> bool {
        let owner = match place {
            Untrusted::Writable { mode, .. } if mode & 0o002 != 0 => return true,
            Untrusted::Writable { owner, .. } | Untrusted::Link { owner, .. } => *owner,
            Untrusted::Io { .. } => return false,
        };
        self.sites.iter().any(|identity| identity.uid == owner)
    }

    /// Members of this group can do with the directory what they like: fine for groups of the system without
    /// members (`adm`, `syslog`), not for a group that people or sites are in.
    pub(super) fn is_harmless(&self, gid: u32) -> bool {
        let of_a_site = |identity: &Identity| identity.gid == gid || identity.groups.contains(&gid);
        let taken = self.sites.iter().chain(&self.front).any(of_a_site);
        gid < 1000 && !taken && group_by_id(gid).is_ok_and(|group| group.is_none_or(|g| g.members.is_empty()))
    }

    fn open_as(&mut self, path: &Path, identity: &Identity, new: Option<NewLog>) -> Result<OwnedFd, String> {
        self.openers.of(identity)?.append(path, new).map_err(|e| refused_to(identity, path, &e))
    }
}

/// Why a site's user could not open its log.
pub(super) fn refused_to(identity: &Identity, path: &Path, error: &std::io::Error) -> String {
    if error.kind() == ErrorKind::NotFound {
        return missing(path.parent().unwrap_or(path));
    }
    format!("uid {} {}", identity.uid, cannot_append(path, error))
}

pub(super) fn cannot_append(path: &Path, error: &std::io::Error) -> String {
    format!("can't open {} for appending: {error}", path.display())
}

pub(super) fn missing(directory: &Path) -> String {
    format!("the directory {} does not exist; create it", directory.display())
}

fn open_as_self(path: &Path, new: Option<NewLog>) -> Result<OwnedFd, String> {
    append_path(path, new).map_err(|e| match path.parent() {
        Some(parent) if e.kind() == ErrorKind::NotFound && !parent.exists() => missing(&ancestor(parent)),
        _ => cannot_append(path, &e),
    })
}

/// The first directory on the way that is missing.
pub(super) fn ancestor(path: &Path) -> PathBuf {
    let missing = path.ancestors().take_while(|at| !at.exists()).last();
    missing.unwrap_or(path).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_is_named() {
        let new = Some(NewLog::first(None));
        let why =
            open_as_self(Path::new("/tmp/no-such-directory-of-hostler/logs/error.log"), new).unwrap_err();
        assert!(why.contains("/tmp/no-such-directory-of-hostler does not exist"), "{why}");
        let mut files = Files::new(Vec::new(), None, true);
        match files.open(Path::new("/no/such/log"), None, new) {
            Err(RefusalReason::Error(why)) => {
                assert!(why.contains("the directory /no does not exist"), "{why}");
            }
            _ => panic!("not refused"),
        }
    }
}
