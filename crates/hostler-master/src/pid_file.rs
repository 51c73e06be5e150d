//! `PidFile`: written with each generation that serves, and written anew when one could not be (the new file tells
//! `hostler reload` that there is an outcome), removed when the server stops.
//!
//! Under root only in a directory that root alone can change: who controls a PidFile chooses whom root signals.

use hostler_sys::trusted::{Trust, open_directory, remove_file, replace_file};
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A written PidFile.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

impl PidFile {
    /// Writes our process id to `path` (absolute).
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub(crate) fn write(path: &Path, root: bool) -> Result<Self, String> {
        let failed = |why: &dyn std::fmt::Display| format!("can't write PidFile {}: {why}", path.display());
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(&"it is not the path of a file"));
        };
        let trust = if root { Trust::Root(&|_| false) } else { Trust::Anyone };
        let directory = open_directory(parent, trust).map_err(|e| failed(&e))?;
        let line = format!("{}\n", std::process::id());
        replace_file(directory.as_fd(), name, line.as_bytes()).map_err(|e| failed(&e))?;
        Ok(Self { path: path.to_path_buf(), directory, name: name.to_os_string() })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it.
    pub(crate) fn remove(self) {
        let _ = remove_file(self.directory.as_fd(), &self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_the_process_id_and_goes_when_removed() {
        let path = std::env::temp_dir().join(format!("hostler-pid-test-{}", std::process::id()));
        let file = PidFile::write(&path, false).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
        file.remove();
        assert!(!path.exists());
    }

    #[test]
    fn root_keeps_out_of_a_directory_that_all_can_write() {
        let path = std::env::temp_dir().join("hostler-pid-test-root");
        assert!(PidFile::write(&path, true).unwrap_err().contains("write"));
        assert!(!path.exists());
    }
}
