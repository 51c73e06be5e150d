//! The program that serves a request's application, and the settings of its pool of connections. Determined once for
//! each configuration that leads to it.
//!
//! Virtual hosts of a site that have one name (of HTTP and HTTPS, say) share the programs of applications that are the same.

use super::protocol::{Asgi, Pool};
use crate::hook::registry::Later;
use crate::request::Request;
use crate::request::settings::{self, DEFAULT_PATH};
use crate::request::thread::{SharedState, Thread};
use crate::technique::sockets::Sockets;
use crate::technique::sockets::{Address, Listening, Target};
use hashbrown::HashMap;
use hostler_config::{DirConfig, Server, pools};
use hostler_gateway::Error;
use hostler_gateway::pool::Settings;
use hostler_gateway::upstream::{Target as UpstreamTarget, Upstream, UpstreamSettings};
use hostler_python_technique::asgi::{self, App, Program};
use hostler_wire::plan::SiteId;
use serde_bytes::ByteBuf;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// The program that the site's process starts: the name of an engine installed beside the site's program.
pub(super) const PROGRAM: &[u8] = b"python";
/// Connections that wait until a worker accepts them, as an application that starts lets many wait.
const BACKLOG: u32 = 1024;
/// Connections that are kept while nobody uses them.
const SPARE: u32 = 32;
/// The time a request waits for a busy connection before another one is made.
const PATIENCE: Duration = Duration::from_millis(1);
/// The time limit for connecting: the socket exists from the start.
const CONNECT: Duration = Duration::from_secs(5);
/// The pauses after a failed start, first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Configurations remembered per thread; beyond this all are forgotten (hostile .htaccess files could fill it).
const MAX: usize = 4096;

/// A request's application.
#[derive(Clone)]
pub(super) struct Application {
    /// The virtual host whose log its program writes to.
    pub(super) server: Arc<Server>,
    pub(super) target: Arc<Target>,
    /// The counter of its WebSockets.
    pub(super) websockets: Arc<Upstream>,
    pub(super) root_path: Box<str>,
    /// The longest silence before a response.
    pub(super) timeout: Duration,
    /// Keeps the address in the key taken.
    _dir: Arc<DirConfig>,
}

thread_local! {
    /// By directory's configuration and virtual host.
    static KNOWN: RefCell<HashMap<(usize, u32), Application, foldhash::fast::RandomState>> = RefCell::default();
}

/// By virtual host and program.
type Counters = HashMap<(u32, Arc<Target>), Arc<Upstream>>;

/// WebSockets are counted by all threads together.
static COUNTED: LazyLock<Mutex<Counters>> = LazyLock::new(Mutex::default);

/// The application of a request.
///
/// # Errors
/// There is none: a sentence for the log.
pub(super) fn of(request: &Request) -> Result<Application, String> {
    let key = (Arc::as_ptr(&request.resource.dir) as usize, request.server.id);
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
        return Ok(known);
    }
    let app = request.resource.dir.part(&asgi::DIR).app.as_ref();
    let app = app.ok_or("no application is named for the handler asgi: ASGIApp is missing")?;
    let application = make(request, app)?;
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MAX {
            known.clear();
        }
        known.insert(key, application.clone());
    });
    Ok(application)
}

/// The pool of connections to it.
///
/// # Errors
/// The site has too many.
pub(super) fn pool(request: &Request, application: &Application) -> Result<Arc<Pool>, Error> {
    let thread = &request.thread;
    thread.shared.of::<Sockets>().pool(thread, &application.server, &application.target)
}

/// Makes an application ready that a site had running with the front before this one: one with the same arguments, which
/// this front starts. Applications that `.htaccess` files or sections within sections name are started by their first request.
pub(super) fn resume(thread: Rc<Thread>, site: SiteId, args: Vec<ByteBuf>) -> Later<'static, ()> {
    Box::pin(async move {
        let Some((server, target)) = with_arguments(&thread.shared, site, &args) else { return };
        thread.shared.of::<Sockets>().make_ready::<Asgi>(&thread, &server, &target).await;
    })
}

