//! `hostler run`: becomes hostler-master, with this program as its planner.

use hostler_config::directives::php::{self, Broken};
use hostler_wire::engine::{MOST_ENGINES, is_name};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failed;
use crate::cli::{Configuration, Run};

pub(crate) fn run(args: &Run) -> Result<(), Failed> {
    let mut planner: Vec<OsString> = vec!["run".into()];
    planner.extend(arguments(&args.configuration)?);
    if args.single_user {
        planner.push("--single-user".into());
    }
    become_master(planner)
}

/// The arguments again, with absolute paths: the planner is run again for each reload.
fn arguments(configuration: &Configuration) -> Result<Vec<OsString>, Failed> {
    let mut words: Vec<OsString> = vec!["-f".into(), std::path::absolute(&configuration.file)?.into()];
    if let Some(root) = &configuration.root {
        words.extend(["-d".into(), std::path::absolute(root)?.into()]);
    }
    for (flag, values) in
        [("-D", &configuration.defines), ("-C", &configuration.before), ("-c", &configuration.after)]
    {
        words.extend(values.iter().map(|value| OsString::from(format!("{flag}{value}"))));
    }
    Ok(words)
}

/// Replaces this process by the master, whose planner gets these arguments.
pub(crate) fn become_master(planner: Vec<OsString>) -> Result<(), Failed> {
    let (own, master) = (std::env::current_exe()?, master()?);
    let error = Command::new(&master).arg("--").arg(&own).arg("plan").args(planner).exec();
    Err(Failed(format!("can't run {}: {error}", master.display())))
}

/// The master's program: the one that belongs to this command.
///
/// # Errors
/// It is not there.
pub(crate) fn master() -> Result<PathBuf, Failed> {
    program("hostler-master")
}

/// A program that belongs to this command.
///
/// # Errors
/// It is not there.
pub(crate) fn program(name: &str) -> Result<PathBuf, Failed> {
    beside(&std::env::current_exe()?, name)
}

/// Programs beside this command that are no engines.
const OTHERS: [&str; 3] = ["front", "master", "site"];

/// The engines that are installed, by name: the programs `hostler-NAME` beside the master's.
pub(crate) fn engines() -> Vec<String> {
    program("hostler-master").ok().as_deref().and_then(Path::parent).map(engines_in).unwrap_or_default()
}

/// The versions of PHP whose engine is there, was built with PHP, and finds its library, as it says itself; and those that
/// do not.
pub(crate) fn versions_of_php() -> (Vec<php::Version>, Vec<Broken>) {
    let of_php = |name: &&String| {
        let rest = name.strip_prefix(php::ENGINE);
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    let (mut versions, mut broken) = (Vec::new(), Vec::new());
    for name in engines().iter().filter(of_php) {
        match version_of_php(name) {
            Ok(version) => versions.push(version),
            Err(why) => broken.push(Broken { program: name.clone(), why }),
        }
    }
    (versions, broken)
}

/// # Errors
/// What the program says, or whoever loads it, in the place of its version: one line.
fn version_of_php(name: &str) -> Result<php::Version, String> {
    let program = program(&format!("hostler-{name}")).map_err(|Failed(why)| why)?;
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    let (said, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let version = said.trim().rsplit_once(" for PHP ").filter(|_| output.status.success());
    version.and_then(|(_, version)| php::Version::of(name, version)).ok_or_else(|| {
        let line = complaint.lines().find(|line| !line.trim().is_empty());
        line.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned())
    })
}

/// Why no servlets can be run here; `None`: they can. The program says so itself, which takes no Java to find out.
pub(crate) fn lacks_servlets() -> Option<String> {
    let program = match program("hostler-servlet") {
        Ok(program) => program,
        Err(Failed(why)) => return Some(why),
    };
    let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    match asked {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("hostler-servlet can't be run: {error}")),
    }
}

fn engines_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory);
    let mut names: Vec<String> =
        entries.into_iter().flatten().filter_map(|entry| engine(&entry.ok()?)).collect();
    names.sort();
    names.truncate(MOST_ENGINES);
    names
}

fn engine(entry: &std::fs::DirEntry) -> Option<String> {
    let name = entry.file_name().to_str()?.strip_prefix("hostler-")?.to_owned();
    let file = std::fs::metadata(entry.path()).ok()?;
    let runs = file.is_file() && file.permissions().mode() & 0o111 != 0;
    (runs && is_name(&name) && !OTHERS.contains(&name.as_str())).then_some(name)
}

/// The possible places of the daemons, relative to the directory of this command.
const PLACES: [&str; 2] = ["", "../libexec/hostler"];

fn beside(own: &Path, name: &str) -> Result<PathBuf, Failed> {
    let directory = own.parent().unwrap_or(Path::new("/"));
    let candidates = PLACES.iter().map(|place| directory.join(place).join(name));
    let found = candidates.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| {
        Failed(format!("{name} is neither in {} nor in ../libexec/hostler", directory.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_the_programs_beside_the_masters_that_are_none_of_the_servers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        for (name, mode) in [
            ("hostler-perl", 0o755),
            ("hostler-php-8.2", 0o755),
            ("hostler-perl.d", 0o644),
            ("hostler-site", 0o755),
            ("hostler-master", 0o755),
            ("hostler", 0o755),
            ("perl", 0o755),
        ] {
            std::fs::write(path.join(name), "").unwrap();
            std::fs::set_permissions(path.join(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        std::fs::create_dir(path.join("hostler-folder")).unwrap();
        assert_eq!(engines_in(path), ["perl", "php-8.2"]);
        assert_eq!(engines_in(&path.join("missing")), Vec::<String>::new());
    }
}
