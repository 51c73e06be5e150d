//! A PostgreSQL of our own: made in a temporary folder for one run, ended and removed with it.
//!
//! It listens on a socket in that folder, and on a free port of 127.0.0.1 for Java, whose driver knows nothing else. The
//! one role that may log in is no superuser: a superuser of a database could run commands, and anybody on this machine
//! may connect.

use super::daemon::{self, Daemon, User};
use super::files;
use anyhow::{Context, Result};
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A server that runs. Dropping it ends it and removes all that it has stored.
#[derive(Debug)]
pub(super) struct Postgresql {
    #[expect(dead_code, reason = "kept for its end, which comes before its folder's")]
    server: Daemon,
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

/// Returns whether it does: one that was unpacked may lack libraries.
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
        daemon::open(folder.path(), &user)?;
        let bin = daemon::reachable(bin, "lib", folder.path(), &user)?;
        initialise(&bin, folder.path(), &user)?;
        let mut command = user.command(&bin.join("postgres"), FAST_SHUTDOWN);
        command.arg("-D").arg(folder.path().join("data")).arg("-k").arg(folder.path().join("socket"));
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        command.arg("-p").arg(port.to_string());
        command.arg("-c").arg(setting("hba_file", &folder.path().join(HBA)));
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        // Its immediate shutdown: nothing is worth being saved.
        let mut server = Daemon::start("PostgreSQL", command, folder.path(), Signal::QUIT)?;
        // It keeps its state in this file's last line.
        server.await_ready(folder.path(), "data/postmaster.pid", |line| line.trim() == "ready")?;
        Ok(Self { server, folder, port })
    }

    /// Its address for Perl's DBI.
    pub(super) fn dsn(&self) -> String {
        format!(
            "dbi:Pg:dbname=lab;host={};port={};user=lab",
            self.folder.path().join("socket").display(),
            self.port
        )
    }
}

/// For its fast shutdown.
const FAST_SHUTDOWN: &str = "INT";

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

/// The only permitted user, from this machine alone.
const WHO_MAY: &str = "local lab lab trust\nhost lab lab 127.0.0.1/32 trust\n";

/// The input of the server's single-user mode.
const ROLE: &str = "CREATE ROLE lab LOGIN;\nCREATE DATABASE lab OWNER lab;\n";

/// Makes the database, its one role, and says who may connect.
fn initialise(bin: &Path, folder: &Path, user: &User) -> Result<()> {
    let data = folder.join("data");
    let mut command = user.command(&bin.join("initdb"), FAST_SHUTDOWN);
    command.arg("-D").arg(&data);
    command.args(["--username=postgres", "--auth=reject", "--encoding=UTF8", "--locale=C", "--no-sync"]);
    daemon::run(command, folder, "")?;
    let mut command = user.command(&bin.join("postgres"), FAST_SHUTDOWN);
    command.args(["--single", "-D"]).arg(&data).args(["-c", "fsync=off", "postgres"]);
    daemon::run(command, folder, ROLE)?;
    files::write(folder, HBA, WHO_MAY.as_bytes())
}

fn setting(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(format!("{name}="));
    text.push(path);
    text
}
