//! Database servers of our own: what all kinds of them have in common. Each is made in a temporary folder for one run, and
//! ended and removed with it.
//!
//! As root, they run as `nobody`: none of them takes root, and PostgreSQL takes no user without a name.

use super::files;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Lines of its log that an error shows.
const LAST: usize = 10;

/// A server's process. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Daemon {
    process: Child,
    name: &'static str,
    /// The signal that ends it at once: nothing is worth being saved.
    end: Signal,
}

impl Daemon {
    /// Starts it; what it says goes to `log` in its folder.
    ///
    /// # Errors
    /// There is no such program.
    pub(super) fn start(
        name: &'static str,
        mut command: Command,
        folder: &Path,
        end: Signal,
    ) -> Result<Self> {
        let log = File::options().create(true).append(true).open(folder.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let process = command.spawn().with_context(|| format!("cannot run {name}"))?;
        Ok(Self { process, name, end })
    }

    /// Waits until a file in its folder says that it serves.
    ///
    /// # Errors
    /// It ends, or says nothing of the kind: with its log's last lines.
    pub(super) fn await_ready(
        &mut self,
        folder: &Path,
        state: &str,
        is_ready: fn(&str) -> bool,
    ) -> Result<()> {
        let state = folder.join(state);
        self.await_that(folder, || fs::read_to_string(&state).is_ok_and(|text| text.lines().any(is_ready)))
    }

    /// Waits until it is seen to serve.
    ///
    /// # Errors
    /// It ends, or is not seen to: with its log's last lines.
    pub(super) fn await_that(&mut self, folder: &Path, serves: impl Fn() -> bool) -> Result<()> {
        let begin = Instant::now();
        while !serves() {
            if self.process.try_wait()?.is_some() || begin.elapsed() > PATIENCE {
                bail!("{} does not start:\n{}", self.name, last_lines(folder));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            // It may have ended already.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.signal(self.end);
        let begin = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if begin.elapsed() > PATIENCE {
                self.signal(Signal::KILL);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Runs a program to its end; what it says goes to the log.
pub(super) fn run(mut command: Command, folder: &Path, input: &str) -> Result<()> {
    let log = File::options().create(true).append(true).open(folder.join("log"))?;
    command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
    let mut child = command.spawn().with_context(|| format!("cannot run {}", program(&command)))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{}: {status}\n{}", program(&command), last_lines(folder));
    }
    Ok(())
}

fn program(command: &Command) -> String {
    command.get_args().find(|arg| arg.to_string_lossy().contains('/')).map_or_else(
        || command.get_program().to_string_lossy().into_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

fn last_lines(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines.get(lines.len().saturating_sub(LAST)..).unwrap_or_default().join("\n")
}

/// Everybody may reach the socket; the data is the server's alone.
pub(super) fn open(folder: &Path, user: &User) -> Result<()> {
    files::make_readable(folder)?;
    for name in ["data", "socket"] {
        files::make_folder(folder, Path::new(name))?;
        if let Some((uid, gid)) = user.ids {
            chown(folder.join(name), Some(uid), Some(gid))?;
        }
    }
    Ok(())
}

/// The programs where the server's user can run them: a checkout below a closed home directory has its unpacked ones where
/// that user cannot, so they are copied (about 50 MB) into the run's own folder.
///
/// A server finds what it needs beside its programs, so the whole tree is copied in which `below` is their first folder:
/// `lib` of `usr/lib/postgresql/15/bin`.
pub(super) fn reachable(bin: PathBuf, below: &str, folder: &Path, user: &User) -> Result<PathBuf> {
    if user.ids.is_none() || open_to_all(&bin)? {
        return Ok(bin);
    }
    let first = bin.ancestors().find(|path| path.ends_with(below)).and_then(Path::parent);
    let Some((tree, own)) = first.and_then(|tree| Some((tree, bin.strip_prefix(tree).ok()?))) else {
        return Ok(bin);
    };
    let copy = folder.join("usr");
    let copied = Command::new("cp").arg("-R").arg(tree).arg(&copy).status().context("cannot run cp")?;
    if !copied.success() {
        bail!("cannot copy {} to where the database's user can run it", tree.display());
    }
    Ok(copy.join(own))
}

/// Returns whether every user can pass through a folder and all folders above it.
fn open_to_all(folder: &Path) -> Result<bool> {
    for ancestor in folder.canonicalize()?.ancestors() {
        if fs::metadata(ancestor)?.permissions().mode() & 0o001 == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The server's user.
#[derive(Clone, Copy, Debug)]
pub(super) struct User {
    /// Another one than we are.
    ids: Option<(u32, u32)>,
}

impl User {
    pub(super) fn find() -> Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self { ids: None });
        }
        let nobody = hostler_sys::users::user_by_name("nobody")?;
        let nobody =
            nobody.context("database servers do not run as root, and the user nobody does not exist")?;
        Ok(Self { ids: Some((nobody.uid, nobody.gid)) })
    }

    /// A command of this user that ends with us: also when we are killed, by the signal `end`.
    pub(super) fn command(&self, program: &Path, end: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", end]);
        if let Some((uid, gid)) = self.ids {
            command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string(), "--clear-groups"]);
        }
        command.arg(program).current_dir("/").env("LC_ALL", "C");
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_below_a_closed_folder_are_copied_for_another_user() {
        let closed = tempfile::tempdir().unwrap();
        let bin = closed.path().join("usr/lib/postgresql/15/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("initdb"), "").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let reached = |ids| reachable(bin.clone(), "lib", folder.path(), &User { ids }).unwrap();
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(reached(None), bin);
        let copy = folder.path().join("usr/lib/postgresql/15/bin");
        assert_eq!(reached(Some((65_534, 65_534))), copy);
        assert!(copy.join("initdb").is_file());
    }
}
