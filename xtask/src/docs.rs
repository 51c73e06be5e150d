//! `cargo xtask docs`: the directive reference (docs/directives), man pages and shell completions (packaging/).
//!
//! All three are printed by the programs themselves, from the tables that they also run on.

use crate::cargo;
use anyhow::Result;
use std::process::Command;

pub(crate) fn run() -> Result<()> {
    cargo::run(&["build", "--package", "hostler"])?;
    // Hidden from `hostler help`: only this task and packagers call it.
    for (what, folder) in [
        ("directives", "docs/directives"),
        ("man", "packaging/man"),
        ("completions", "packaging/completions"),
    ] {
        std::fs::create_dir_all(folder)?;
        cargo::finish(
            Command::new(cargo::programs("debug").join("hostler")).args(["generate", what, folder]),
        )?;
    }
    Ok(())
}
