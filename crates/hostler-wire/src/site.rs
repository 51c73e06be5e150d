//! Frames between front and site. The front asks; the site process answers as its Unix user.
//!
//! The site process belongs to a tenant: the front takes nothing it says for granted except that it comes from
//! that tenant, and never lets an answer of one site touch another.

mod connect;

pub use connect::{Connect, ConnectError};

use crate::build::Build;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// The variable that names the directory in which a site's process makes sockets: the user's alone, made by the master.
pub const RUNTIME: &str = "HOSTLER_RUNTIME";
/// The variable that names the directory of what outlives a process of the site: the user's alone, made by the master.
/// Engines get it, too.
pub const STATE: &str = "HOSTLER_STATE";

/// The variable that names the descriptor at which a program that fronts share writes which files it runs: a line each,
/// with device, inode and path. It is of use to no further front when one of them was replaced.
pub const CODE: &str = "HOSTLER_CODE";

/// The front's number for a request on one connection; the answer carries it back.
pub type RequestId = u64;

/// From front to site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToSite {
    /// First of its kind, and of the same form in all builds: a further connection (one per front thread) travels with this frame; it is served like the first.
    Attach,
    /// Walk a path, component by component, and open its end. Answer: [`FromSite::Walked`].
    Walk(Walk),
    /// List a directory. Answer: [`FromSite::Listed`].
    List {
        /// The front's number.
        id: RequestId,
        /// Absolute path of the directory.
        path: ByteBuf,
        /// The prefix of the requested names; empty: all.
        prefix: ByteBuf,
    },
    /// Run a program; its stdin, stdout and stderr (in this order) travel with the frame, for an engine also the
    /// site's end of the socket over which the parent is told of further fronts
    /// ([`crate::engine::ToEngine::Door`]). For a program that listens only stdout and stderr: its stdin is the socket;
    /// none for one that is shared, whose pipes the site makes.
    /// Answer: [`FromSite::Started`], [`FromSite::Listening`], [`FromSite::Adopted`] or [`FromSite::RunFailed`], later
    /// [`FromSite::Exited`].
    Run(Run),
    /// Kill the process group of a program started by `Run` with this id. No answer of its own.
    ///
    /// A parent that works for others, too, goes on for those.
    Kill {
        /// Id of the `Run`.
        id: RequestId,
    },
    /// Asks which pools have a parent, and which programs that listen are running. Reply: [`FromSite::Parents`].
    Parents {
        /// The front's number.
        id: RequestId,
    },
    /// Connect to a Unix socket as the site's user: the front itself connects to no path that a tenant controls, which
    /// could lead to another tenant's socket. Answer: [`FromSite::Connected`] or [`FromSite::ConnectFailed`].
    Connect(Connect),
    /// Write a piece of text to the end of a file, made if there is none: the site's own log (ScriptLog), which is
    /// opened for each entry. Answer: [`FromSite::Appended`].
    Append {
        /// The front's number.
        id: RequestId,
        /// Absolute path, from the operator's configuration.
        path: ByteBuf,
        /// A file that is longer than this, in bytes, gets nothing more.
        most: u64,
        /// The text to write.
        text: ByteBuf,
    },
    /// Make pipes, which count for the site's user and not for the front's. Answer: [`FromSite::Pipes`], or
    /// [`FromSite::NoPipes`].
    Pipes {
        /// The front's number.
        id: RequestId,
        /// The number, at most [`MOST_PIPES`].
        count: u32,
    },
}

/// So many pipes can be asked for at once.
pub const MOST_PIPES: u32 = 3;

/// A path to walk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walk {
    /// The front's number.
    pub id: RequestId,
    /// Absolute path without `.`, `..` and empty components; it may go on past a file (path info).
    pub path: ByteBuf,
    /// Read `.htaccess` files in directories from this depth on (0 = `/`); `u32::MAX`: nowhere.
    pub htaccess_from: u32,
    /// `AccessFileName`: tried in order in each directory, the first that exists counts.
    pub access_files: Vec<ByteBuf>,
    /// Open the end for reading when it is a regular file.
    pub open: bool,
    /// Watch each directory on the way with the connection's inotify descriptor.
    pub watch: bool,
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The front's number.
    pub id: RequestId,
    /// The program to run.
    pub program: Program,
    /// The environment, whole: `NAME=value` entries, nothing is inherited.
    pub env: Vec<ByteBuf>,
    /// Refuse a script whose owner or permissions suexec would not trust: for sites with a user of their own.
    pub suexec: bool,
    /// RLimitCPU, RLimitMEM, RLimitNPROC as (soft, hard); `u64::MAX` is "max".
    pub limits: Limits,
    /// Neither it nor what it starts can gain privileges by set-id programs.
    pub no_new_privs: bool,
}

