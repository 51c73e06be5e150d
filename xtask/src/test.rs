//! `cargo xtask test`: everything that has to be green before a change lands, and at its end what could not be tested
//! on this machine, and why.
//!
//! All cargo calls select the whole workspace with all targets: one selection of features, so nothing is
//! compiled twice. The black-box tests find the programs of that build beside themselves.

use crate::{cargo, check, docs, php};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// So many tests are named for one reason; the others are in the file.
const NAMED: usize = 12;

/// Everything, cheapest first.
pub(crate) fn run() -> Result<()> {
    let start = Instant::now();
    let told = begin_to_tell()?;
    let done = stages();
    tell(&told);
    done?;
    eprintln!("All green in {} s.", start.elapsed().as_secs());
    Ok(())
}

fn stages() -> Result<()> {
    stage("check", check::run)?;
    stage("build", || {
        cargo::run(&["build", "--workspace", "--all-targets"]).and_then(|()| php::build_others("debug"))
    })?;
    stage("directive reference", docs::check)?;
    stage("unit tests", || test(&["--workspace", "--lib", "--bins", "--no-fail-fast", "--quiet"]))?;
    stage("scenarios: black box, conformance, fuzz smoke, examples", || {
        test(&["--workspace", "--test", "*", "--no-fail-fast"])
    })?;
    stage("examples in the documentation", || test(&["--workspace", "--doc", "--quiet"]))
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

/// `cargo test`, whose tests tell in our file what they do not test.
fn test(arguments: &[&str]) -> Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo::finish(cargo.arg("test").args(arguments).env(hostler_untested::FILE, untested()))
}

/// The file in which tests record that they could not run.
fn untested() -> PathBuf {
    cargo::workspace().join("target/not-tested.txt")
}

fn begin_to_tell() -> Result<PathBuf> {
    let file = untested();
    std::fs::create_dir_all(cargo::workspace().join("target"))?;
    std::fs::write(&file, "")?;
    Ok(file)
}

/// Prints which tests could not run, also after a failure.
fn tell(file: &Path) {
    let reasons = hostler_untested::told(file);
    if reasons.is_empty() {
        return eprintln!("\nEverything was tested.");
    }
    eprintln!("\nNOT TESTED on this machine:");
    for (why, tests) in reasons {
        eprintln!("  {why}:");
        for test in tests.iter().take(NAMED) {
            eprintln!("    {test}");
        }
        if tests.len() > NAMED {
            eprintln!("    and {} more, see {}", tests.len() - NAMED, file.display());
        }
    }
    eprintln!();
}
