//! Configurations that a server must accept or refuse before it starts.
//!
//! Apache judges with `apache2 -t`, Hostler with `hostler check`, each on the same text.

use crate::server::{self, Kind};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// One configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Unique name.
    pub name: String,
    /// The configuration after the common prologue; `@ROOT@` is a folder with `htdocs` in it.
    pub config: String,
    /// True if a server starts with it.
    pub accepted: bool,
    /// Why Hostler judges otherwise than Apache on purpose.
    pub differs: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SyntaxCase {
    check: Vec<Check>,
}

/// Reads `syntax.toml`.
///
/// # Errors
/// A sentence that names the file.
pub fn load(path: &Path) -> Result<Vec<Check>, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| at(&error))?;
    toml::from_str::<SyntaxCase>(&text).map(|listed| listed.check).map_err(|error| at(&error))
}

/// Prepares a folder for [`judge`].
///
/// # Errors
/// As the file system reports them.
pub fn prepare(root: &Path) -> std::io::Result<()> {
    for folder in ["htdocs", "logs", "conf"] {
        fs::create_dir(root.join(folder))?;
    }
    fs::write(root.join("conf/mime.types"), include_str!("mime.types"))?;
    server::link_modules(root)
}

/// Every configuration file below Debian's folder, each included after its module's `.load` file.
///
/// # Errors
/// The folder cannot be read.
pub fn packaged(folder: &Path) -> std::io::Result<Vec<Check>> {
    below(folder, folder)
}

fn below(top: &Path, folder: &Path) -> std::io::Result<Vec<Check>> {
    let mut checks = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            checks.extend(below(top, &path)?);
        } else if path.extension().is_some_and(|extension| extension == "conf" || extension == "load") {
            let config = including(&path, top);
            checks.push(Check { config, accepted: true, differs: None, name: flat(&path) });
        }
    }
    Ok(checks)
}

/// Returns Debian's envvars as definitions, then an inclusion of the file. The main file includes others by names
/// relative to its own folder.
fn including(path: &Path, top: &Path) -> String {
    let own = path.parent().filter(|parent| *parent == top);
    let server_root = own.map(|top| format!("ServerRoot \"{}\"\n", top.display())).unwrap_or_default();
    let defined =
        ["RUN_DIR", "LOCK_DIR", "LOG_DIR"].map(|name| format!("Define APACHE_{name} @ROOT@/logs\n"));
    let include = |path: &Path| format!("Include {}\n", path.display());
    let load = path.with_extension("load");
    let load = if load != path && load.exists() { include(&load) } else { String::new() };
    let identity = "Define APACHE_RUN_USER www-data\nDefine APACHE_RUN_GROUP www-data\n\
                    Define APACHE_PID_FILE @ROOT@/logs/pid\n";
    defined.concat() + identity + &server_root + &load + &include(path)
}

fn flat(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').replace('/', "-")
}

/// Returns the fault of a server's verdict on a configuration, or nothing if it is the expected one.
///
/// # Errors
/// The server could not be run.
pub fn judge(kind: Kind, check: &Check, root: &Path) -> Result<Option<String>, String> {
    let configuration = root.join(format!("{}.conf", check.name));
    let text = server::configuration(root, &check.config);
    fs::write(&configuration, text).map_err(|error| error.to_string())?;
    let mut command = match kind {
        Kind::Apache => server::apache(),
        Kind::Hostler => Command::new(server::hostler_binary().ok_or(server::NO_BINARY)?),
    };
    command.arg(if kind == Kind::Apache { "-t" } else { "check" }).arg("-f").arg(&configuration);
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let accepted = output.status.success();
    let expected = check.accepted != (kind == Kind::Hostler && check.differs.is_some());
    if accepted != expected {
        let verdict = if expected { "accepts" } else { "refuses" };
        return Ok(Some(format!("{kind:?} syntax/{}: {verdict} it expected, but: {said}", check.name)));
    }
    // An administrator must find the place, and it must not be the prologue that was refused.
    let first = server::configuration(root, "").lines().count();
    if kind == Kind::Hostler && !accepted && !names_line_after(first, &format!("{}.conf:", check.name), &said)
    {
        let name = &check.name;
        return Ok(Some(format!("Hostler syntax/{name}: file and line after {first} expected, but: {said}")));
    }
    Ok(None)
}

/// Returns whether a place in `file:` after the line `first` is named.
fn names_line_after(first: usize, file: &str, said: &str) -> bool {
    let number = |rest: &str| rest.split(|digit: char| !digit.is_ascii_digit()).next().map(str::to_owned);
    let lines = said.split(file).skip(1).filter_map(number);
    lines.filter_map(|digits| digits.parse::<usize>().ok()).any(|line| line >= first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_prologue_is_no_refusal_of_the_case() {
        assert!(names_line_after(40, "x.conf:", "x.conf:9: no\n/t/x.conf:41: yes"));
        assert!(!names_line_after(40, "x.conf:", "/t/x.conf:9: no, y.conf:50: other"));
    }
}