/// The kinds of programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Program {
    /// A CGI script: checked as suexec checks, run in its own directory.
    Script {
        /// Absolute path.
        path: ByteBuf,
        /// Arguments after the program's name (from a query without `=`, RFC 3875 §4.4).
        args: Vec<ByteBuf>,
    },
    /// SSI `exec cmd`: a command line for `/bin/sh -c`.
    Shell {
        /// The command line.
        command: ByteBuf,
        /// Working directory, absolute: the document's.
        directory: ByteBuf,
    },
    /// A program that serves connections (FastCGI 1.0 §2.2): its descriptor 0 is a listening Unix socket, which the site
    /// makes for it in a directory that the site's user alone may enter, and which has no name there any more.
    Listener {
        /// Absolute path of the program, checked as a script is; a name without a slash is an engine's, which is ours and
        /// held open.
        path: ByteBuf,
        /// Arguments after the program's name.
        args: Vec<ByteBuf>,
        /// Working directory, absolute.
        directory: ByteBuf,
        /// Most connections that wait until the program accepts them (listen(2)).
        backlog: u32,
        /// One that runs already for another front, started by an equal [`Run`], serves this one, too: with the answer come
        /// the reading ends of its stdout and stderr, which are all its fronts'.
        shared: bool,
    },
    /// An engine's parent ([`crate::engine`]): one of [`crate::plan::MasterPlan::engines`], as it was when the server
    /// heard of it.
    Engine {
        /// Its name.
        name: String,
        /// The pool that it is the parent of.
        warm: Warm,
    },
}

/// The code that a warm parent has loaded: a front may take over one that was started for another front.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warm {
    /// The pool's name, the same for all fronts.
    pub pool: String,
    /// Equal where all is equal that a parent is started with and told to load.
    pub key: u64,
    /// A new one is wanted: the one that is there is of no use.
    pub fresh: bool,
}

/// Resource limits for a program; `None`: inherited from the site process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// RLimitCPU, in seconds.
    pub cpu: Option<(u64, u64)>,
    /// RLimitMEM, in bytes.
    pub mem: Option<(u64, u64)>,
    /// RLimitNPROC, processes of the user.
    pub nproc: Option<(u64, u64)>,
    /// NiceValue, 0 to 19: how far it stands back where processors are short.
    pub nice: Option<u8>,
}

/// A program that listens and that some front has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningListener {
    /// Its path, or its name as an engine.
    pub path: ByteBuf,
    /// Its arguments.
    pub args: Vec<ByteBuf>,
}

/// From site to front.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromSite {
    /// First frame on every connection, and of the same form in all builds: the site's build. The connection's inotify descriptor travels with it
    /// (no descriptor where inotify cannot be had: the front then checks with each request).
    Hello(Build),
    /// Answer to [`ToSite::Walk`]; an opened file travels with it.
    Walked(WalkResult),
    /// Answer to [`ToSite::List`].
    Listed {
        /// The front's number.
        id: RequestId,
        /// The entries, unsorted, without `.` and `..`; or the errno.
        entries: Result<Vec<Entry>, i32>,
    },
    /// Answer to [`ToSite::Append`].
    Appended {
        /// The front's number.
        id: RequestId,
        /// True if the site's user could open the file.
        opened: bool,
    },
    /// The program runs.
    Started {
        /// Id of the `Run`.
        id: RequestId,
        /// Its process id, for the log.
        pid: u32,
    },
    /// The program runs, and what connects to its socket is served or waits.
    Listening {
        /// Id of the `Run`.
        id: RequestId,
        /// Its process id, for the log.
        pid: u32,
        /// The name of its socket in [`ToSite::Connect`] to this process.
        path: ByteBuf,
        /// It has run before, for another front.
        adopted: bool,
    },
    /// A parent that runs already with what the `Run` asks for has been told of this front.
    Adopted {
        /// Id of the `Run`.
        id: RequestId,
        /// Its process id, for the log.
        pid: u32,
    },
    /// The program was not started.
    RunFailed {
        /// Id of the `Run`.
        id: RequestId,
        /// Why.
        cause: RunError,
    },
    /// The program has ended (reaped).
    Exited {
        /// Id of the `Run`.
        id: RequestId,
        /// How.
        exit: Exit,
    },
    /// Answer to [`ToSite::Parents`].
    Parents {
        /// The front's number.
        id: RequestId,
        /// The pools' names.
        pools: Vec<String>,
        /// The programs that listen ([`Program::Listener`]).
        programs: Vec<RunningListener>,
    },
    /// Answer to [`ToSite::Connect`]; the connected socket travels with it.
    Connected {
        /// The front's number.
        id: RequestId,
    },
    /// Answer to [`ToSite::Connect`]: there is no connection.
    ConnectFailed {
        /// The front's number.
        id: RequestId,
        /// Why.
        cause: ConnectError,
    },
    /// Answer to [`ToSite::Pipes`]; they travel with it, reader and writer of each.
    Pipes {
        /// The front's number.
        id: RequestId,
    },
    /// Answer to [`ToSite::Pipes`]: they can't be made.
    NoPipes {
        /// The front's number.
        id: RequestId,
        /// errno of what failed.
        errno: i32,
    },
}

