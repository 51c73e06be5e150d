//! The front's services for a pool: its parent process, which the site's process starts; the parent's setup; the log.

use crate::log;
use crate::request::settings;
use crate::request::settings::DEFAULT_PATH;
use crate::request::thread::Thread;
use crate::site::connection::{Running, SiteError};
use crate::technique::pools::Which;
use hostler_config::Server;
use hostler_config::pools::{self, Pool};
use hostler_gateway::supervisor::Process;
use hostler_gateway::supervisor::fork::{Host, NewParent};
use hostler_gateway::{Error, Kind};
use hostler_sys::pipe::{Direction, Pipe};
use hostler_wire::codec::Encoder;
use hostler_wire::engine::Setup;
use hostler_wire::site::{Exit, Limits, Program, Run, RunError, Warm};
use serde_bytes::ByteBuf;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

/// Variables of the front's own environment that engines get; the configuration adds its own. The front has no others
/// that would be for programs: what the operator's shell knows is not the tenants'.
const PASSED: [&str; 2] = ["PATH", "TZ"];

/// One pool's.
pub(super) struct EngineHost {
    thread: Rc<Thread>,
    pool: Pool,
    which: Which,
    /// By what the site's process knows the pool's parents.
    mark: String,
}

impl EngineHost {
    pub(super) fn new(thread: Rc<Thread>, pool: Pool, which: Which, mark: String) -> Self {
        Self { thread, pool, which, mark }
    }

    /// The first of the virtual hosts that share the pool: a pool is made for one, at least.
    fn server(&self) -> &Arc<Server> {
        &self.thread.shared.config.servers[self.pool.servers[0] as usize]
    }

    /// The engine's program, which is `hostler-NAME`.
    fn program(&self) -> &'static str {
        (self.pool.key.engine.program)(self.server())
    }

    async fn run(&self, fresh: bool) -> Result<NewParent, Error> {
        let site = self.thread.site(self.server());
        let link = site.link().await.map_err(|error| self.site_error(error))?;
        let (control, theirs) = hostler_sys::socket::stream_pair()?;
        let (door, site_s) = hostler_sys::socket::stream_pair()?;
        let [output, errors] = link.pipes([Direction::FromProgram; 2]).await?;
        let env = self.environment();
        // Processor time is the workers': the parent would use it up by forking.
        let limits = Limits { cpu: None, ..pools::limits(self.server()) };
        let no_new_privs = self.server().conf.core.no_new_privileges.unwrap_or_default().holds_for_engines();
        let warm = Warm { pool: self.mark.clone(), key: self.key(&env, limits, no_new_privs), fresh };
        let program = Program::Engine { name: self.program().to_owned(), warm };
        let run = Run { id: 0, program, env, suexec: false, limits, no_new_privs };
        let running = link.run(run, vec![theirs, output.1, errors.1, site_s], None).await;
        let running = running.map_err(|error| self.site_error(error))?;
        let (pid, adopted) = (running.pid(), running.is_adopted());
        let (output, process) = ([output.0, errors.0], Box::new(Parent(running)));
        Ok(NewParent { control, output, pid, door: Some(door), adopted, process })
    }

    /// Equal for all generations in which a parent would be started alike and told to load the same. Where in the
    /// configuration that stands makes no difference.
    fn key(&self, env: &[ByteBuf], limits: Limits, no_new_privs: bool) -> u64 {
        let mut loaded = Vec::new();
        Setup { places: Vec::new(), ..self.setup() }.encode(&mut Encoder(&mut loaded));
        let mut hasher = DefaultHasher::new();
        // Strings, numbers and lists can always be encoded.
        let started = postcard::to_allocvec(&(self.program(), env, limits, no_new_privs));
        (started.unwrap_or_default(), loaded).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the environment of its program.
    fn environment(&self) -> Vec<ByteBuf> {
        let mut all = environment(self.which.one_shot);
        if let (Some(groups), Some(group)) = (self.pool.key.engine.groups, &self.which.group) {
            let own = (groups.environment)(&self.thread.shared.config, &self.pool.servers, group);
            all.extend(own.into_iter().map(|(name, value)| ByteBuf::from(format!("{name}={value}"))));
        }
        all
    }

    fn site_error(&self, error: SiteError) -> Error {
        let engine = self.program();
        match error {
            SiteError::Run(RunError::NotFound) => {
                let why = format!(
                    "there was no program hostler-{engine} beside hostler-site when the server was started; install \
                     it, then stop and start the server"
                );
                Error::because(Kind::EngineFailed, why)
            }
            SiteError::Run(error) => Error::because(Kind::EngineFailed, format!("hostler-{engine}: {error}")),
            other => other.into(),
        }
    }
}

impl Host for EngineHost {
    async fn start(&self, fresh: bool) -> Result<NewParent, Error> {
        self.run(fresh).await
    }

    fn setup(&self) -> Setup {
        let shared = &self.thread.shared;
        let key = self.pool.key;
        let mut setup =
            (key.engine.setup)(&shared.config, &self.pool.servers, key.generation, self.which.one_shot);
        if let (Some(groups), Some(group)) = (key.engine.groups, &self.which.group) {
            (groups.setup)(&shared.config, &self.pool.servers, group, &mut setup);
        }
        setup.title = shared.site_names[self.pool.key.site as usize].clone();
        let members = self.pool.servers.iter().filter(|id| **id != 0);
        let servers = std::iter::once(&0).chain(members).map(|id| shared.config.servers.get(*id as usize));
        for (facts, server) in setup.servers.iter_mut().zip(servers) {
            facts.software = server.map_or_else(String::new, |server| settings::product(server).to_owned());
        }
        setup
    }

    async fn pipe(&self) -> io::Result<Pipe> {
        let link = self.thread.site(self.server()).link().await.map_err(io::Error::other)?;
        let [pipe] = link.pipes([Direction::FromProgram]).await?;
        Ok(pipe)
    }

    fn in_use(&self) {
        self.thread.touch(self.pool.key.site);
    }

    fn line(&self, pid: u32, line: &[u8]) {
        let who = format!("process {pid}");
        log::program(&self.thread, self.server(), self.pool.key.engine.log, &who, line);
    }

    fn is_ending(&self) -> bool {
        self.thread.shared.ending.load(Ordering::Relaxed)
    }
}

/// Returns the part of the front's own environment that an engine gets.
fn environment(one_shot: bool) -> Vec<ByteBuf> {
    let is_passed = |name: &str| PASSED.contains(&name);
    let passed = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed));
    let mut entries: Vec<_> = passed
        .map(|(name, value)| ByteBuf::from([&name.into_vec()[..], b"=", &value.into_vec()].concat()))
        .collect();
    if !entries.iter().any(|entry| entry.starts_with(b"PATH=")) {
        entries.push(ByteBuf::from([b"PATH=", DEFAULT_PATH].concat()));
    }
    if one_shot {
        // Names are resolved once, not in each process that is forked. The engine does not hand this on.
        entries.push(ByteBuf::from(b"LD_BIND_NOW=1".as_slice()));
    }
    entries
}

/// The site's process watches over it.
struct Parent(Running);

impl Process for Parent {
    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<Exit>> {
        pin!(self.0.exit()).poll(context)
    }

    fn kill(&mut self) {
        // What it has left behind is killed with it, also when it has ended itself.
        self.0.kill_group();
    }
}
