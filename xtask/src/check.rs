//! `cargo xtask check`: what needs no running server. Formatting, lints, layers, sizes.

use crate::{cargo, layers, sizes};
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    cargo::run(&["fmt", "--all", "--check"])?;
    layers::run()?;
    sizes::run(false)?;
    cargo::run(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
}
