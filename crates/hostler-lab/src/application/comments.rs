//! E4: the table of comments and its form, in a program for each technique, on SQLite or PostgreSQL.

use super::compile::{self, Needs};
use super::files::{self, Files, files};
use super::postgresql::{self, Postgresql};
use super::{Database, LaidOut, Server, Technique, java, probe};
use crate::contestant::Site;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
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
    "wsgi/comments.py",
    "asgi/comments.py",
    "java/Comments.java",
    "servlet/comments.jsp",
    "servlet/WEB-INF/web.xml",
    "app.psgi",
    "startup.pl",
    "prepare.pl",
    "htdocs/index.html",
];

const CONFIGURATION: &str = include_str!("../../../../lab/applications/comments/site.conf");
const HOSTLER: &str = include_str!("../../../../lab/applications/comments/hostler.conf");

const SERVLETS: &str = include_str!("../../../../lab/applications/comments/hostler-servlet.conf");
const POOL: &str = include_str!("../../../../lab/applications/comments/servlet/META-INF/context.xml");
/// Files that only one peer reads.
const PEERS: [(&str, &str); 2] = [
    ("nginx-fpm", include_str!("../../../../lab/applications/comments/nginx.conf")),
    ("apache-ajp", include_str!("../../../../lab/applications/comments/apache-ajp.conf")),
];

/// Techniques in Perl that need nothing but the database's driver.
const IN_PERL: [&str; 4] = ["cgi-perl", "registry", "handler", "psgi"];
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
    /// Returns the requirements of a program in C.
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

    /// The module of Python's, where it does not come with it, and its package.
    const fn python(self) -> (&'static str, &'static str) {
        match self {
            Self::Sqlite => ("sqlite3", "python3"),
            Self::Postgresql => ("psycopg2", "python3-psycopg2"),
        }
    }

    /// Java's driver: its archive, class and package.
    const fn jdbc(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Sqlite => ("sqlite-jdbc.jar", "org.sqlite.JDBC", "libxerial-sqlite-jdbc-java"),
            Self::Postgresql => ("postgresql.jar", "org.postgresql.Driver", "libpostgresql-jdbc-java"),
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
    let fastcgi_c = store.clone().or_else(|| compile::unavailable(fastcgi(database.needs())));
    all.push(probe::fastcgi("fastcgi-c", fastcgi_c));
    all.push(probe::fastcgi("fastcgi", store.clone().or_else(|| probe::perl(&["FCGI"], "libfcgi-perl"))));
    let python = store.clone().or_else(|| probe::python(database.python()));
    all.extend([probe::wsgi(python.clone()), probe::asgi(python)]);
    let servlet = store.or_else(|| java::unavailable(Some(database.jdbc())));
    all.extend(["servlet", "jsp"].map(|name| probe::servlet(name, servlet.clone())));
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
    if compile::unavailable(fastcgi(database.needs())).is_none() {
        files::make_folder(root, Path::new("fastcgi-c"))?;
        compile::compile(root, "cgi-c/comments.c", "fastcgi-c/comments", fastcgi(database.needs()))?;
    }
    let (dsn, writable, server) = store(database, root)?;
    prepare(root, &dsn)?;
    // Nobody sets variables for an ASGI application's process.
    files::write(root, "asgi/dsn", dsn.as_bytes())?;
    let configuration = CONFIGURATION.replace("@DSN@", &dsn).replace("@DRIVER@", database.driver().0);
    let mut hostler = probe::with_python(HOSTLER);
    if java::unavailable(Some(database.jdbc())).is_none() {
        servlets(database, root, &dsn)?;
        hostler.push_str(SERVLETS);
    }
    let mut own: BTreeMap<_, _> =
        PEERS.iter().map(|(name, text)| ((*name).to_owned(), text.replace("@DSN@", &dsn))).collect();
    own.insert("hostler".to_owned(), hostler);
    let site = Site {
        root: root.to_owned(),
        configuration,
        own,
        environment: vec![("COMMENTS_DSN".to_owned(), dsn)],
        python: Some("comments"),
        writable,
        ..Site::default()
    };
    Ok(LaidOut { site, database: server.map(Server::Postgresql) })
}

/// Creates the store of the rows: its address, the files that programs write to, and the server if there is one.
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

/// The same as a FastCGI program.
fn fastcgi(needs: Needs) -> Needs {
    const OF_SQLITE: Needs = Needs {
        headers: &["sqlite3.h", "fcgiapp.h"],
        libraries: &["-lsqlite3", "-lfcgi"],
        flags: &["-DFASTCGI"],
        package: "libfcgi-dev libsqlite3-dev",
    };
    const OF_POSTGRESQL: Needs = Needs {
        headers: &["libpq-fe.h", "fcgiapp.h"],
        libraries: &["-lpq", "-lfcgi"],
        flags: &["-DFASTCGI", "-DPOSTGRESQL", "-I/usr/include/postgresql"],
        package: "libfcgi-dev libpq-dev",
    };
    if needs.package == SQLITE.package { OF_SQLITE } else { OF_POSTGRESQL }
}

/// The web application: its classes, its database's driver, and where that finds the database.
fn servlets(database: Database, root: &Path, dsn: &str) -> Result<()> {
    let (jar, driver, _) = database.jdbc();
    java::compile(root, "java/Comments.java", "servlet/WEB-INF/classes")?;
    files::make_folder(root, Path::new("servlet/WEB-INF/lib"))?;
    java::copy(jar, &root.join("servlet/WEB-INF/lib"))?;
    let pool = POOL.replace("@DRIVER@", driver).replace("@URL@", &jdbc_url(dsn));
    files::write(root, "servlet/META-INF/context.xml", pool.as_bytes())
}

/// An address of Perl's DBI, as Java's drivers write it.
fn jdbc_url(dsn: &str) -> String {
    if let Some(file) = dsn.strip_prefix("dbi:SQLite:dbname=") {
        return format!("jdbc:sqlite:{file}?busy_timeout=5000");
    }
    let port = dsn.split(';').find_map(|word| word.strip_prefix("port=")).unwrap_or("5432");
    format!("jdbc:postgresql://127.0.0.1:{port}/lab?user=lab")
}

fn prepare(root: &Path, dsn: &str) -> Result<()> {
    let mut command = Command::new("perl");
    command.arg(root.join("prepare.pl")).arg(dsn).stdin(Stdio::null());
    let output = command.output().context("cannot run perl")?;
    if !output.status.success() {
        bail!("the table of comments cannot be made: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
