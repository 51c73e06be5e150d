//! What is served: the same files for every contestant, in a temporary folder that every user can read.

use anyhow::Result;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The files; deleted when dropped.
pub(crate) struct Site {
    folder: TempDir,
}

impl Site {
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hostler-bench-").tempdir()?;
        let site = Self { folder };
        fs::set_permissions(site.root(), fs::Permissions::from_mode(0o755))?;
        for name in ["htdocs", "run"] {
            fs::create_dir(site.path(name))?;
            fs::set_permissions(site.path(name), fs::Permissions::from_mode(0o755))?;
        }
        let line = "Sixty-four bytes of text in each line make four kilobytes of it\n";
        fs::write(site.path("htdocs/small.html"), line.repeat(4096 / line.len()))?;
        Ok(site)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_file_has_four_kilobytes() {
        let site = Site::new().unwrap();
        assert_eq!(fs::metadata(site.path("htdocs/small.html")).unwrap().len(), 4096);
    }
}
