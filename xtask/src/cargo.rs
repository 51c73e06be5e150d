//! Running cargo and other programs, each shown before it runs, so that a failure can be repeated by hand.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the checkout.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lives in a folder of the workspace")
}

/// Returns cargo's output folder for `profile` ("debug" or "release").
pub(crate) fn programs(profile: &str) -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
    target.join(profile)
}

/// Runs `cargo` with these arguments; an error if it fails.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    finish(Command::new(cargo).args(arguments))
}

/// Shows and runs `command`, and waits for it; an error unless it succeeds.
pub(crate) fn finish(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let status = as_by_hand(command).status().with_context(|| format!("cannot run {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs `command` without showing it; an error with what it said unless it succeeds.
pub(crate) fn quietly(command: &mut Command) -> Result<()> {
    let output = as_by_hand(command).output().with_context(|| format!("cannot run {}", shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed ({}): {}", shown(command), output.status, said.trim());
    }
    Ok(())
}

/// Without what cargo has told us about this package: build scripts that look at such variables, as ring's does, would
/// run anew, and all that depends on them be compiled again, each time that cargo is called by hand and from here in turn.
fn as_by_hand(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_"];
        if of_package.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes())) {
            command.env_remove(name);
        }
    }
    command
}

/// Returns whether a program is on the PATH.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// `command` as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut line = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}
