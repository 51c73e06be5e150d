//! `cargo xtask check`: the checks that need no running server: formatting, lints, layers, documents, sizes, in all languages.

use crate::{cargo, comments, documents, languages, layers, sizes, time};
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    cargo::run(&["fmt", "--all", "--check"])?;
    layers::run()?;
    documents::run()?;
    sizes::run(false)?;
    time::run()?;
    comments::run()?;
    languages::run()?;
    cargo::run(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
}
