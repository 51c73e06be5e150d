//! A MariaDB of our own: made in a temporary folder for one run, ended and removed with it.
//!
//! It listens on a socket in that folder only. Its superuser is removed before it listens; the one user who may log in has
//! one database.

use super::daemon::{self, Daemon, User};
use super::files;
use anyhow::{Context, Result};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A server that runs. Dropping it ends it and removes all that it has stored.
#[derive(Debug)]
pub(super) struct Mariadb {
    #[expect(dead_code, reason = "kept for its end, which comes before its folder's")]
    server: Daemon,
    folder: TempDir,
}

/// The server's program: as Debian installs it, or unpacked by `setup.sh` together with WordPress.
pub(super) fn program() -> Option<PathBuf> {
    unpacked("usr/sbin/mariadbd")
}

/// A file of a package that is installed, or that was unpacked together with WordPress.
pub(super) fn unpacked(file: &str) -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let copies = this.ancestors().take(5).map(|folder| folder.join("oracle/wordpress"));
    let mut places = std::iter::once(PathBuf::from("/")).chain(copies).map(|root| root.join(file));
    places.find(|path| path.exists())
}

impl Mariadb {
    /// Makes a database `wordpress`, with a user of this name and password, and starts its server.
    ///
    /// # Errors
    /// Not installed, or it does not start: with its log's last lines.
    pub(super) fn start() -> Result<Self> {
        let program = program().context("MariaDB is not installed")?;
        let folder = tempfile::Builder::new().prefix("hostler-lab-my-").tempdir()?;
        let user = User::find()?;
        daemon::open(folder.path(), &user)?;
        let sbin = program.parent().context("a program has a folder")?.to_owned();
        let sbin = daemon::reachable(sbin, "sbin", folder.path(), &user)?;
        let tree = sbin.parent().context("sbin is in usr")?.to_owned();
        initialise(&tree, folder.path(), &user)?;
        files::write(folder.path(), "first.sql", FIRST.as_bytes())?;
        let mut command = user.command(&sbin.join("mariadbd"), "KILL");
        command.arg("--no-defaults").args(places(&tree, folder.path()));
        command.arg(setting("--socket=", &folder.path().join("socket/db")));
        command.arg(setting("--init-file=", &folder.path().join("first.sql")));
        command.args(SETTINGS).env("LD_LIBRARY_PATH", libraries(&tree));
        let mut server = Daemon::start("MariaDB", command, folder.path(), Signal::KILL)?;
        server.await_ready(folder.path(), "log", |line| line.contains("ready for connections"))?;
        Ok(Self { server, folder })
    }

    /// The socket at which it listens.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket/db")
    }
}

/// The statements before any client can connect, one on each line.
const FIRST: &str = "CREATE DATABASE wordpress;\n\
                     CREATE USER 'wordpress'@'localhost' IDENTIFIED BY 'wordpress';\n\
                     GRANT ALL ON wordpress.* TO 'wordpress'@'localhost';\n\
                     DELETE FROM mysql.global_priv WHERE User = 'root';\n\
                     FLUSH PRIVILEGES;\n";

/// For speed: what it stores lives as long as the run. Connections: every worker of every contestant may have one.
const SETTINGS: [&str; 5] = [
    "--skip-networking",
    "--max-connections=400",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-buffer-pool-size=64M",
    "--character-set-server=utf8mb4",
];

fn initialise(tree: &Path, folder: &Path, user: &User) -> Result<()> {
    let mut command = user.command(&tree.join("bin/mariadb-install-db"), "KILL");
    command.arg("--no-defaults").args(places(tree, folder));
    command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
    command.env("LD_LIBRARY_PATH", libraries(tree));
    daemon::run(command, folder, "")
}

/// Returns the options for the server's own files and its data.
fn places(tree: &Path, folder: &Path) -> [OsString; 2] {
    [setting("--basedir=", tree), setting("--datadir=", &folder.join("data"))]
}

/// Libraries that were unpacked beside it.
fn libraries(tree: &Path) -> OsString {
    let mut all = OsString::from(tree.join("lib/x86_64-linux-gnu"));
    all.push(":");
    all.push(tree.join("../lib/x86_64-linux-gnu"));
    all
}

fn setting(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(name);
    text.push(path);
    text
}