/// The exit of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// Why a program was not started; each has one sentence for the error log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RunError {
    /// No such file, or a component is missing.
    #[error("no such program")]
    NotFound,
    /// Not a regular file.
    #[error("it is not a regular file")]
    NotRegular,
    /// The site's user may not execute it.
    #[error("it is not executable by uid {uid} (mode {mode:04o}): chmod +x it")]
    NotExecutable {
        /// The site's uid.
        uid: u32,
        /// Permission bits.
        mode: u32,
    },
    /// Others could have changed the program.
    #[error("it is writable by group or others (mode {mode:04o}): chmod go-w it")]
    Writable {
        /// Permission bits.
        mode: u32,
    },
    /// Others could have replaced the program.
    #[error("its directory is writable by group or others (mode {mode:04o}): chmod go-w the directory")]
    DirectoryWritable {
        /// Permission bits.
        mode: u32,
    },
    /// Set-user-id or set-group-id.
    #[error(
        "it is set-user-id or set-group-id (mode {mode:04o}): chmod ug-s it; a virtual host whose programs need its owner's rights runs as that user (AssignUserID)"
    )]
    SetId {
        /// Permission bits.
        mode: u32,
    },
    /// Owned by neither the site's user nor root.
    #[error("it belongs to uid {owner}, not to the site's uid {uid} or root: chown it")]
    WrongOwner {
        /// The program's owner.
        owner: u32,
        /// The site's uid.
        uid: u32,
    },
    /// execve failed.
    #[error("exec failed: {}", std::io::Error::from_raw_os_error(*errno))]
    Exec {
        /// errno of execve.
        errno: i32,
    },
    /// A `#!` line that names no interpreter that can be run.
    #[error("its first line asks for {interpreter:?}, which can't be run: {hint}")]
    Interpreter {
        /// The interpreter as the first line names it.
        interpreter: String,
        /// The advice.
        hint: String,
    },
    /// Environment and arguments are over the kernel's limit (E2BIG).
    #[error("the request's headers are too large for a program's environment")]
    TooLarge,
    /// No socket could be made for a program that listens.
    #[error("no socket could be made for it in {directory}: {}", std::io::Error::from_raw_os_error(*errno))]
    Listen {
        /// Where.
        directory: String,
        /// errno of what failed.
        errno: i32,
    },
    /// fork failed.
    #[error("fork failed: {}", std::io::Error::from_raw_os_error(*errno))]
    Fork {
        /// errno of fork.
        errno: i32,
    },
}

/// The kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link (only in listings and as a link's own kind).
    Symlink,
    /// A pipe, socket or device: never opened.
    Other,
}

/// A file's metadata, as `fstat` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Kind.
    pub kind: FileKind,
    /// Permission bits with set-id and sticky bits (`st_mode & 07777`).
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of hard links.
    pub nlink: u64,
    /// Size, in bytes.
    pub size: u64,
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Modification time, seconds since the epoch.
    pub mtime: i64,
    /// Nanoseconds of the modification time.
    pub mtime_nsec: u32,
    /// Status change time, seconds since the epoch.
    pub ctime: i64,
    /// Access time, seconds since the epoch.
    pub atime: i64,
}

/// The result of a walk. `levels[0]` is `/`; one level per component that exists, links followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkResult {
    /// The front's number.
    pub id: RequestId,
    /// Each component that was reached. The last one is the end, or the place where the walk stopped:
    /// a file with components left over (path info), or the last directory before an error.
    pub levels: Vec<Level>,
    /// Why the component after the last level could not be reached (errno), if one is missing.
    pub stopped: Option<i32>,
    /// The owner of the symbolic link that stands at that component, if it is one: its target can't be reached
    /// (Apache answers 403 then, not 404).
    pub stopped_link: Option<u32>,
    /// Watches outside the levels: directories that links lead through, files with several hard links. Any event
    /// on one of them makes the whole answer stale.
    pub watches: Vec<i32>,
    /// All that the answer depends on is watched: it holds until an event comes. Otherwise it holds for one
    /// request (no inotify, a directory that may be entered but not read, a file system without events).
    pub watched: bool,
    /// Why the end could not be opened although asked for (errno).
    pub open_errno: Option<i32>,
    /// The end was opened; its descriptor travels with the frame.
    pub opened: bool,
}

/// One component of a walk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// The file there (after following a link).
    pub info: FileInfo,
    /// The owner of the symbolic link, where the component is one.
    pub link_owner: Option<u32>,
    /// The directory's access file, if it has one and was asked for.
    pub htaccess: Option<AccessFile>,
    /// The inotify watch on this directory, where one could be set.
    pub watch: Option<i32>,
}

/// An `.htaccess` file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessFile {
    /// The matching name of [`Walk::access_files`].
    pub name: ByteBuf,
    /// Its text, or the errno for one that exists but can't be read (the request is then refused).
    pub text: Result<ByteBuf, i32>,
}

/// One entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: ByteBuf,
    /// The file there, links followed; `None` for a dangling link.
    pub info: Option<FileInfo>,
    /// The owner of the link, where it is one.
    pub link_owner: Option<u32>,
}
