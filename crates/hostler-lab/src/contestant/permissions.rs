//! Files of a site for the users that servers and programs run as, when the lab is root.

use super::Site;
use super::users::site_user;
use anyhow::{Context, Result, bail};
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// Lets all users read the site, and its own user write what it has to. Without root there is nothing to do.
///
/// # Errors
/// The file system's; a folder above the site that other users cannot pass.
pub(super) fn open(site: &Site) -> Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let root = site.root.canonicalize().with_context(|| format!("{} does not exist", site.root.display()))?;
    passable(root.parent().unwrap_or(&root))?;
    readable(&root)?;
    for path in &site.writable {
        let path = if path.is_absolute() { path.clone() } else { root.join(path) };
        give(&path).with_context(|| format!("cannot give {} to the site's user", path.display()))?;
    }
    Ok(())
}

/// Others may pass a folder and all above it.
pub(super) fn passable(folder: &Path) -> Result<()> {
    for folder in folder.ancestors() {
        let mode = fs::metadata(folder).map_or(0, |found| found.permissions().mode());
        if mode & 0o001 == 0 {
            bail!(
                "the users that servers run as cannot enter {} (mode {:o}); set TMPDIR to a folder that they can enter",
                folder.display(),
                mode & 0o7777
            );
        }
    }
    Ok(())
}

/// Everybody may read it and what is in it, and run what its owner may. Links are left alone.
fn readable(path: &Path) -> Result<()> {
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        return Ok(());
    }
    let mode = found.permissions().mode();
    let wanted = if mode & 0o100 == 0 { mode | 0o444 } else { mode | 0o555 };
    if wanted != mode {
        fs::set_permissions(path, fs::Permissions::from_mode(wanted & 0o7777))
            .with_context(|| format!("cannot open {} for all users", path.display()))?;
    }
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            readable(&entry?.path())?;
        }
    }
    Ok(())
}

fn give(path: &Path) -> Result<()> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Ok(());
    }
    let user = site_user();
    chown(path, Some(user), Some(user))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path())?;
        }
    }
    Ok(())
}
