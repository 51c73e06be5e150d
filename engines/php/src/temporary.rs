//! The folder for uploads and other temporary files: one that is this user's alone, and not the machine's common one. What
//! php.ini says (`upload_tmp_dir`, `sys_temp_dir`) goes before it.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What tells programs where temporary files go.
const VARIABLE: &str = "TMPDIR";

/// Chooses it for this process and its children, unless somebody has. To be called before there are threads.
pub(crate) fn choose() {
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    // SAFETY: takes nothing, and cannot fail.
    let uid = unsafe { libc::geteuid() };
    match of_user(&std::env::temp_dir(), uid) {
        // SAFETY: the process has one thread.
        Ok(folder) => unsafe { std::env::set_var(VARIABLE, folder) },
        Err(why) => {
            let line = format!("uploads go to the machine's common folder for temporary files: {why}");
            hostler_engine::process::complain(line.as_bytes());
        }
    }
}

/// The user's folder, which is made if there is none.
fn of_user(common: &Path, uid: u32) -> Result<PathBuf, String> {
    let folder = common.join(format!("hostler-php-{uid}"));
    let shown = folder.display();
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(format!("{shown}: {error}")),
        _ => {}
    }
    // Anybody may have made something of that name there.
    let facts = std::fs::symlink_metadata(&folder).map_err(|error| format!("{shown}: {error}"))?;
    if facts.is_dir() && facts.uid() == uid && facts.mode() & 0o077 == 0 {
        Ok(folder)
    } else {
        Err(format!("{shown} is not a folder of this user's alone"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_a_folder_of_the_user_s_own_is_taken() {
        let common = tempfile::tempdir().unwrap();
        let uid = std::fs::metadata(common.path()).unwrap().uid();
        let folder = of_user(common.path(), uid).unwrap();
        assert_eq!(std::fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        // Another parent of the same user.
        assert_eq!(of_user(common.path(), uid), Ok(folder.clone()));
        // Somebody else's, open to others, or a link.
        assert!(of_user(common.path(), uid + 1).is_err());
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(of_user(common.path(), uid).is_err());
        std::fs::remove_dir(&folder).unwrap();
        symlink(common.path(), &folder).unwrap();
        assert!(of_user(common.path(), uid).is_err());
    }
}
