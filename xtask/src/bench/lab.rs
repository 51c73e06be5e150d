//! Runs of the lab: a scenario of lab/performance, and the tables that it prints.

use crate::cargo;
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::{Command, Stdio};

/// The scenarios, by the names of their files, in the order of the report.
pub(crate) const SCENARIOS: [&str; 3] = ["files", "perl", "programs"];

/// Takes a run into a folder below target/bench; its report as text.
pub(crate) fn run(name: &str, quick: bool) -> Result<String> {
    measure(&format!("lab/performance/{name}.toml"), &format!("target/bench/{name}"), quick)
}

/// The same for a scenario that was made for this run. Both are relative to the workspace: they are printed.
pub(crate) fn measure(scenario: &str, folder: &str, quick: bool) -> Result<String> {
    let old = cargo::workspace().join(folder);
    if old.exists() {
        fs::remove_dir_all(&old).with_context(|| folder.to_owned())?;
    }
    let mut command = hostler_lab();
    command.arg(scenario).arg("--out").arg(folder);
    if quick {
        command.arg("--quick");
    }
    // Its tables are asked for once more below; its progress is on stderr.
    let status = command.stdout(Stdio::null()).status().context("cannot run hostler lab")?;
    if !status.success() {
        bail!("{} failed ({status})", cargo::shown(&command));
    }
    let report = hostler_lab().arg("report").arg(folder).output()?;
    if !report.status.success() {
        bail!("hostler lab report: {}", String::from_utf8_lossy(&report.stderr));
    }
    Ok(String::from_utf8_lossy(&report.stdout).into_owned())
}

fn hostler_lab() -> Command {
    let mut command = Command::new(cargo::programs("release").join("hostler"));
    // As wide as the lines of docs/performance.md.
    command.arg("lab").env("COLUMNS", "120").env("NO_COLOR", "1").current_dir(cargo::workspace());
    command
}
