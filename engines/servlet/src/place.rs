//! The site's own folder for what Tomcat writes: unpacked archives, compiled pages, sessions. It stays when the virtual
//! machine ends, and one after it finds it; two at the same time, as in a reload, have one each.

use rustix::io::FdFlags;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The variable that names the site's state directory, which the master has made and no other user may enter
/// (`hostler-wire`, `site`): there it is made, unless the configuration says otherwise.
pub(crate) const STATE: &str = "HOSTLER_STATE";
/// Its name there.
const NAME: &str = "servlet";
/// As many virtual machines of a site may run at the same time: one serves, others are ending.
const FOLDERS: u32 = 8;
/// The time to wait for the first folder, whose virtual machine is saving its sessions.
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
        let state = std::env::var_os(STATE).map(PathBuf::from);
        // Applications see this process's environment.
        // SAFETY: the process has one thread.
        unsafe { std::env::remove_var(STATE) };
        let own = own(root.map(Path::new), state.as_deref())?;
        Self::enter_below(&own, key, program, PATIENCE)
    }

    fn enter_below(own: &Path, key: &str, program: &[u8], patience: Duration) -> Result<Self, String> {
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

/// The user's folder: below the configured directory, or in the state directory. Where the configured one is common to all
/// users, another user may have made it first, which must not keep the site from being served.
fn own(root: Option<&Path>, state: Option<&Path>) -> Result<PathBuf, String> {
    let uid = rustix::process::geteuid().as_raw();
    let configured = root.map(|root| {
        let own = root.join(format!("hostler-servlet-{uid}"));
        own_folder(&own).map(|()| own)
    });
    let state = state.map(|state| state.join(NAME));
    match (configured, state) {
        (Some(Ok(own)), _) => Ok(own),
        (Some(Err(why)), None) => Err(why),
        (None, None) => Err("the site has no state directory: the server's error output says why".to_owned()),
        (refused, Some(own)) => {
            if let Some(Err(why)) = refused {
                eprintln!("{} is used instead: {why}", own.display());
            }
            own_folder(&own).map(|()| own)
        }
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
        let named = root.path().join(format!("hostler-servlet-{uid}"));
        let state = tempfile::tempdir().unwrap();
        let refused = || {
            let used = own(Some(root.path()), Some(state.path())).unwrap();
            assert_eq!(used, state.path().join(NAME), "the site is served all the same");
            own(Some(root.path()), None).unwrap_err()
        };
        symlink(other.path(), &named).unwrap();
        assert!(refused().contains("remove it"));
        std::fs::remove_file(&named).unwrap();
        std::fs::create_dir(&named).unwrap();
        std::fs::set_permissions(&named, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(refused().contains("remove it"));
        std::fs::remove_dir(&named).unwrap();
        assert_eq!(own(Some(root.path()), Some(state.path())), Ok(named));
        assert!(own(None, None).is_err());
    }
}
