//! The applications that are measured: the programs and configurations below `lab/applications`, carried in the
//! binary and laid out in a folder of their own for a run.
//!
//! The part of a configuration that is Apache's language serves Hostler and Apache alike; what only one contestant
//! understands is kept apart, by its name ([`Site::own`]).
//!
//! | application | paths |
//! |---|---|
//! | `registry` | `/light`, `/heavy` (handlers), `/perl/light.pl`, `/perl/heavy.pl` (Registry), `/psgi`, `/cgi-perl/hello.pl`, `/cgi-c/hello` |
//! | `include` | `/small.html` (4 kB), `/large.bin` (10 MB), `/page.shtml` |
//! | `isolation` | at the hosts `a.test` and `b.test`: `/handler`, `/cgi-bin/hello.pl`, `/django/`, `/wordpress/`, `/wordpress-cgi/` |
//! | `comments` | `/cgi-c/comments`, `/cgi-perl/comments.pl`, `/perl/comments.pl` (Registry), `/handler/comments`, `/psgi/comments`, `/php/comments.php`, `/fastcgi-c/comments`, `/fastcgi/comments`, `/wsgi/comments`, `/asgi/comments`, `/servlet/comments`, `/servlet/comments.jsp`; `?rows=99` 50 kB, `?rows=146` 73.5 kB, `?rows=389` 195 kB |
//! | `hello` | `/fastcgi-c/hello`, `/fastcgi/hello`, `/php/hello.php`, `/servlet/hello`, `/wsgi/hello`, `/asgi/hello` |
//! | `proxy` | `/proxy/hello`, `/proxy/large.bin` (10 MB), which a server behind answers |
//! | `rewriting` | at the host `a.test`: `/plain/page.html` (4 kB), `/front/article`, `/guarded/page.html`; at `prefixes.test`: `/section-1999/page.html` |
//! | `wordpress` | `/wordpress/` |
//! | `fork` | `/cgi-perl/plain.pl`, `/cgi-perl/form.pl` (with CGI.pm), forked where the server can; `/exec/...` the same as plain CGI; `/php/hello.php`, forked or by php-cgi |

mod comments;
mod compile;
mod daemon;
mod files;
mod fork;
mod hello;
mod include;
mod isolation;
mod java;
mod mariadb;
mod postgresql;
mod probe;
mod proxy;
mod registry;
mod rewriting;
mod wordpress;

pub use registry::{BareWork, bare_work, bare_work_everywhere};

use crate::contestant::Site;
use anyhow::Result;
use std::path::Path;

/// The layout of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The store of the application's data; only `comments` has one.
    pub database: Database,
}

/// A database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Database {
    /// A file.
    #[default]
    Sqlite,
    /// A server that the lab starts for the run, and ends with it.
    Postgresql,
}

/// A technique of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Technique {
    /// As scenarios name it: `cgi-c`, `registry` ...
    pub name: &'static str,
    /// Why nobody can do it here, and what would help: `there is no C compiler; apt-get install gcc libc6-dev`.
    pub unavailable: Option<String>,
    /// Why some servers cannot, by the beginning of their names: `hostler`: `this Hostler was built without PHP; ...`.
    pub lacking: Vec<(&'static str, String)>,
}

impl Technique {
    /// Why a server cannot do it here.
    #[must_use]
    pub fn unavailable_at(&self, server: &str) -> Option<String> {
        let lacking = self.lacking.iter().find(|(name, _)| server.starts_with(name));
        self.unavailable.clone().or_else(|| lacking.map(|(_, why)| why.clone()))
    }
}

/// An application in its folder. Dropping it ends its database server, if it has one; the folder is the caller's.
#[derive(Debug)]
pub struct LaidOut {
    /// For contestants.
    pub site: Site,
    #[expect(dead_code, reason = "kept for its end")]
    database: Option<Server>,
}

/// A database, or a server behind others, that was started for an application.
#[derive(Debug)]
#[expect(dead_code, reason = "kept for their end")]
enum Server {
    Backend(proxy::Backend),
    Mariadb(mariadb::Mariadb),
    Postgresql(postgresql::Postgresql),
}

/// The applications' names.
#[must_use]
pub fn all() -> &'static [&'static str] {
    &["registry", "include", "isolation", "comments", "fork", "hello", "proxy", "rewriting", "wordpress"]
}

/// Returns the techniques that can serve an application here.
///
/// # Errors
/// No such application: with those that exist.
pub fn techniques(name: &str, options: &Options) -> Result<Vec<Technique>> {
    match name {
        "registry" => Ok(registry::techniques()),
        "include" => Ok(include::techniques()),
        "isolation" => Ok(isolation::techniques()),
        "fork" => Ok(fork::techniques()),
        "hello" => Ok(hello::techniques()),
        "proxy" => Ok(proxy::techniques()),
        "rewriting" => Ok(rewriting::techniques()),
        "wordpress" => Ok(wordpress::techniques()),
        "comments" => Ok(comments::techniques(options.database)),
        _ => Err(unknown(name)),
    }
}

/// Writes an application's files to `root`, which exists and is made readable for every user, and starts its database.
/// Techniques that cannot be had here ([`techniques`]) are left out.
///
/// # Errors
/// No such application, a full disk, or a database that does not start.
pub fn lay_out(name: &str, options: &Options, root: &Path) -> Result<LaidOut> {
    let without_database = |site| LaidOut { site, database: None };
    match name {
        "registry" => registry::lay_out(opened(root)?).map(without_database),
        "include" => include::lay_out(opened(root)?).map(without_database),
        "isolation" => isolation::lay_out(opened(root)?),
        "fork" => fork::lay_out(opened(root)?).map(without_database),
        "hello" => hello::lay_out(opened(root)?).map(without_database),
        "proxy" => proxy::lay_out(opened(root)?),
        "rewriting" => rewriting::lay_out(opened(root)?).map(without_database),
        "wordpress" => wordpress::lay_out_alone(opened(root)?),
        "comments" => comments::lay_out(options.database, opened(root)?),
        _ => Err(unknown(name)),
    }
}

fn opened(root: &Path) -> Result<&Path> {
    files::make_readable(root)?;
    Ok(root)
}

fn unknown(name: &str) -> anyhow::Error {
    anyhow::anyhow!("unknown application {name:?} (expected one of {})", all().join(", "))
}
