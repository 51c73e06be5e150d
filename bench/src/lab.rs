//! Runs of the lab: a scenario, and the tables that it prints.

use crate::report::Report;
use crate::{Options, workspace};
use anyhow::{Context, Result, bail};
use hostler_lab::contestant;
use std::fs;
use std::process::{Command, Stdio};

/// Takes a run of a scenario in lab/performance into a folder below target/bench.
pub(crate) fn scenario(name: &str, options: &Options, report: &mut Report) -> Result<()> {
    measure(&format!("lab/performance/{name}.toml"), &format!("target/bench/{name}"), options, report)
}

/// The same for a scenario that was made for this run. Both are relative to the workspace: they are printed.
pub(crate) fn measure(scenario: &str, folder: &str, options: &Options, report: &mut Report) -> Result<()> {
    let old = workspace().join(folder);
    if old.exists() {
        fs::remove_dir_all(&old).with_context(|| folder.to_owned())?;
    }
    let mut command = hostler_lab()?;
    command.arg(scenario).arg("--out").arg(folder);
    if options.quick {
        command.arg("--quick");
    }
    // Its tables are asked for once more below; its progress is on stderr.
    let status = command.stdout(Stdio::null()).status().context("cannot run hostler lab")?;
    if !status.success() {
        bail!("hostler lab {scenario} failed ({status})");
    }
    let printed = hostler_lab()?.arg("report").arg(folder).output()?;
    if !printed.status.success() {
        bail!("hostler lab report: {}", String::from_utf8_lossy(&printed.stderr));
    }
    report.run(&String::from_utf8_lossy(&printed.stdout));
    let name = folder.rsplit('/').next().unwrap_or(folder);
    report.figures.read(name, &workspace().join(folder))
}

fn hostler_lab() -> Result<Command> {
    let mut command = Command::new(contestant::program("hostler").context("hostler is not built")?);
    // As wide as the lines of docs/performance.md.
    command.arg("lab").env("COLUMNS", "120").env("NO_COLOR", "1").current_dir(workspace());
    Ok(command)
}
