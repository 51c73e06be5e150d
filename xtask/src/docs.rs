//! `cargo xtask docs`: the directive reference, man pages and shell completions.
//!
//! All three are printed by `hostler` itself (`hostler docs`, hidden from its help), from the tables that it also
//! works with. Only the reference is kept in the repository; the others are made again when Hostler is installed.

use crate::cargo;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The committed reference, which the README links to.
const REFERENCE: &str = "docs/directives/README.md";

/// Writes everything anew.
pub(crate) fn run() -> Result<()> {
    // The same selection as in the tests, so that nothing is compiled twice.
    cargo::run(&["build", "--workspace", "--all-targets"])?;
    let folder = print()?;
    let reference = Path::new(REFERENCE);
    if let Some(parent) = reference.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::copy(folder.join("directives.md"), reference)?;
    eprintln!("{REFERENCE} is written; man pages and completions are in {}", folder.display());
    Ok(())
}

/// Returns whether the committed reference is what the program, which has been built, prints now.
pub(crate) fn check() -> Result<()> {
    let printed = std::fs::read_to_string(print()?.join("directives.md"))?;
    let kept = std::fs::read_to_string(REFERENCE).with_context(|| format!("cannot read {REFERENCE}"))?;
    if kept != printed {
        bail!("{REFERENCE} is not what the table of directives says: run `cargo xtask docs` and commit it");
    }
    Ok(())
}

/// Has `hostler` print all of it below target/, and returns that folder.
fn print() -> Result<PathBuf> {
    let programs = cargo::programs("debug");
    let folder = programs.join("docs");
    std::fs::create_dir_all(&folder)?;
    cargo::finish(Command::new(programs.join("hostler")).arg("docs").arg(&folder))?;
    Ok(folder)
}
