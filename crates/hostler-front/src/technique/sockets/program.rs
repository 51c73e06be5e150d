//! Programs that the site's process starts, as its user, with a listening socket as their descriptor 0.

use super::{Held, reach};
use crate::log;
use crate::request::thread::Thread;
use crate::site::connection::Running;
use hostler_config::Server;
use hostler_gateway::backend::stream::Protocol;
use hostler_gateway::supervisor::Process;
use hostler_gateway::supervisor::listen::{self, Host};
use hostler_gateway::{Error, Kind};
use hostler_sys::pipe::Direction;
use hostler_wire::site::{Exit, Limits, Program, Run};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

/// A program that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listening {
    /// Absolute; or the name of an engine, without a slash.
    pub(crate) path: Box<[u8]>,
    /// After its name.
    pub(crate) args: Vec<Box<[u8]>>,
    /// Working directory, absolute.
    pub(crate) directory: Box<[u8]>,
    /// The whole environment: `NAME=value`.
    pub(crate) env: Vec<Box<[u8]>>,
    /// Most connections that wait until the program accepts them.
    pub(crate) backlog: u32,
    pub(crate) limits: Limits,
    /// The file's identity: device, inode, and time of the last change; a replaced file is another program.
    pub(crate) version: (u64, u64, i64, u32),
    /// Most processes of the site's programs together, this one among them.
    pub(crate) most: u32,
    /// It goes on over a reload: the front of the next generation has it, too.
    pub(crate) shared: bool,
    /// The module named in its log lines; `None`: the protocol's.
    pub(crate) module: Option<&'static str>,
}

impl Hash for Listening {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.path, &self.args, &self.directory, &self.env, self.version).hash(state);
    }
}

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.contains(&b'/') {
            // An engine, whose arguments are ours, and long.
            return write!(f, "hostler-{}", self.path.escape_ascii());
        }
        write!(f, "{}", self.path.escape_ascii())?;
        self.args.iter().try_for_each(|argument| write!(f, " {}", argument.escape_ascii()))
    }
}

/// Starts it, for one pool.
pub(super) struct RunningProgram {
    thread: Rc<Thread>,
    server: Arc<Server>,
    program: Listening,
    connect_timeout: Duration,
    /// Processes of the site's programs.
    running: Arc<AtomicU32>,
    /// Its connections.
    held: Held,
    /// The protocol's, for the log.
    module: &'static str,
}

/// A process's place among those of its site.
struct Place(Arc<AtomicU32>);

impl Place {
    fn take(running: &Arc<AtomicU32>, most: u32) -> Result<Self, Error> {
        let place = Self(running.clone());
        if running.fetch_add(1, Relaxed) < most {
            return Ok(place);
        }
        let why =
            format!("the site's FastCGI programs have {most} processes, as many as FcgidMaxProcesses allows");
        Err(Error::because(Kind::WorkerNotMade, why))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl RunningProgram {
    pub(super) fn new<P: Protocol>(
        thread: &Rc<Thread>,
        server: &Arc<Server>,
        program: &Listening,
        connect_timeout: Duration,
        running: &Arc<AtomicU32>,
        held: Held,
    ) -> Self {
        let module = program.module.unwrap_or(P::NAME);
        let (thread, server, program) = (thread.clone(), server.clone(), program.clone());
        Self { thread, server, program, connect_timeout, running: running.clone(), held, module }
    }

    fn run(&self) -> Run {
        let Listening { path, args, directory, env, backlog, limits, shared, .. } = &self.program;
        let core = &self.server.conf.core;
        let program = Program::Listener {
            path: path.to_vec().into(),
            args: args.iter().map(|argument| argument.to_vec().into()).collect(),
            directory: directory.to_vec().into(),
            backlog: *backlog,
            shared: *shared,
        };
        Run {
            id: 0,
            program,
            env: env.iter().map(|entry| entry.to_vec().into()).collect(),
            suexec: core.assign_user.is_some(),
            limits: *limits,
            no_new_privs: self.no_new_privs(),
        }
    }
}

impl RunningProgram {
    /// A name without a slash is an engine's: what it runs is confined as all warm code is.
    fn no_new_privs(&self) -> bool {
        let configured = self.server.conf.core.no_new_privileges.unwrap_or_default();
        if self.program.path.contains(&b'/') {
            configured.holds_for_programs()
        } else {
            configured.holds_for_engines()
        }
    }
}

impl Host for RunningProgram {
    async fn start(&self) -> Result<listen::RunningProgram, Error> {
        let place = Place::take(&self.running, self.program.most)?;
        let site = self.thread.site(&self.server);
        let link = site.link().await?;
        let (listener, output) = if self.program.shared {
            let listener = link.listen(self.run(), Vec::new(), None).await?;
            let output = opened(&listener.output)?;
            (listener, output)
        } else {
            let [output, errors] = link.pipes([Direction::FromProgram; 2]).await?;
            (link.listen(self.run(), vec![output.1, errors.1], None).await?, [output.0, errors.0])
        };
        Ok(listen::RunningProgram {
            pid: listener.running.pid(),
            process: Box::new(Watched(listener.running, place)),
            output,
            socket: listener.path,
        })
    }

    async fn connect(&self, socket: &[u8]) -> Result<OwnedFd, Error> {
        reach::connect(&self.thread, &self.server, socket, self.connect_timeout).await
    }

    fn room(&self, open: usize) -> usize {
        self.held.room(open)
    }

    fn in_use(&self) {
        self.thread.touch(self.thread.shared.sites.of(&self.server));
    }

    fn line(&self, pid: u32, line: &[u8]) {
        let mut who = self.program.to_string();
        if pid != 0 {
            who = format!("{who}: process {pid}");
        }
        log::program(&self.thread, &self.server, self.module, &who, line);
    }
}

/// The ends of pipes that the site's process has made, and keeps.
fn opened(output: &[OwnedFd]) -> io::Result<[OwnedFd; 2]> {
    let [output, errors] = output else { return Err(io::ErrorKind::InvalidData.into()) };
    let open = |end| Direction::FromProgram.end_of_another(end);
    Ok([open(output)?, open(errors)?])
}

/// The site's process watches over it.
struct Watched(Running, #[allow(dead_code, reason = "it counts as long as it is there")] Place);

impl Process for Watched {
    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<Exit>> {
        pin!(self.0.exit()).poll(context)
    }

    fn kill(&mut self) {
        self.0.kill_group();
    }
}
