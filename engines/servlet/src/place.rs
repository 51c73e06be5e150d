//! The site's own folder for what Tomcat writes: unpacked archives, compiled pages, sessions. It stays when the virtual
//! machine ends, and one after it finds it; two at the same time, as in a reload, have one each.

use rustix::io::FdFlags;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where it is made, unless the configuration says otherwise: where each user may make some, none another's, and where it outlives the machine's start.
const ROOT: &str = "/var/tmp";
/// As many virtual machines of a site may run at the same time: one serves, others are ending.
const FOLDERS: u32 = 8;
/// How long the first folder is waited for: its virtual machine is keeping its sessions.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// The folder, as long as the value and what inherits its descriptor are there.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    /// The jar of the Java program.
    pub(crate) program: PathBuf,
    lock: File,
}

impl Place {
    /// # Errors
    /// Why there is none.
    pub(crate) fn enter(root: Option<&str>, key: &str, program: &[u8]) -> Result<Self, String> {
        Self::enter_below(Path::new(root.unwrap_or(ROOT)), key, program, PATIENCE)
    }

    fn enter_below(root: &Path, key: &str, program: &[u8], patience: Duration) -> Result<Self, String> {
        let uid = rustix::process::geteuid().as_raw();
        let own = root.join(format!("hostler-servlet-{uid}"));
        own_folder(&own)?;
        let site = own.join(key);
        own_folder(&site)?;
        let begun = Instant::now();
        for number in (0..FOLDERS).cycle() {
            let folder = site.join(number.to_string());
            own_folder(&folder)?;
            let failed = |error: io::Error| format!("{}: {error}", folder.display());
            let lock = File::create(folder.join("lock")).map_err(failed)?;
            match lock.try_lock() {
                Ok(()) => {
                    return Self { program: folder.join("hostler-servlet.jar"), folder, lock }.fill(program);
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            while number == 0 && begun.elapsed() < patience {
                std::thread::sleep(PAUSE);
                if lock.try_lock().is_ok() {
                    return Self { program: folder.join("hostler-servlet.jar"), folder, lock }.fill(program);
                }
            }
            if begun.elapsed() > 4 * patience {
                break;
            }
        }
        Err(format!(
            "{FOLDERS} virtual machines of the site run already: those of older configurations do not end"
        ))
    }

    fn fill(self, program: &[u8]) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{}: {error}", self.folder.display());
        own_folder(&self.folder.join("tmp"))?;
        std::fs::write(&self.program, program).map_err(failed)?;
        // The lock is the virtual machine's, which this process becomes.
        rustix::io::fcntl_setfd(&self.lock, FdFlags::empty()).map_err(|error| failed(error.into()))?;
        Ok(self)
    }
}

/// A folder that nobody else may look into, and that nobody else has made.
fn own_folder(path: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let found = path.symlink_metadata().map_err(failed)?;
    let uid = rustix::process::geteuid().as_raw();
    if !found.is_dir() || found.uid() != uid || found.mode() & 0o077 != 0 {
        return Err(format!("{} is not a folder of uid {uid} alone: remove it", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_is_one_virtual_machine_s_at_a_time_and_the_next_one_finds_it() {
        let root = tempfile::tempdir().unwrap();
        let enter = || Place::enter_below(root.path(), "site", b"jar", Duration::from_millis(20)).unwrap();
        let (first, second) = (enter(), enter());
        assert_ne!(first.folder, second.folder);
        assert_eq!(std::fs::read(&first.program).unwrap(), b"jar");
        let folder = first.folder.clone();
        drop(first);
        assert_eq!(enter().folder, folder);
    }

    #[test]
    fn what_somebody_else_has_prepared_is_not_used() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let uid = rustix::process::geteuid().as_raw();
        let own = root.path().join(format!("hostler-servlet-{uid}"));
        let enter = || Place::enter_below(root.path(), "site", b"jar", Duration::ZERO).unwrap_err();
        symlink(other.path(), &own).unwrap();
        assert!(enter().contains("remove it"));
        std::fs::remove_file(&own).unwrap();
        std::fs::create_dir(&own).unwrap();
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(enter().contains("remove it"));
    }
}
