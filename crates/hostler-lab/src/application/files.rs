//! Files that the binary carries, and how they come into a folder that every user may read.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Files of an application: their path below its folder, and their text.
pub(super) type Files = &'static [(&'static str, &'static str)];

/// The table of an application's files, from `lab/applications`.
macro_rules! files {
    ($application:literal: $($path:literal),+ $(,)?) => {
        &[$((
            $path,
            include_str!(concat!("../../../../lab/applications/", $application, "/", $path)),
        )),+]
    };
}
pub(super) use files;

/// Writes all of them.
pub(super) fn write_all(root: &Path, files: Files) -> Result<()> {
    files.iter().try_for_each(|(path, text)| write(root, path, text.as_bytes()))
}

/// Writes one, with its folders. What begins as a script does may be executed.
pub(super) fn write(root: &Path, path: &str, content: &[u8]) -> Result<()> {
    let file = root.join(path);
    if let Some(parent) = Path::new(path).parent() {
        make_folder(root, parent)?;
    }
    let mode = if content.starts_with(b"#!") { 0o755 } else { 0o644 };
    fs::write(&file, content).with_context(|| format!("cannot write {}", file.display()))?;
    // Not left to the umask: the servers are other users.
    fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// Lets every user read a folder.
pub(super) fn make_readable(folder: &Path) -> Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot open {} for the servers", folder.display()))
}

/// Makes a folder below `root`, and those above it.
pub(super) fn make_folder(root: &Path, path: &Path) -> Result<()> {
    let mut folder = root.to_owned();
    for part in path {
        folder.push(part);
        if !folder.is_dir() {
            fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}
