//! The folder for uploads and other temporary files: one in the site's state directory, which is its user's alone, and not
//! the machine's common one. What php.ini says (`upload_tmp_dir`, `sys_temp_dir`) goes before it.

use hostler_wire::site::STATE;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The variable with the folder of temporary files.
const VARIABLE: &str = "TMPDIR";
/// The folder's name.
const NAME: &str = "php";

/// Chooses it for this process and its children, unless somebody has. To be called before there are threads.
pub(crate) fn choose() {
    let state = std::env::var_os(STATE);
    // SAFETY: the process has one thread.
    unsafe { std::env::remove_var(STATE) };
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    match state.ok_or_else(|| "the site has no state directory".to_owned()).and_then(|s| make(Path::new(&s)))
    {
        // SAFETY: the process has one thread.
        Ok(folder) => unsafe { std::env::set_var(VARIABLE, folder) },
        Err(why) => {
            let line = format!("uploads go to the machine's common folder for temporary files: {why}");
            hostler_engine::process::complain(line.as_bytes());
        }
    }
}

/// The folder, which is made if there is none; no one else comes to where it is.
fn make(state: &Path) -> Result<PathBuf, String> {
    let folder = state.join(NAME);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn parents_of_a_user_share_a_folder() {
        let state = tempfile::tempdir().unwrap();
        let folder = make(state.path()).unwrap();
        assert_eq!(std::fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(make(state.path()), Ok(folder));
        assert!(make(&state.path().join("missing")).is_err());
    }
}
