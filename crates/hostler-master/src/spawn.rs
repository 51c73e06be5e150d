//! Starting the planner, fronts and sites: who gets which descriptors, limits and identity.
//!
//! Every child has `/dev/null` as its input, our stderr for what it can tell nobody else, and one socket as
//! descriptor 3. Front and site lead their own sessions, so that a terminal's Ctrl-C is the master's to handle;
//! and the kernel kills each of them when the master dies.

use hostler_sys::limits::{Bounds, Limit};
use hostler_sys::process::{Identity, Pid, Program, Spawn, SpawnError, spawn};
use hostler_sys::socket::{seqpacket_pair, stream_pair};
use hostler_sys::{memfd, notify};
use hostler_wire::logs::{self, KNOWN, KnownLog, Reopen};
use hostler_wire::plan::{self, SitePlan};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::time::Instant;

use crate::control::Channel;
use crate::door::Door;
use crate::generation::{Front, Generation};
use crate::groups::Place;
use crate::logs::Reopening;
use crate::plan::Planning;
use crate::programs::Programs;
use crate::site::ForFront;
use crate::watchdog::Life;

/// The number of the socket in every child.
const SOCKET: i32 = 3;
/// The number of the socket in sites over which fronts of later generations are attached.
const DOOR: i32 = 4;
/// The number of the first engine in sites; the others follow. One that is not installed leaves its number free.
const FIRST_ENGINE: i32 = 5;

/// The part of our environment that fronts and sites get; the planner gets all of it except the service manager's
/// variables, for `${NAME}` in the configuration.
const PASSED_ON: [&str; 4] = ["PATH", "TZ", "RUST_BACKTRACE", "HOSTLER_LOG"];

/// The common parts of all children.
pub(crate) struct Nursery {
    programs: Programs,
    planner_args: Vec<CString>,
    null: File,
    environment: Vec<CString>,
    few: Vec<CString>,
    /// The limit of open descriptors as it was before we raised ours: what programs of sites expect.
    descriptors: Bounds,
}

/// Why there is no such child.
fn failed(name: &str, error: &SpawnError) -> String {
    format!("can't start {name}: {error}")
}

fn no_socket(error: &io::Error) -> SpawnError {
    SpawnError { step: "socketpair", errno: error.raw_os_error().unwrap_or_default() }
}

fn identity(planned: Option<&plan::Identity>) -> Option<Identity> {
    planned.map(|i| Identity { uid: i.uid, gid: i.gid, groups: i.groups.clone() })
}

impl Nursery {
    /// # Errors
    /// `/dev/null` can't be opened.
    pub(crate) fn new(
        programs: Programs,
        planner_args: Vec<CString>,
        descriptors: Bounds,
    ) -> Result<Self, String> {
        let null = File::options().read(true).write(true).open("/dev/null");
        let entries = |only: Option<&[&str]>| -> Vec<CString> {
            let wanted = |name: &OsString| match only {
                Some(only) => only.iter().any(|passed| name == passed),
                None => notify::VARIABLES.iter().all(|managers| name != managers),
            };
            let all = std::env::vars_os().filter(|(name, _)| wanted(name));
            all.filter_map(|(name, value)| entry(name, value)).collect()
        };
        Ok(Self {
            programs,
            planner_args,
            null: null.map_err(|e| format!("can't open /dev/null: {e}"))?,
            environment: entries(None),
            few: entries(Some(&PASSED_ON)),
            descriptors,
        })
    }

    /// Holds the engines of a plan from now on.
    ///
    /// # Errors
    /// Which can't be held, and why.
    pub(crate) fn hold(&mut self, engines: &[String]) -> Result<(), String> {
        self.programs.hold(engines)
    }

    /// Starts the planner, which gets to know the logs of a running generation.
    ///
    /// # Errors
    /// Why it can't be started.
    pub(crate) fn planner(&self, logs: &[KnownLog], now: Instant) -> Result<Planning, String> {
        let (pid, socket) = self.planners("the planner", &self.planner_args, logs::encode(&logs))?;
        Ok(Planning::new(pid, socket, now))
    }

    /// Starts the program that opens logs again, which is the planner's.
    ///
    /// # Errors
    /// Why it can't be started.
    pub(crate) fn reopener(&self, reopen: Reopen, now: Instant) -> Result<Reopening, String> {
        let name = self.planner_args.first().cloned().unwrap_or_default();
        let args = [name, c"reopen-logs".to_owned()];
        let (pid, socket) = self.planners("the program that opens logs", &args, logs::encode(&reopen))?;
        Ok(Reopening::new(pid, socket, reopen.logs, now))
    }

