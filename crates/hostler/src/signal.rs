//! `hostler reload` and `stop`, and for `status`, too: they find the running server by the configuration's PidFile.
//!
//! A PidFile may be older than the process that has its number by now, so the process must also be called
//! hostler-master before it is signalled.

use hostler_config::Config;
use hostler_sys::process::{self, Pid, Signal};
use hostler_sys::stat::Stat;
use hostler_wire::plan::OUTCOME;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::Failed;
use crate::cli::{Reload, Stop};
use crate::{load, run};

/// A server that runs.
pub(crate) struct Running {
    /// Its master.
    pub(crate) pid: Pid,
    /// The PidFile that names it.
    pub(crate) pid_file: PathBuf,
}

pub(crate) fn stop(args: &Stop) -> Result<(), Failed> {
    let running = find(&load::files(&args.configuration)?.config)?;
    let (number, usual) = if args.now { (Signal::INT, STOP) } else { (Signal::WINCH, u64::MAX) };
    signal(&running, number)?;
    let seconds = args.wait.unwrap_or(usual);
    if seconds == 0 {
        return Ok(());
    }
    wait(seconds, || !is_master(running.pid)).ok_or_else(|| {
        let state = if args.now { "has not exited" } else { "still serves requests" };
        Failed(format!("pid {} {state} after {seconds} s", running.pid.as_raw_nonzero()))
    })
}

/// The default of `--wait` for an immediate stop, in seconds.
const STOP: u64 = 15;

pub(crate) fn reload(args: &Reload) -> Result<(), Failed> {
    let loaded = load::files(&args.configuration)?;
    load::warn(&loaded.config);
    let running = find(&loaded.config)?;
    let before = written(&running.pid_file);
    signal(&running, Signal::HUP)?;
    // The master writes its PidFile anew when a generation serves, or could not be started.
    wait(args.wait, || written(&running.pid_file).is_some_and(|now| Some(now) != before)).ok_or_else(|| {
        Failed(format!(
            "no new generation serves after {} s; the running configuration stays in place so far, and the server's \
             error output shows why",
            args.wait
        ))
    })?;
    match outcome(&running.pid_file) {
        Some(Ok(serves)) => println!("{serves}"),
        Some(Err(why)) => {
            return Err(Failed(format!("{why}\nreload failed; the running configuration stays in place")));
        }
        None => return Err(Failed("the outcome is unknown; see the server's error output".to_owned())),
    }
    if is_of_replaced_program(running.pid) {
        eprintln!(
            "hostler: warning: hostler-master was replaced since the server was started; the server goes on with the \
             programs it was started with. To run the new ones: hostler stop, then start it again"
        );
    }
    Ok(())
}

/// Longest outcome that is read, in bytes.
const LONGEST_OUTCOME: u64 = 1 << 20;

/// Reads the outcome that the master has written beside its PidFile: that a generation serves, or why none does. `None`: it
/// cannot be read.
fn outcome(pid_file: &Path) -> Option<Result<String, String>> {
    let mut name = pid_file.as_os_str().to_os_string();
    name.push(OUTCOME);
    let mut text = String::new();
    let file = std::fs::File::open(name).ok()?;
    std::io::Read::read_to_string(&mut std::io::Read::take(file, LONGEST_OUTCOME), &mut text).ok()?;
    match text.trim_end().split_once('\n') {
        Some(("failed", why)) => Some(Err(why.to_owned())),
        None if !text.is_empty() => Some(Ok(text.trim_end().to_owned())),
        _ => None,
    }
}

/// Why there is no server to talk to.
#[derive(Debug)]
pub(crate) enum Absent {
    /// It does not run.
    NotRunning(String),
    /// The state is unknown.
    Unknown(String),
}

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::NotRunning(why) | Self::Unknown(why)) = self;
        f.write_str(why)
    }
}

/// The server of a configuration.
///
/// # Errors
/// [`Absent`]
pub(crate) fn find(config: &Config) -> Result<Running, Absent> {
    let Some(path) = config.process.pid_file.as_deref().map(Path::new) else {
        return Err(Absent::Unknown(
            "the configuration has no PidFile to find the server by; add, for example, \
             PidFile /run/hostler.pid"
                .to_string(),
        ));
    };
    let not_running = || Absent::NotRunning(format!("not running: no server has written {}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => not_running(),
        _ => Absent::Unknown(format!("can't read the PidFile {}: {e}", path.display())),
    })?;
    let pid = text.trim().parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    let pid =
        pid.ok_or_else(|| Absent::Unknown(format!("{} does not contain a process id", path.display())))?;
    if is_master(pid) {
        Ok(Running { pid, pid_file: path.to_path_buf() })
    } else {
        let number = pid.as_raw_nonzero();
        Err(Absent::NotRunning(format!(
            "not running: pid {number} of {} is not a hostler-master",
            path.display()
        )))
    }
}

fn is_master(pid: Pid) -> bool {
    Stat::of(pid.as_raw_nonzero().get().unsigned_abs()).is_some_and(|stat| is_of_master(&stat))
}

/// Not of one that has ended and whose parent has not taken note yet.
fn is_of_master(stat: &Stat) -> bool {
    stat.name == b"hostler-master" && !stat.is_dead()
}

/// Returns whether the master runs from another file than the one that would be started now; if that can be told, which
/// takes the right to look into the process.
fn is_of_replaced_program(master: Pid) -> bool {
    let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    let runs = std::fs::metadata(format!("/proc/{}/exe", master.as_raw_nonzero()));
    let stands = run::master().and_then(|path| Ok(std::fs::metadata(path)?));
    matches!((runs, stands), (Ok(runs), Ok(stands)) if !same(&runs, &stands))
}

fn signal(running: &Running, signal: Signal) -> Result<(), Failed> {
    let number = running.pid.as_raw_nonzero();
    process::signal(running.pid, signal).map_err(|e| Failed(format!("can't signal pid {number}: {e}")))
}

/// Returns the facts that change when a file is replaced.
fn written(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = path.metadata().ok()?;
    Some((metadata.ino(), metadata.modified().ok()?))
}

/// Waits until `done`, at most `seconds`; `None` when it never was.
fn wait(seconds: u64, done: impl Fn() -> bool) -> Option<()> {
    let until = Instant::now().checked_add(Duration::from_secs(seconds));
    loop {
        if done() {
            return Some(());
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_pid_file(text: &str) -> Result<Running, Absent> {
        let path = std::env::temp_dir().join(format!("hostler-signal-test-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let mut config = Config::default();
        config.process.pid_file = path.to_str().map(str::to_string);
        let found = find(&config);
        std::fs::remove_file(path).unwrap();
        found
    }

    #[test]
    fn a_master_that_has_ended_does_not_run() {
        let stat = |name: &str, state| Stat { name: name.into(), state };
        for (state, runs) in [(b'S', true), (b'R', true), (b'T', true), (b'Z', false), (b'X', false)] {
            assert_eq!(is_of_master(&stat("hostler-master", state)), runs, "{state}");
        }
        assert!(!is_of_master(&stat("hostler-front", b'S')));
    }

    #[test]
    fn only_a_master_is_found() {
        let own = std::process::id().to_string();
        for text in ["", "0", "-1", "1", "text", &own] {
            assert!(with_pid_file(text).is_err(), "{text}");
        }
        assert!(find(&Config::default()).is_err_and(|absent| absent.to_string().contains("PidFile")));
    }
}
