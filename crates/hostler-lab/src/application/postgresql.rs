//! A PostgreSQL of our own: made in a temporary folder for one run, ended and removed with it.
//!
//! It listens on a socket in that folder, and on a free port of 127.0.0.1 for Java, whose driver knows nothing else. The one role that may log in is no superuser: a superuser of a database
//! could run commands, and anybody on this machine may connect. As root, it runs as `nobody`, since PostgreSQL refuses
//! root and takes no user without a name.

use super::files;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Lines of its log that an error shows.
const LAST: usize = 10;

/// A server that runs. Dropping it ends it and removes all that it has stored.
#[derive(Debug)]
pub(super) struct Postgresql {
    server: Child,
    folder: TempDir,
    port: u16,
}

/// The folder of the newest PostgreSQL's programs: as Debian installs them, or unpacked by `setup.sh`.
pub(super) fn programs() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let unpacked = this.ancestors().take(5).map(|folder| folder.join("oracle/postgresql/usr/lib/postgresql"));
    let roots = std::iter::once(PathBuf::from("/usr/lib/postgresql")).chain(unpacked);
    let mut versions: Vec<_> =
        roots.flat_map(|root| fs::read_dir(root).into_iter().flatten().flatten()).collect();
    versions.sort_by_key(|entry| entry.file_name().to_string_lossy().parse::<u32>().unwrap_or(0));
    let mut bins = versions.into_iter().rev().map(|entry| entry.path().join("bin"));
    bins.find(|bin| bin.join("initdb").is_file() && runs(&bin.join("postgres")))
}

