//! The PHP engine for each version of PHP that is installed: `hostler-php` for the usual one, `hostler-php8.4` beside it for
//! another, so that virtual hosts can choose (`PHPVersion`).

use crate::cargo;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that tells how a version was built; the version follows its name.
const CONFIG: &str = "php-config";
/// Of which of these the usual engine is, as its build script has it.
const DEFAULT: [&str; 2] = ["php-config8.2", CONFIG];

/// Builds the engine for the versions beside the usual one, with `profile` ("debug" or "release").
pub(crate) fn build_others(profile: &str) -> Result<()> {
    let others = others();
    let programs = cargo::programs(profile);
    for (number, config) in &others {
        build(profile, Some(config))?;
        let (made, own) = (programs.join("hostler-php"), programs.join(format!("hostler-php{number}")));
        if runs(&made) {
            std::fs::copy(&made, &own).with_context(|| format!("can't write {}", own.display()))?;
        } else {
            eprintln!(
                "no hostler-php{number}: PHP {number} is older than 8.1, or there without its library or headers"
            );
        }
    }
    // The usual one has its place again.
    if others.is_empty() { Ok(()) } else { build(profile, None) }
}

fn build(profile: &str, config: Option<&Path>) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The whole workspace's selection of features, so that nothing else is compiled anew.
    command.args(["build", "--workspace", "--bin", "hostler-php"]);
    if profile == "release" {
        command.arg("--release");
    }
    match config {
        Some(config) => command.env("HOSTLER_PHP_CONFIG", config),
        None => command.env_remove("HOSTLER_PHP_CONFIG"),
    };
    cargo::finish(&mut command)
}

fn runs(program: &Path) -> bool {
    let asked = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// The versions on the PATH, each with its program, without the usual one.
fn others() -> BTreeMap<String, PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let entries = std::env::split_paths(&path).filter_map(|folder| std::fs::read_dir(folder).ok());
    let programs = entries.flatten().flatten().map(|entry| entry.path());
    let mut all: BTreeMap<String, PathBuf> =
        programs.filter_map(|program| Some((named(&program)?, program))).collect();
    let usual = DEFAULT.iter().find_map(|program| version(Path::new(program)));
    all.retain(|number, _| Some(number) != usual.as_ref());
    all
}

/// The version in a program's name: `8.4` of `php-config8.4`.
fn named(program: &Path) -> Option<String> {
    let number = program.file_name()?.to_str()?.strip_prefix(CONFIG)?;
    let (major, minor) = number.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(minor)).then(|| number.to_owned())
}

/// Returns a program's version without the last number.
fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let said = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    said.trim().rsplit_once('.').map(|(number, _)| number.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_names_of_programs() {
        for (name, number) in [("php-config8.4", Some("8.4")), ("php-config", None), ("php-config8", None)] {
            assert_eq!(named(Path::new("/usr/bin").join(name).as_path()).as_deref(), number, "{name}");
        }
        assert_eq!(named(Path::new("/usr/bin/php8.4")), None);
    }
}
