//! `hostler run`: becomes hostler-master, with this program as its planner.

use hostler_config::technique;
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

/// Asks the installed programs of all engines for their versions, where the engine's row wants to know.
pub(crate) fn note_versions() {
    let programs = engines();
    for (engine, versions) in
        technique::engines().iter().filter_map(|engine| Some((engine, engine.versions?)))
    {
        let is_its = |name: &&String| {
            let rest = name.strip_prefix(engine.name);
            rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
        };
        let its = programs.iter().filter(is_its);
        (versions.note)(its.map(|name| (name.clone(), reply_of(name))).collect());
    }
}

/// A program's reply to `--version`.
///
/// # Errors
/// The first line of its complaint, or of the loader's.
pub(crate) fn reply_of(name: &str) -> Result<String, String> {
    let program = program(&format!("hostler-{name}")).map_err(|Failed(why)| why)?;
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let line = complaint.lines().find(|line| !line.trim().is_empty());
    Err(line.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned()))
}

/// Asks an installed program, by its name without the `hostler-`, why it cannot run; `None`: it can. The reply to `--version`
/// takes nothing that the program needs for its work.
pub(crate) fn why_not(name: &str) -> Option<String> {
    let name = format!("hostler-{name}");
    let program = match program(&name) {
        Ok(program) => program,
        Err(Failed(why)) => return Some(why),
    };
    let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    match asked {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("{name} can't be run: {error}")),
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