/// Whether it does: one that was unpacked may lack libraries.
fn runs(postgres: &Path) -> bool {
    let mut command = Command::new(postgres);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Why there is none.
pub(super) fn unavailable() -> Option<String> {
    programs().is_none().then(|| {
        "PostgreSQL is not installed, or lacks libraries; ./setup.sh test unpacks it and installs them"
            .to_owned()
    })
}

impl Postgresql {
    /// Makes a database and starts its server.
    ///
    /// # Errors
    /// Not installed, or it does not start: with its log's last lines.
    pub(super) fn start() -> Result<Self> {
        let bin = programs().context("PostgreSQL is not installed")?;
        let folder = tempfile::Builder::new().prefix("hostler-lab-pg-").tempdir()?;
        let user = User::find()?;
        open(folder.path(), &user)?;
        let bin = reachable(bin, folder.path(), &user)?;
        initialise(&bin, folder.path(), &user)?;
        let log = File::create(folder.path().join("log"))?;
        let mut command = user.command(&bin.join("postgres"));
        command.arg("-D").arg(folder.path().join("data")).arg("-k").arg(folder.path().join("socket"));
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        command.arg("-p").arg(port.to_string());
        command.arg("-c").arg(setting("hba_file", &folder.path().join(HBA)));
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let server = command.spawn().context("cannot run postgres")?;
        let mut running = Self { server, folder, port };
        running.await_ready()?;
        Ok(running)
    }

    /// Its address for Perl's DBI.
    pub(super) fn dsn(&self) -> String {
        format!(
            "dbi:Pg:dbname=lab;host={};port={};user=lab",
            self.folder.path().join("socket").display(),
            self.port
        )
    }

    fn await_ready(&mut self) -> Result<()> {
        let begin = Instant::now();
        // The server keeps its state in this file's last line.
        let state = self.folder.path().join("data/postmaster.pid");
        while !fs::read_to_string(&state).is_ok_and(|text| text.lines().any(|line| line.trim() == "ready")) {
            if self.server.try_wait()?.is_some() || begin.elapsed() > PATIENCE {
                bail!("PostgreSQL does not start:\n{}", last_lines(self.folder.path()));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.server.id()).ok().and_then(Pid::from_raw) {
            // It may have ended already.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Postgresql {
    fn drop(&mut self) {
        // Its immediate shutdown: nothing is worth being saved.
        self.signal(Signal::QUIT);
        let begin = Instant::now();
        while matches!(self.server.try_wait(), Ok(None)) {
            if begin.elapsed() > PATIENCE {
                self.signal(Signal::KILL);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// For speed: what it stores lives as long as the run. Connections: every worker of every contestant may keep one.
const SETTINGS: [&str; 6] = [
    // Java reaches it over TCP only.
    "listen_addresses=127.0.0.1",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=300",
    "logging_collector=off",
];

/// The file that says who may connect. Not the one below `data`: root writes nothing into others' folders.
const HBA: &str = "hba.conf";

/// Nobody else, and nothing from other machines.
const WHO_MAY: &str = "local lab lab trust\nhost lab lab 127.0.0.1/32 trust\n";

/// What the server's single-user mode is told.
const ROLE: &str = "CREATE ROLE lab LOGIN;\nCREATE DATABASE lab OWNER lab;\n";

/// Makes the database, its one role, and says who may connect.
fn initialise(bin: &Path, folder: &Path, user: &User) -> Result<()> {
    let data = folder.join("data");
    let mut command = user.command(&bin.join("initdb"));
    command.arg("-D").arg(&data);
    command.args(["--username=postgres", "--auth=reject", "--encoding=UTF8", "--locale=C", "--no-sync"]);
    run(command, folder, "")?;
    let mut command = user.command(&bin.join("postgres"));
    command.args(["--single", "-D"]).arg(&data).args(["-c", "fsync=off", "postgres"]);
    run(command, folder, ROLE)?;
    files::write(folder, HBA, WHO_MAY.as_bytes())
}

/// Runs a program to its end; what it says goes to the log.
fn run(mut command: Command, folder: &Path, input: &str) -> Result<()> {
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

fn setting(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(format!("{name}="));
    text.push(path);
    text
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
fn open(folder: &Path, user: &User) -> Result<()> {
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
/// that user can't, so they are copied (about 50 MB) into the run's own folder.
fn reachable(bin: PathBuf, folder: &Path, user: &User) -> Result<PathBuf> {
    if user.ids.is_none() || open_to_all(&bin)? {
        return Ok(bin);
    }
    // usr, in usr/lib/postgresql/VERSION/bin: a server finds what it needs beside its programs.
    let Some((tree, own)) = bin.ancestors().nth(4).and_then(|usr| Some((usr, bin.strip_prefix(usr).ok()?)))
    else {
        return Ok(bin);
    };
    let copy = folder.join("usr");
    let copied = Command::new("cp").arg("-R").arg(tree).arg(&copy).status().context("cannot run cp")?;
    if !copied.success() {
        bail!("cannot copy {} to where PostgreSQL's user can run it", tree.display());
    }
    Ok(copy.join(own))
}

/// Whether every user can pass through a folder and all folders above it.
fn open_to_all(folder: &Path) -> Result<bool> {
    for ancestor in folder.canonicalize()?.ancestors() {
        if fs::metadata(ancestor)?.permissions().mode() & 0o001 == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Who the server is.
struct User {
    /// Another one than we are.
    ids: Option<(u32, u32)>,
}

impl User {
    fn find() -> Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self { ids: None });
        }
        let nobody = hostler_sys::users::user_by_name("nobody")?;
        let nobody = nobody.context("PostgreSQL can't run as root, and there is no user nobody")?;
        Ok(Self { ids: Some((nobody.uid, nobody.gid)) })
    }

    /// A command of this user that ends with us: also when we are killed.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        // INT is PostgreSQL's fast shutdown.
        command.args(["--pdeathsig", "INT"]);
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
        let reached = |ids| reachable(bin.clone(), folder.path(), &User { ids }).unwrap();
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(reached(None), bin);
        let copy = folder.path().join("usr/lib/postgresql/15/bin");
        assert_eq!(reached(Some((65_534, 65_534))), copy);
        assert!(copy.join("initdb").is_file());
    }
}
