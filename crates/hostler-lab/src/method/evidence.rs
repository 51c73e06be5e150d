//! The folders that contestants run in, and what of them stays with the run: their configurations, and the ends of
//! their logs.

use anyhow::{Context, Result};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Bytes of a log's end that are kept.
const LOG: usize = 16 << 10;

/// Makes a contestant's folder, and its case's around it.
pub(super) fn make_folder(folder: &Path) -> Result<()> {
    // For the servers' users: all folders from the temporary one on.
    for made in [folder.parent().unwrap_or(folder), folder] {
        fs::create_dir_all(made).with_context(|| format!("cannot make {}", made.display()))?;
        fs::set_permissions(made, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Copies the files of a contestant's folder: configurations whole, of all others the end.
pub(super) fn keep(from: &Path, to: &Path) -> Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let bytes = fs::read(entry.path())?;
        let whole = entry.path().extension().is_some_and(|end| end == "conf");
        let kept = if whole { &bytes[..] } else { &bytes[bytes.len().saturating_sub(LOG)..] };
        if !kept.is_empty() {
            fs::create_dir_all(to)?;
            fs::write(to.join(entry.file_name()), kept)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_stay_whole_and_logs_by_their_end() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let long = vec![b'x'; LOG + 10];
        for name in ["server.conf", "error.log"] {
            fs::write(from.path().join(name), &long).unwrap();
        }
        fs::write(from.path().join("empty"), "").unwrap();
        fs::create_dir(from.path().join("folder")).unwrap();
        keep(from.path(), &to.path().join("kept")).unwrap();
        let length = |name: &str| fs::metadata(to.path().join("kept").join(name)).map(|file| file.len()).ok();
        assert_eq!(length("server.conf"), Some(long.len() as u64));
        assert_eq!(length("error.log"), Some(LOG as u64));
        assert_eq!((length("empty"), length("folder")), (None, None));
        // Who never started has no folder.
        keep(&from.path().join("none"), to.path()).unwrap();
    }
}
