//! Techniques: who answers where a handler is a program's. Each is a row, a value in a crate of its own; the program
//! installs the table of them before it reads anything ([`install`]). Configuration, front, `hostler explain` and the lab
//! ask the rows, and know no technique by name.

use crate::directives::pool::Isolation;
use crate::{Config, DirConfig, Module, Origin, Server, ServerConfig};
use hostler_wire::engine::Setup;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fmt, io};

/// One technique of dynamic content.
#[derive(Debug)]
pub struct Technique {
    /// The name in `hostler explain` and the lab: `psgi`.
    pub name: &'static str,
    /// True if it is there at all: without its engine its handlers and directives are those of a missing module.
    pub is_there: fn() -> bool,
    /// Handlers that it answers for, in lower case (SetHandler, AddHandler, and types that mean one). The first is what
    /// the others mean.
    pub handlers: &'static [&'static str],
    /// The ways to run its programs; the first one is the default.
    pub ways: &'static [Way],
    /// Isolations that it can't have, each with a sentence that says why and what to do.
    pub refused: &'static [(Isolation, &'static str)],
    /// The phases of a request in which its programs take part.
    pub phases: Phases,
    /// Its directives.
    pub modules: &'static [&'static Module],
    /// True if a name is one of its module in whatever version. Apache with the module of today lacks the others, too.
    pub is_other_version: fn(&str) -> bool,
    /// `Some`: it answers in warm workers and no more, and the front needs no module for it.
    pub plain: Option<Plain>,
    /// True if one program answers for all URLs where these settings hold, whatever files there are: then directories
    /// have no slash at their end and no index, unless `DirectoryCheckHandler` is Off.
    pub is_whole: fn(&DirConfig) -> bool,
    /// `Some`: its programs answer below URL paths, whatever handlers and files there are.
    pub applications: Option<&'static Applications>,
    /// How `hostler serve` serves its programs.
    pub serve: Serve,
    /// Describes the handler of a file, for `hostler explain`: `the PSGI application /srv/app.psgi, in a warm worker`.
    pub answers: fn(&DirConfig, file: &str) -> String,
}

/// Applications that a virtual host maps to URL paths.
#[derive(Clone, Copy, Debug)]
pub struct Applications {
    /// Returns whether a virtual host has some.
    pub are_there: fn(&ServerConfig) -> bool,
    /// Finds and describes the one that answers for a URL's path, decoded: `the application /srv/shop.war, in ...`.
    pub find: fn(&ServerConfig, path: &[u8]) -> Option<String>,
    /// Takes them away from the server of a user's directory (`UserDir`): they belong to the virtual host's own user.
    pub take_away: fn(&mut ServerConfig),
    /// Finds obstacles to them before a start.
    pub examine: fn(&Config, WhyNot) -> Vec<Complaint>,
}

/// Asks an installed program, by its name without the `hostler-`, why it cannot run; `None`: it can.
pub type WhyNot = fn(program: &str) -> Option<String>;

/// How `hostler serve` serves a technique's programs.
#[derive(Clone, Copy, Debug)]
pub struct Serve {
    /// Lines of the configuration of each folder that is served: its handlers by suffix.
    pub lines: &'static str,
    /// Recognises an application, which then answers for all URLs.
    pub recognize: fn(&Word<'_>) -> Option<Result<Served, String>>,
}

impl Serve {
    /// Nothing.
    pub const NOTHING: Self = Self { lines: "", recognize: |_| None };
}

/// Numbers of a user and a group.
pub type UserAndGroup = (u32, u32);

/// The argument of `hostler serve`.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// As it was written.
    pub path: &'a Path,
    /// Returns the user and the group that the application of a file or folder runs as, where that can be chosen: code of it
    /// is run as them only.
    pub user: fn(&Path) -> io::Result<Option<UserAndGroup>>,
}

/// An application that was recognized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The word for it, absolute, with which it is recognized again.
    pub word: PathBuf,
    /// The file, or the folder, that its user has to be able to read, and whose owner that is.
    pub path: PathBuf,
    /// The server's document root.
    pub directory: PathBuf,
    /// The lines that serve it.
    pub lines: String,
    /// A sentence that tells the operator what it was taken for; empty: there is no doubt.
    pub sentence: String,
}

/// A path as a word in quotes.
///
/// # Errors
/// It has characters that a configuration can't contain.
pub fn quoted(path: &Path) -> Result<&str, String> {
    path.to_str().filter(|path| !path.contains(['"', '\n', '\\', '$', '%'])).ok_or_else(|| {
        format!("the path {} has characters that a configuration can't contain", path.display())
    })
}

