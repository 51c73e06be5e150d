//! `hostler run`: becomes hostler-master, with this program as its planner.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Where the daemons may be, seen from the directory of this command.
const PLACES: [&str; 2] = ["", "../libexec/hostler"];

fn beside(own: &Path, name: &str) -> Result<PathBuf, Failed> {
    let directory = own.parent().unwrap_or(Path::new("/"));
    let candidates = PLACES.iter().map(|place| directory.join(place).join(name));
    let found = candidates.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| {
        Failed(format!("{name} is neither in {} nor in ../libexec/hostler", directory.display()))
    })
}