/// The application of a site whose program has these arguments.
fn with_arguments(
    shared: &SharedState,
    site: SiteId,
    args: &[ByteBuf],
) -> Option<(Arc<Server>, Arc<Target>)> {
    let is_its = |target: &Target| match &target.address {
        Address::Program(program) => {
            program.args.iter().map(|arg| &arg[..]).eq(args.iter().map(|arg| &arg[..]))
        }
        _ => false,
    };
    for server in shared.config.servers.iter().filter(|server| shared.sites.of(server) == site) {
        let sections = server.directories.iter().chain(&*server.locations).map(|section| &section.conf);
        let own = [server.defaults.clone()].into_iter();
        let dirs = own.chain(sections.map(|section| Arc::new(server.defaults.merge(section))));
        for dir in dirs {
            let Some(app) = &dir.part(&asgi::DIR).app else { continue };
            if let Ok(program) = asgi::program(&shared.config, server, &dir, app) {
                let (owner, target, _) = target(shared, server, program);
                if is_its(&target) {
                    return Some((owner, Arc::new(target)));
                }
            }
        }
    }
    None
}

fn make(request: &Request, app: &App) -> Result<Application, String> {
    let shared = &request.thread.shared;
    let program = asgi::program(&shared.config, &request.server, &request.resource.dir, app)?;
    let (server, target, timeout) = target(shared, &request.server, program);
    let target = Arc::new(target);
    Ok(Application {
        websockets: counted(&server, &target),
        server,
        target,
        root_path: app.root_path.clone(),
        timeout,
        _dir: request.resource.dir.clone(),
    })
}

/// A program's virtual host, its pool, and the longest silence before a response.
fn target(shared: &SharedState, server: &Arc<Server>, program: Program) -> (Arc<Server>, Target, Duration) {
    let timeout = program.timeout.map(|seconds| Duration::from_secs(seconds.into()));
    let timeout = timeout.unwrap_or_else(|| settings::timeout(server));
    let most = shared.of::<Sockets>().places().most_of_site();
    let settings = pool_settings(server, program.idle, most);
    let address = Address::Program(listening(server, program, timeout));
    (first(shared, server), Target { address, connect_timeout: CONNECT, settings }, timeout)
}

fn counted(server: &Server, target: &Arc<Target>) -> Arc<Upstream> {
    let mut all = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= MAX {
        // Those that have none are made anew when they have one.
        all.retain(|_, upstream| upstream.figures()[0] > 0);
    }
    let make = || {
        let target = UpstreamTarget::Unix("asgi".into());
        Upstream::new("websockets", target, UpstreamSettings::default())
    };
    all.entry((server.id, target.clone())).or_insert_with(make).clone()
}

/// The first virtual host of the site that has the name of this one.
fn first(shared: &SharedState, own: &Arc<Server>) -> Arc<Server> {
    let host = |server: &Server| server.conf.core.server_name.as_ref().map(|name| name.host.clone());
    let is_same = |server: &&Arc<Server>| {
        shared.sites.of(server) == shared.sites.of(own) && host(own).is_some() && host(server) == host(own)
    };
    shared.config.servers.iter().find(is_same).unwrap_or(own).clone()
}

/// Returns the program that the site's process starts.
fn listening(server: &Server, program: Program, timeout: Duration) -> Listening {
    let mut args = program.args;
    args.push(format!("timeout={}", timeout.as_secs().max(1)));
    args.push(format!("backlog={BACKLOG}"));
    let mut env: Vec<Box<[u8]>> = vec![[b"PATH=", DEFAULT_PATH].concat().into()];
    if !program.environment.iter().any(|(name, _)| name == "LANG") {
        env.push((*b"LANG=C.UTF-8").into());
    }
    env.extend(program.environment.iter().map(|(name, value)| format!("{name}={value}").into_bytes().into()));
    Listening {
        path: PROGRAM.into(),
        args: args.into_iter().map(|text| text.into_bytes().into()).collect(),
        directory: (*b"/").into(),
        env,
        backlog: BACKLOG,
        limits: pools::limits(server),
        // Installed with this server, and held open: it is not replaced while that runs.
        version: (0, 0, 0, 0),
        // There is one of it.
        most: u32::MAX,
        // What it has loaded may have changed: only a warm parent can tell.
        shared: false,
        module: Some(asgi::LOG),
    }
}

/// `most`: connections that the site may have, which are all that bounds requests at the same time.
fn pool_settings(server: &Server, idle: Option<u32>, most: usize) -> Settings {
    let configured = pools::settings(server);
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    Settings {
        max_spare: SPARE,
        // One more, so that it is the site's share that refuses it, with its own reason.
        max_workers: u32::try_from(most).unwrap_or(u32::MAX).saturating_add(1),
        max_workers_set_by: "the requests of a site's applications",
        // One that nobody has asked for would have a program that can't be started tried again.
        on_demand: true,
        queue_length: configured.queue_length as usize,
        queue_timeout: seconds(configured.queue_timeout),
        idle: seconds(idle.unwrap_or(configured.idle)),
        patience: PATIENCE,
        pauses: PAUSES,
        ..Settings::default()
    }
}
