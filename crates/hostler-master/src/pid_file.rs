//! `PidFile`: written with each generation that serves, and written anew when one could not be (the new file tells
//! `hostler reload` that there is an outcome), removed when the server stops. One that another server of ours stands
//! in is that server's: it is neither replaced nor removed. What one that has ended left behind is replaced.
//!
//! Under root only in a directory that root alone can change: who controls a PidFile chooses whom root signals.

use hostler_sys::fs::read_head;
use hostler_sys::process::effective_ids;
use hostler_sys::stat::Stat;
use hostler_sys::trusted::{Trust, open_file, open_or_create_directory, remove_file, replace_file};
use hostler_wire::plan::OUTCOME;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Every process id and a line's end fit.
const LONGEST: usize = 32;

/// A written PidFile.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

impl PidFile {
    /// Writes our process id to `path` (absolute), and before that the outcome of the start or reload beside it, for
    /// `hostler reload`. Missing directories below /run are created.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub(crate) fn write(path: &Path, root: bool, outcome: &str) -> Result<Self, String> {
        let failed = |why: &dyn std::fmt::Display| format!("can't write PidFile {}: {why}", path.display());
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(&"it is not the path of a file"));
        };
        must_be_free(path, root)?;
        let directory = open_or_create_directory(parent, trust(root)).map_err(|e| failed(&e))?;
        let line = format!("{}\n", std::process::id());
        // It may quote the configuration, which is not for everyone.
        replace_file(directory.as_fd(), &outcome_name(name), outcome.as_bytes(), 0o600)
            .map_err(|e| failed(&e))?;
        replace_file(directory.as_fd(), name, line.as_bytes(), 0o644).map_err(|e| failed(&e))?;
        Ok(Self { path: path.to_path_buf(), directory, name: name.to_os_string() })
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, unless it is somebody else's by now.
    pub(crate) fn remove(self) {
        if named(&self.path, Trust::Anyone) == Some(std::process::id()) {
            let _ = remove_file(self.directory.as_fd(), &self.name);
            let _ = remove_file(self.directory.as_fd(), &outcome_name(&self.name));
        }
    }
}

fn outcome_name(name: &OsStr) -> OsString {
    let mut outcome = name.to_os_string();
    outcome.push(OUTCOME);
    outcome
}

fn trust(root: bool) -> Trust<'static> {
    if root { Trust::Root(&|_| false) } else { Trust::Anyone }
}

/// Returns whether no other server has written this PidFile and still runs.
///
/// # Errors
/// It has, as a sentence.
pub(crate) fn must_be_free(path: &Path, root: bool) -> Result<(), String> {
    match named(path, trust(root)).filter(|pid| *pid != std::process::id() && is_server(*pid)) {
        None => Ok(()),
        Some(pid) => Err(format!(
            "already running (pid {pid}): that server has written PidFile {}; stop it, or give this one a PidFile of \
             its own",
            path.display()
        )),
    }
}

/// The process id in a PidFile.
fn named(path: &Path, trust: Trust<'_>) -> Option<u32> {
    let file = open_file(path, trust).ok()?;
    let text = read_head::<LONGEST>(file.as_fd()).ok()?;
    std::str::from_utf8(&text).ok()?.trim().parse().ok()
}

/// Returns whether a process is a master that root runs, or who runs us. Numbers are given again, and a tenant's
/// program may call itself what it likes.
fn is_server(pid: u32) -> bool {
    let is_master = Stat::of(pid).is_some_and(|stat| stat.name == b"hostler-master" && !stat.is_dead());
    is_master && Stat::user_of(pid).is_some_and(|user| user == 0 || user == effective_ids().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_the_process_id_and_goes_when_removed() {
        let path = std::env::temp_dir().join(format!("hostler-pid-test-{}", std::process::id()));
        let file = PidFile::write(&path, false, "").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
        file.remove();
        assert!(!path.exists());
    }

    #[test]
    fn what_a_server_left_behind_is_taken_over() {
        let path = std::env::temp_dir().join(format!("hostler-pid-test-stale-{}", std::process::id()));
        // The first is a process, but no server.
        for text in ["1\n", "4194305\n", "", "text\n", "-1\n", "99999999999999999999\n"] {
            std::fs::write(&path, text).unwrap();
            let file = PidFile::write(&path, false, "").unwrap();
            assert_eq!(
                std::fs::read_to_string(&path).unwrap(),
                format!("{}\n", std::process::id()),
                "{text}"
            );
            file.remove();
        }
    }

    #[test]
    fn one_that_is_another_s_by_now_is_not_removed() {
        let path = std::env::temp_dir().join(format!("hostler-pid-test-other-{}", std::process::id()));
        let file = PidFile::write(&path, false, "").unwrap();
        std::fs::write(&path, "1\n").unwrap();
        file.remove();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn root_keeps_out_of_a_directory_that_all_can_write() {
        let path = std::env::temp_dir().join("hostler-pid-test-root");
        assert!(PidFile::write(&path, true, "").unwrap_err().contains("write"));
        assert!(!path.exists());
    }
}