/// The front's facts about a technique without a module.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    /// Encodes a directory's settings for workers beyond those of all engines, as bytes that only they read.
    pub directory: fn(&DirConfig) -> Vec<u8>,
    /// True if requests are run to their end whose client has gone.
    pub runs_to_end: bool,
}

/// An isolation, and who runs programs so.
pub type Way = (Isolation, Via);

/// The process that runs programs.
#[derive(Clone, Copy, Debug)]
pub enum Via {
    /// Warm workers of an engine.
    Ring(&'static Engine),
    /// The site's process starts a program for each request (CGI).
    Program,
    /// The site's process starts programs that listen at a socket (FastCGI, say), for request after request.
    Listener,
}

/// The phases of a request that belong to a technique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// It answers.
    Response,
    /// Its programs may have functions in all of them.
    All,
}

/// A language's runtime, in warm processes. Techniques may share one, and then share its pools.
pub struct Engine {
    /// Pools are called by it.
    pub name: &'static str,
    /// The program that runs a virtual host's, without the `hostler-` before it; the name, but where there are several
    /// versions.
    pub program: fn(&Server) -> &'static str,
    /// The language, for sentences: `Perl`.
    pub language: &'static str,
    /// Names the runtime of a virtual host's programs, for sentences: `mod_perl 2`, `PHP 8.2`.
    pub title: fn(&Server) -> String,
    /// The module's name in logs.
    pub log: &'static str,
    /// Distinguishes pools of one site that cannot share a process, as generations of an API: any number.
    pub generation: fn(&Server) -> u8,
    /// True if a virtual host has a pool for itself, since what it says for the runtime is not the main server's.
    pub stands_alone: fn(main: &Server, own: &Server) -> bool,
    /// True if a section names programs for it, beside the handlers.
    pub has_say: fn(&DirConfig) -> bool,
    /// True if a virtual host does, outside of sections.
    pub has_say_in_server: fn(&ServerConfig) -> bool,
    /// Returns the setup of a pool's parent before it forks workers: for virtual hosts by their indexes in
    /// [`Config::servers`], a generation, and whether each worker serves one request.
    pub setup: fn(&Config, servers: &[u32], generation: u8, one_shot: bool) -> Setup,
    /// True if its programs are divided into groups, each with a pool of its own.
    pub groups: Option<&'static Groups>,
    /// `Some`: its programs are asked for their versions before anything is read.
    pub versions: Option<&'static Versions>,
}

/// An engine that may be missing, and of which several versions may be installed: the programs `hostler-NAME` and
/// `hostler-NAME8.2`. What is installed determines the configuration's language, so it is noted before anything is read, once in
/// a process.
pub struct Versions {
    /// Notes the programs that are installed.
    pub note: fn(Vec<VersionReply>),
    /// The versions that have been noted, for another process.
    pub noted: fn() -> Vec<String>,
    /// Notes what another process has noted.
    pub recall: fn(&[String]),
    /// Notes that the engine is installed, in no version in particular: for documentation.
    pub assume: fn(),
}

/// A program of an engine, without the `hostler-` before it, and its reply to `--version`, or why there is none.
pub type VersionReply = (String, Result<String, String>);

/// A fault: the place, the directive, and the reason.
pub type Complaint = (Origin, &'static str, String);

/// Names and values.
pub type Variables = Vec<(String, String)>;

/// Groups of an engine's programs. A request's group is known when the request is: each name is a pool of its own, of the
/// virtual hosts that would else share one.
pub struct Groups {
    /// Adds to what the parent of a pool is told what is its group's.
    pub setup: fn(&Config, servers: &[u32], group: &str, &mut Setup),
    /// Variables for the engine's program, beside those that all get.
    pub environment: fn(&Config, servers: &[u32], group: &str) -> Variables,
    /// The sizes of a group's pool.
    pub sizes: fn(&Config, servers: &[u32], group: &str) -> Sizes,
    /// Finds impossible groups in the configuration: the place, the directive, and the reason.
    pub check: fn(&Config) -> Vec<Complaint>,
    /// Sections of the server's configuration alone make groups, so their number needs no limit: `HostlerMemory` bounds
    /// their processes. Otherwise requests make them, as by the names of scripts.
    pub are_configured: bool,
}

/// Sizes of a group's pool, where they are not those of a pool that is not divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Workers at most.
    pub max_workers: Option<u32>,
    /// Requests of a worker's life; 0: no limit.
    pub max_requests: Option<u32>,
    /// Seconds until a pool that nobody uses ends.
    pub idle: Option<u32>,
    /// Seconds that a request may wait for a worker.
    pub queue_timeout: Option<u32>,
}

