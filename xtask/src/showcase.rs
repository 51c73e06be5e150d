//! `cargo xtask run`: builds Hostler and serves `examples/showcase`.
//!
//! As root the sites run as users of their own, who must be able to reach their files: a checkout below a
//! closed folder (such as root's home) is therefore laid out in /var/tmp instead of target/.

use crate::cargo;
use anyhow::{Context, Result, bail};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The address that the configuration names without help.
const USUAL: &str = "127.0.0.1:8080";

/// Serves in the foreground until interrupted; returns only on failure.
pub(crate) fn run(listen: SocketAddr) -> Result<()> {
    cargo::run(&["build"])?;
    let root = rustix::process::geteuid().is_root();
    let folder = folder(root)?;
    cargo::finish(Command::new("examples/showcase/prepare.sh").arg(&folder))?;

    let mut hostler = Command::new(cargo::programs("debug").join("hostler"));
    hostler.arg("run").arg("-f").arg(folder.join("httpd.conf")).env("SHOWCASE", &folder);
    if listen.to_string() != USUAL {
        hostler.args(["-D", "OtherAddress"]).env("SHOWCASE_LISTEN", listen.to_string());
    }
    if root {
        eprintln!(
            "As root: the start page runs as uid 64101, its neighbour as 64102, the site of mod_perl 1 as 64103."
        );
    } else {
        eprintln!("Not root: all sites run as you (--single-user). With sudo each would have its own user.");
        hostler.arg("--single-user");
    }
    eprintln!("$ SHOWCASE={} {}", folder.display(), cargo::shown(&hostler));
    eprintln!("\n  http://{listen}/\n");
    Err(hostler.exec()).context("cannot run hostler")
}

/// Where the showcase is laid out.
fn folder(root: bool) -> Result<PathBuf> {
    let target = cargo::workspace().join("target");
    fs::create_dir_all(target.join("showcase"))?;
    if !root || open_to_all(&target)? {
        return Ok(target.join("showcase"));
    }
    let far = PathBuf::from("/var/tmp/hostler-showcase");
    eprintln!("Other users cannot pass through {}; using {}.", cargo::workspace().display(), far.display());
    if !far.exists() {
        fs::create_dir(&far)?;
    }
    // Everybody can make folders and links in /var/tmp: only root's own folder will do.
    let found = fs::symlink_metadata(&far)?;
    if !found.is_dir() || found.uid() != 0 || found.mode() & 0o022 != 0 {
        bail!("{} exists and is not root's own folder: remove it and try again", far.display());
    }
    Ok(far)
}

/// Whether every user can pass through a folder and all folders above it.
fn open_to_all(folder: &Path) -> Result<bool> {
    for ancestor in folder.ancestors() {
        if fs::metadata(ancestor)?.permissions().mode() & 0o001 == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_folder_above_is_seen() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(open_to_all(&inner).unwrap());
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!open_to_all(&inner).unwrap());
    }
}
