//! E4: the table of comments and its form, in a program for each technique, on SQLite or PostgreSQL.

use super::compile::{self, Needs};
use super::files::{self, Files, files};
use super::postgresql::{self, Postgresql};
use super::{Database, LaidOut, Technique, probe};
use crate::contestant::Site;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FILES: Files = files!["comments":
    "lib/Lab/Comments.pm",
    "lib/Lab/CommentsCgi.pm",
    "lib/Lab/CommentsHandler.pm",
    "cgi-c/comments.c",
    "cgi-perl/comments.pl",
    "perl/comments.pl",
    "fastcgi/comments.fcgi",
    "php/comments.php",
    "app.psgi",
    "startup.pl",
    "prepare.pl",
    "htdocs/index.html",
];

const CONFIGURATION: &str = include_str!("../../../../lab/applications/comments/site.conf");
const HOSTLER: &str = include_str!("../../../../lab/applications/comments/hostler.conf");

/// Techniques in Perl that need nothing but the database's driver.
const IN_PERL: [&str; 4] = ["cgi-perl", "registry", "handler", "psgi"];
/// Techniques that the lab has no programs for yet.
const TO_COME: [&str; 2] = ["python", "servlet"];

const SQLITE: Needs =
    Needs { headers: &["sqlite3.h"], libraries: &["-lsqlite3"], flags: &[], package: "libsqlite3-dev" };
const POSTGRESQL: Needs = Needs {
    headers: &["libpq-fe.h"],
    libraries: &["-lpq"],
    // Where Debian has it.
    flags: &["-DPOSTGRESQL", "-I/usr/include/postgresql"],
    package: "libpq-dev",
};

impl Database {
    /// What a program in C needs.
    const fn needs(self) -> Needs {
        match self {
            Self::Sqlite => SQLITE,
            Self::Postgresql => POSTGRESQL,
        }
    }

    /// Perl's module, and its package.
    const fn driver(self) -> (&'static str, &'static str) {
        match self {
            Self::Sqlite => ("DBD::SQLite", "libdbd-sqlite3-perl"),
            Self::Postgresql => ("DBD::Pg", "libdbd-pg-perl"),
        }
    }

    /// PHP's extension, and its package.
    const fn extension(self) -> (&'static str, &'static str) {
        match self {
            Self::Sqlite => ("pdo_sqlite", "php8.2-sqlite3"),
            Self::Postgresql => ("pdo_pgsql", "php8.2-pgsql"),
        }
    }

    /// Why nothing can be stored in it here: its rows come from a program in Perl.
    fn unavailable(self) -> Option<String> {
        let (driver, package) = self.driver();
        let server = if self == Self::Postgresql { postgresql::unavailable() } else { None };
        server.or_else(|| probe::perl(&["DBI", driver], package))
    }
}

pub(super) fn techniques(database: Database) -> Vec<Technique> {
    let store = database.unavailable();
    let c = store.clone().or_else(|| compile::unavailable(database.needs()));
    let mut all = vec![probe::technique("cgi-c", c)];
    all.extend(IN_PERL.map(|name| probe::technique(name, store.clone())));
    all.push(probe::php(store.clone().or_else(|| probe::php_extension(database.extension()))));
    all.push(probe::fastcgi(store.or_else(|| probe::perl(&["FCGI"], "libfcgi-perl"))));
    all.extend(TO_COME.map(probe::to_come));
    all
}

pub(super) fn lay_out(database: Database, root: &Path) -> Result<LaidOut> {
    if let Some(why) = database.unavailable() {
        bail!("comments: {why}");
    }
    files::write_all(root, FILES)?;
    if compile::unavailable(database.needs()).is_none() {
        compile::compile(root, "cgi-c/comments.c", "cgi-c/comments", database.needs())?;
    }
    let (dsn, writable, server) = store(database, root)?;
    prepare(root, &dsn)?;
    let configuration = CONFIGURATION.replace("@DSN@", &dsn).replace("@DRIVER@", database.driver().0);
    let site = Site {
        root: root.to_owned(),
        configuration,
        own: [("hostler".to_owned(), HOSTLER.to_owned())].into(),
        environment: vec![("COMMENTS_DSN".to_owned(), dsn)],
        writable,
        ..Site::default()
    };
    Ok(LaidOut { site, database: server })
}

/// Where the rows are kept: its address, the files that programs write to, and the server if there is one.
fn store(database: Database, root: &Path) -> Result<(String, Vec<PathBuf>, Option<Postgresql>)> {
    if database == Database::Postgresql {
        let server = Postgresql::start()?;
        return Ok((server.dsn(), Vec::new(), Some(server)));
    }
    // SQLite writes a journal beside the file, so the folder is written to as well.
    files::make_folder(root, Path::new("data"))?;
    let file = root.join("data/comments.db");
    Ok((format!("dbi:SQLite:dbname={}", file.display()), vec![root.join("data"), file], None))
}

fn prepare(root: &Path, dsn: &str) -> Result<()> {
    let mut command = Command::new("perl");
    command.arg(root.join("prepare.pl")).arg(dsn).stdin(Stdio::null());
    let output = command.output().context("cannot run perl")?;
    if !output.status.success() {
        bail!("the table of comments can't be made: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