impl PartialEq for Engine {
    /// No two rows have engines of one name that differ ([`install`]).
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Engine {}

impl std::hash::Hash for Engine {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Technique {
    /// The isolation that holds in a directory: the configured one, or what is usual for the technique.
    #[must_use]
    pub fn isolation(&self, dir: &DirConfig) -> Isolation {
        dir.pool.isolation.or(self.ways.first().map(|way| way.0)).unwrap_or(Isolation::Exec)
    }

    /// Returns the process that runs its programs at an isolation; `None`: not available.
    #[must_use]
    pub fn via(&self, isolation: Isolation) -> Option<Via> {
        self.ways.iter().find(|way| way.0 == isolation).map(|way| way.1)
    }

    /// Why it can't have an isolation.
    #[must_use]
    pub fn why_not(&self, isolation: Isolation) -> Option<&'static str> {
        self.refused.iter().find(|refused| refused.0 == isolation).map(|refused| refused.1)
    }

    /// The engine that runs its programs where no isolation is given.
    #[must_use]
    pub fn engine(&self) -> Option<&'static Engine> {
        self.ways.first().and_then(|(_, via)| via.engine())
    }
}

impl Via {
    /// The engine, if one runs the programs.
    #[must_use]
    pub fn engine(self) -> Option<&'static Engine> {
        match self {
            Self::Ring(engine) => Some(engine),
            Self::Program | Self::Listener => None,
        }
    }
}

type Rows = &'static [&'static Technique];

/// The installed table, for the life of the process.
struct Table {
    rows: Rows,
    engines: Vec<&'static Engine>,
}

static TABLE: OnceLock<Table> = OnceLock::new();

/// Installs the table. To be called once in a process, before anything is read; a second time only with the same rows.
///
/// # Errors
/// The fault in the rows, or that something was read without them.
pub fn install(rows: Rows) -> Result<(), String> {
    let table = Table { rows, engines: check(rows)? };
    if !std::ptr::eq(TABLE.get_or_init(|| table).rows, rows) {
        return Err("another table of techniques is in use".to_owned());
    }
    Ok(())
}

/// The engines of the rows, each once, in the order of their names.
fn check(rows: Rows) -> Result<Vec<&'static Engine>, String> {
    let (mut names, mut handlers) = (HashMap::new(), HashMap::new());
    let mut engines: Vec<&'static Engine> = Vec::new();
    for row in rows {
        if names.insert(row.name, ()).is_some() {
            return Err(format!("there are two techniques {}", row.name));
        }
        for handler in row.handlers {
            if let Some(other) = handlers.insert(handler.to_ascii_lowercase(), row.name) {
                return Err(format!("the handler {handler} is {other}'s and {}'s", row.name));
            }
        }
        check_ways(row)?;
        for engine in row.ways.iter().filter_map(|way| way.1.engine()) {
            match engines.iter().find(|known| known.name == engine.name) {
                Some(known) if !std::ptr::eq(*known, engine) => {
                    return Err(format!("there are two engines {}", engine.name));
                }
                Some(_) => {}
                None => engines.push(engine),
            }
        }
    }
    engines.sort_by_key(|engine| engine.name);
    Ok(engines)
}

/// Each isolation is possible in one way, or is refused with a reason.
fn check_ways(row: &Technique) -> Result<(), String> {
    for isolation in Isolation::ALL {
        let ways = row.ways.iter().filter(|way| way.0 == isolation).count();
        let reasons = row.refused.iter().filter(|refused| refused.0 == isolation).count();
        if ways + reasons != 1 {
            let name = isolation.name();
            return Err(format!("{}: Isolation {name} has {ways} ways and {reasons} reasons", row.name));
        }
    }
    Ok(())
}

/// Returns the table. The first look without one settles that there is none.
fn table() -> &'static Table {
    #[cfg(not(test))]
    let rows: Rows = &[];
    #[cfg(test)]
    let rows = tests::ROWS;
    TABLE.get_or_init(|| Table { rows, engines: check(rows).unwrap_or_default() })
}

/// All techniques.
#[must_use]
pub fn all() -> &'static [&'static Technique] {
    table().rows
}

/// All engines, in the order of their names.
#[must_use]
pub fn engines() -> &'static [&'static Engine] {
    &table().engines
}

/// The technique that answers for a handler, by its name in lower case.
#[must_use]
pub fn of_handler(name: &[u8]) -> Option<&'static Technique> {
    let answers = |row: &&&Technique| row.handlers.iter().any(|own| own.as_bytes() == name);
    all().iter().find(answers).copied().filter(|row| (row.is_there)())
}

#[cfg(test)]
pub(crate) mod tests;
