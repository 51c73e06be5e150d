//! The workspace's Rust files, and which of their lines are tests.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// One Rust file of the workspace.
pub(crate) struct Source {
    /// Relative to the workspace.
    pub(crate) path: PathBuf,
    /// The whole text.
    pub(crate) text: String,
}

impl Source {
    /// The lines before the file's test module, which by custom is its last item.
    pub(crate) fn code_lines(&self) -> usize {
        let start_of_tests = self.text.lines().position(|line| line.starts_with("#[cfg(test)]"));
        start_of_tests.unwrap_or_else(|| self.text.lines().count())
    }

    /// The code without tests and without comment lines, with the number of each line.
    pub(crate) fn bare_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.text.lines().take(self.code_lines()).enumerate();
        numbered
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// Every `.rs` file below `folder` (relative to the workspace), sorted by path.
pub(crate) fn below(folder: &Path) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                if path.file_name().is_none_or(|name| name != "target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                found.push(Source { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