    /// Starts the planner's program with the master's rights; `known` becomes its [`KNOWN`].
    fn planners(
        &self,
        name: &str,
        args: &[CString],
        known: io::Result<Vec<u8>>,
    ) -> Result<(Pid, OwnedFd), String> {
        let why = |e: SpawnError| failed(name, &e);
        let (ours, theirs) = stream_pair().map_err(|e| why(no_socket(&e)))?;
        let known = known.and_then(|bytes| memfd::sealed("hostler-logs", &bytes));
        let known = known.map_err(|e| format!("can't make a memory file for {name}: {e}"))?;
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let pid = spawn(&Spawn {
            program: &self.programs.planner,
            args,
            env: &self.environment,
            fds: &[
                (self.null.as_fd(), 0),
                (stdout.as_fd(), 1),
                (stderr.as_fd(), 2),
                (theirs.as_fd(), SOCKET),
                (known.as_fd(), KNOWN),
            ],
            identity: None,
            group: None,
            limits: &[],
            directory: None,
            no_new_privs: false,
            dies_with_parent: true,
            own_session: true,
        });
        Ok((pid.map_err(why)?, ours))
    }

    /// Starts a front for a generation and briefs it; `sites`: processes that are there for it already.
    ///
    /// # Errors
    /// Why it can't be started.
    pub(crate) fn front(
        &self,
        generation: &Generation,
        sites: Vec<ForFront>,
        now: Instant,
    ) -> Result<Front, String> {
        let why = |e: SpawnError| failed("hostler-front", &e);
        let (ours, theirs) = seqpacket_pair().map_err(|e| why(no_socket(&e)))?;
        let number = CString::new(generation.number.to_string()).unwrap_or_default();
        let args = [c"hostler-front:".to_owned(), c"generation".to_owned(), number];
        let identity = identity(generation.plan.front.as_ref());
        // A front runs nobody's programs: nothing it could start may gain privileges.
        let daemon = Daemon {
            program: &self.programs.front,
            args: &args,
            socket: &theirs,
            door: None,
            identity: identity.as_ref(),
            limits: &[],
            group: None,
            homes: &[],
            no_new_privs: true,
        };
        let pid = self.daemon(&daemon).map_err(why)?;
        let mut channel = Channel::new(ours);
        generation.brief(&mut channel, sites);
        Ok(Front {
            pid,
            channel,
            since: now,
            ready_by: Some(now + generation.ready_timeout()),
            closed: false,
            released: false,
            cut_off: false,
            life: Life::default(),
        })
    }

    /// Starts a site process, with its directories in the environment; returns it, the front's end of its socket, and its door.
    ///
    /// # Errors
    /// The failed step and its errno.
    pub(crate) fn site(
        &self,
        site: &SitePlan,
        place: Option<&Place>,
        homes: &[CString],
    ) -> Result<(Pid, OwnedFd, Door), SpawnError> {
        let (ours, theirs) = stream_pair().map_err(|e| no_socket(&e))?;
        let (door, inside) = Door::pair().map_err(|e| no_socket(&e))?;
        let args = [c"hostler-site:".to_owned(), CString::new(site.name.as_str()).unwrap_or_default()];
        let identity = identity(site.identity.as_ref());
        let limits = [(Limit::Descriptors, self.descriptors)];
        // Its CGI programs may be set-id ones or use them: `sendmail` of most mail servers is.
        let daemon = Daemon {
            program: &self.programs.site,
            args: &args,
            socket: &theirs,
            door: Some(&inside),
            identity: identity.as_ref(),
            limits: &limits,
            group: place.map(|place| place.entrance.as_fd()),
            homes,
            no_new_privs: false,
        };
        let pid = self.daemon(&daemon)?;
        Ok((pid, ours, door))
    }

    fn daemon(&self, daemon: &Daemon<'_>) -> Result<Pid, SpawnError> {
        let stderr = io::stderr();
        let null = self.null.as_fd();
        let mut env = self.few.clone();
        env.extend_from_slice(daemon.homes);
        let mut fds = vec![(null, 0), (null, 1), (stderr.as_fd(), 2), (daemon.socket.as_fd(), SOCKET)];
        fds.extend(daemon.door.map(|door| (door.as_fd(), DOOR)));
        // The front starts nothing.
        if !daemon.no_new_privs {
            let numbered = (FIRST_ENGINE..).zip(&self.programs.engines);
            fds.extend(numbered.map(|(number, engine)| (engine.program.as_fd(), number)));
            env.extend(self.programs.names());
        }
        spawn(&Spawn {
            program: daemon.program,
            args: daemon.args,
            env: &env,
            fds: &fds,
            identity: daemon.identity,
            group: daemon.group,
            limits: daemon.limits,
            directory: Some(c"/"),
            no_new_privs: daemon.no_new_privs,
            dies_with_parent: true,
            own_session: true,
        })
    }
}

/// The differences between fronts and sites.
struct Daemon<'a> {
    program: &'a Program,
    args: &'a [CString],
    socket: &'a OwnedFd,
    door: Option<&'a OwnedFd>,
    identity: Option<&'a Identity>,
    limits: &'a [(Limit, Bounds)],
    group: Option<BorrowedFd<'a>>,
    homes: &'a [CString],
    no_new_privs: bool,
}

fn entry(name: OsString, value: OsString) -> Option<CString> {
    let mut entry = name.into_vec();
    entry.push(b'=');
    entry.extend(value.into_vec());
    CString::new(entry).ok()
}
