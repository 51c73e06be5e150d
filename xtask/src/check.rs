//! `cargo xtask check`: what needs no running server. Formatting, lints, layers, sizes, in all languages.

use crate::{cargo, languages, layers, sizes, time};
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    cargo::run(&["fmt", "--all", "--check"])?;
    layers::run()?;
    sizes::run(false)?;
    time::run()?;
    languages::run()?;
    cargo::run(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
}
