//! The servers that are measured: how each is found, configured, started on a free port, counted and stopped.
//!
//! Hostler and the Apaches get the very same configuration text ([`Site::configuration`]) behind a few lines of their
//! own (`configuration.rs`). Whatever is started is ended again: when [`Running`] is dropped, and by the kernel when
//! the lab itself is killed.

mod apache;
mod companion;
mod configuration;
mod cost;
mod counting;
mod group;
mod kind;
mod memory;
mod permissions;
mod processes;
mod start;
mod tracer;
mod users;

use crate::run::{Cost, Server};
use anyhow::{Context, Result};
use kind::Kind;
pub(crate) use kind::{hostler, installed as program_file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use counting::{Counting, Counts};
pub use memory::ProcessMemory;
pub use start::Running;
pub use users::{second_user, site_user};

/// The uid of Hostler's front when the lab runs as root: a user of its own, which owns no file and needs no name.
const SERVER_USER: u32 = 64_100;

/// The site that a contestant serves.
///
/// Texts may contain `@ROOT@` (the folder), `@PORT@`, `@RUN@` (a folder for sockets and the like; `@RUN@/state` in it is the site's user's), `@SITE_USER@` and
/// `@SECOND_USER@` (their numbers as `AssignUserID` wants them, for user and group alike: `#33`), and `@WORKERS@` on a line of its own:
/// where Hostler is told [`Site::workers`], at the end of the virtual host whose pool it is.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The folder made for it: `htdocs`, `perl`, `cgi-bin`, `lib`, `app.psgi` ... whatever the application has. When
    /// the lab is root it is opened for all users to read.
    pub root: PathBuf,
    /// Configuration in Apache's language, for Hostler and Apache alike; `Listen`, `User`, logs and modules are not
    /// its business.
    pub configuration: String,
    /// Further configuration by contestant name: what only that one has (`apache`: all Apaches), or its own language
    /// (nginx: what is inside of `server { }`, instead of static files and SSI below `@ROOT@/htdocs`; starman: its
    /// arguments, one a line, before the application `app.psgi`).
    /// nginx has a second text, `nginx-http`, for what is outside of `server { }`.
    pub own: BTreeMap<String, String>,
    /// By contestant name, a shell script that runs before and beside it, as the site's user: programs that it does not
    /// start by itself. It makes the file `@RUN@/state/ready` when they are there.
    pub first: BTreeMap<String, String>,
    /// PHP's settings for php-fpm, below the folder; others are told by their configuration.
    pub php_ini: Option<PathBuf>,
    /// The module in `wsgi` and `asgi` that has `application`, for servers that take one.
    pub python: Option<&'static str>,
    /// Processor share all its processes may use together: 0.1 is a tenth of one core.
    pub cpu: Option<f64>,
    /// Exactly so many workers, for those that have a pool of them: Hostler, Apache prefork and itk, Starman.
    pub workers: Option<u32>,
    /// Environment variables of the programs (a database's address).
    pub environment: Vec<(String, String)>,
    /// Files and folders that programs write to: given to the site's user when the lab is root.
    pub writable: Vec<PathBuf>,
    /// True if the configuration itself says who servers and programs run as (`User`, `AssignUserID`).
    pub names_users: bool,
}

/// Returns the path of Apache's module with this short name (`alias`), if it is installed.
pub(crate) fn apache_module(name: &str) -> Option<PathBuf> {
    apache::Apache::find()?.module(name)
}

/// The virtual environment that uvicorn and Granian run in, where every user may use it: an ASGI application of Hostler's runs
/// in the same one, with the event loop that it has.
pub(crate) fn python_environment() -> Option<PathBuf> {
    let folder = kind::of_environment("python")?.parent()?.parent()?.to_owned();
    permissions::passable(&folder).is_ok().then_some(folder)
}

/// The program of a contestant, if it is installed.
#[must_use]
pub fn program(name: &str) -> Option<PathBuf> {
    Kind::named(name)?.program()
}

/// Contestants that we know, installed or not, in the order of reports.
#[must_use]
pub fn known() -> Vec<Server> {
    Kind::ALL.into_iter().map(Kind::server).collect()
}

impl Running {
    /// Starts one on a free port of 127.0.0.1 and waits until it answers. Its configuration and logs are in `folder`.
    /// The thread that calls this must stay: the kernel ends the contestant with it.
    ///
    /// # Errors
    /// Not known, not installed, the processor cannot be capped, or it does not start: with its log's last lines.
    pub fn start(name: &str, site: &Site, folder: &Path) -> Result<Self> {
        let kind = Kind::named(name).with_context(|| {
            let names: Vec<_> = Kind::ALL.into_iter().map(Kind::name).collect();
            format!("unknown contestant {name:?} (expected one of {})", names.join(", "))
        })?;
        if let Some(why) = kind.unavailable() {
            anyhow::bail!("{name}: {why}");
        }
        start::start(kind, site, folder, &mut start::free_ports())
    }

    /// Ends if the process that was started has ended by itself: why, with its log's last lines.
    pub fn died(&mut self) -> Option<String> {
        self.ended().map(|how| format!("{} {how}\n{}", self.kind.name(), self.last_lines()))
    }

    /// Returns the resources that all of its processes have used so far and hold now. To be taken before and after a
    /// measurement.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.count()
    }
}

#[cfg(test)]
mod tests;
