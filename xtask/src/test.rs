//! `cargo xtask test`: everything that has to be green before a change lands.
//!
//! All cargo calls select the whole workspace with all targets: one selection of features, so nothing is
//! compiled twice. The black-box tests find the programs of that build beside themselves.

use crate::{cargo, check, docs};
use anyhow::Result;
use std::time::Instant;

/// Everything, cheapest first.
pub(crate) fn run() -> Result<()> {
    let start = Instant::now();
    stage("check", check::run)?;
    stage("build", || cargo::run(&["build", "--workspace", "--all-targets"]))?;
    stage("directive reference", docs::check)?;
    stage("unit tests", || {
        cargo::run(&["test", "--workspace", "--lib", "--bins", "--no-fail-fast", "--quiet"])
    })?;
    stage("scenarios: black box, conformance, fuzz smoke, examples", || {
        cargo::run(&["test", "--workspace", "--test", "*", "--no-fail-fast"])
    })?;
    stage("examples in the documentation", || cargo::run(&["test", "--workspace", "--doc", "--quiet"]))?;
    eprintln!("All green in {} s.", start.elapsed().as_secs());
    Ok(())
}

/// The conformance table alone.
pub(crate) fn conformance() -> Result<()> {
    cargo::run(&["build", "--bins"])?;
    cargo::run(&["test", "--package", "hostler-conformance", "--", "--nocapture"])
}

/// The fuzz targets alone, each for its short run.
pub(crate) fn fuzz_smoke() -> Result<()> {
    cargo::run(&["test", "--package", "hostler-fuzz", "--", "--nocapture"])
}

fn stage(name: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("\n== {name}");
    let start = Instant::now();
    run()?;
    eprintln!("== {name}: {} s", start.elapsed().as_secs());
    Ok(())
}
