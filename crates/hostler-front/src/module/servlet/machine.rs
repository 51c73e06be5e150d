//! The Java virtual machine of a site: with which applications it is started, and how its pool of connections behaves.
//!
//! All applications of a site's user run in one. Virtual hosts that have the same applications share a host in it, so that
//! ten thousand that inherit one from the main server deploy it once.

use crate::hook::registry::Later;
use crate::request::Request;
use crate::request::settings::DEFAULT_PATH;
use crate::request::thread::{SharedState, Thread};
use crate::technique::sockets::{Address, Listening, Sockets, Target};
use hostler_config::{Server, pools};
use hostler_gateway::backend::ajp::Ajp;
use hostler_gateway::pool::Settings;
use hostler_gateway::upstream::{Target as UpstreamTarget, Upstream, UpstreamSettings};
use hostler_servlet_technique::{App, SERVER};
use hostler_wire::plan::SiteId;
use serde_bytes::ByteBuf;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The program that the site's process starts: the name of an engine installed beside the site's program.
pub(super) const PROGRAM: &[u8] = b"servlet";
/// Requests at the same time, where nothing is said.
const THREADS: u32 = 150;
/// Connections that are kept while nobody uses them: each is a thread's stack at most, of half a megabyte.
const SPARE: u32 = 32;
/// `HostlerPoolIdle` where nothing is said, in seconds: a start takes seconds of processor time, so it is longer than that of
/// other pools.
const IDLE: u32 = 1800;
/// The time a request waits for a busy connection before another one is made.
const PATIENCE: Duration = Duration::from_millis(1);
/// The time limit for connecting: the socket exists from the start.
const CONNECT: Duration = Duration::from_secs(5);
/// Connections of a site that speak another protocol (WebSocket) at the same time.
const MOST_UPGRADED: u32 = 4096;
/// The pauses after a failed start, first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The virtual machine of a request's application.
#[derive(Clone)]
pub(super) struct Machine {
    /// The virtual host whose log it writes to.
    pub(super) server: Arc<Server>,
    pub(super) target: Arc<Target>,
    /// The name of the request's virtual host there.
    pub(super) host: Arc<str>,
    /// The counter of connections that have changed to another protocol.
    pub(super) upgraded: Arc<Upstream>,
    /// True if something tells the pool that there are such connections.
    pub(super) kept: Arc<AtomicBool>,
    /// The prefix of the site's own folders, if `work=` sets their place (engines/servlet: `place`).
    pub(super) folder: Option<Arc<str>>,
}

/// A site's.
struct OfSite {
    server: Arc<Server>,
    target: Arc<Target>,
    upgraded: Arc<Upstream>,
    kept: Arc<AtomicBool>,
    folder: Option<Arc<str>>,
}

/// The virtual machines of a configuration.
struct Machines {
    /// Archives and directories of all applications.
    paths: Vec<Box<str>>,
    sites: HashMap<SiteId, OfSite>,
    /// By virtual host.
    hosts: HashMap<u32, Arc<str>>,
}

/// A front has one configuration.
static MACHINES: OnceLock<Machines> = OnceLock::new();

/// The archives and directories of all applications of the configuration.
pub(super) fn all(thread: &Thread) -> &'static [Box<str>] {
    &machines(&thread.shared).paths
}

/// Returns the virtual machine of a request.
///
/// # Errors
/// Its virtual host has none.
pub(super) fn of(request: &Request) -> Result<Machine, &'static str> {
    let shared = &request.thread.shared;
    let machines = machines(shared);
    let found =
        machines.sites.get(&shared.sites.of(&request.server)).zip(machines.hosts.get(&request.server.id));
    let (site, host) = found.ok_or("there is no application for it (ServletApp)")?;
    Ok(Machine {
        server: site.server.clone(),
        target: site.target.clone(),
        host: host.clone(),
        upgraded: site.upgraded.clone(),
        kept: site.kept.clone(),
        folder: site.folder.clone(),
    })
}

/// Makes a site's virtual machine ready before this front takes over from another: the one that serves, if nothing of it has
/// changed.
pub(super) fn resume(thread: Rc<Thread>, site: SiteId, _: Vec<ByteBuf>) -> Later<'static, ()> {
    Box::pin(async move {
        let Some(of_site) = machines(&thread.shared).sites.get(&site) else { return };
        let sockets = thread.shared.of::<Sockets>();
        sockets.make_ready::<Ajp>(&thread, &of_site.server, &of_site.target).await;
    })
}

fn machines(shared: &SharedState) -> &'static Machines {
    MACHINES.get_or_init(|| Machines::of(shared))
}

impl Machines {
    fn of(shared: &SharedState) -> Self {
        let mut machines = Self { paths: Vec::new(), sites: HashMap::new(), hosts: HashMap::new() };
        let mut by_site: Vec<(SiteId, Vec<Arc<Server>>)> = Vec::new();
        for server in shared.config.servers.iter().filter(|server| !server.conf.part(&SERVER).apps.is_empty())
        {
            let site = shared.sites.of(server);
            match by_site.iter_mut().find(|(known, _)| *known == site) {
                Some((_, servers)) => servers.push(server.clone()),
                None => by_site.push((site, vec![server.clone()])),
            }
        }
        for (site, servers) in by_site {
            machines.add(shared, site, &servers);
        }
        machines.paths.sort();
        machines.paths.dedup();
        machines
    }

    fn add(&mut self, shared: &SharedState, site: SiteId, servers: &[Arc<Server>]) {
        let mut hosts: Vec<(Arc<str>, &[App])> = Vec::new();
        for server in servers {
            let apps = &server.conf.part(&SERVER).apps[..];
            let known = hosts.iter().find(|(_, known)| *known == apps).map(|(name, _)| name.clone());
            let name = known.unwrap_or_else(|| {
                let name: Arc<str> = format!("v{}", hosts.len()).into();
                hosts.push((name.clone(), apps));
                name
            });
            self.hosts.insert(server.id, name);
        }
        let apps = || hosts.iter().flat_map(|(_, apps)| apps.iter());
        self.paths.extend(apps().map(|app| app.path.clone()));
        let threads = apps().filter_map(|app| app.threads).max().unwrap_or(THREADS);
        let settings = settings(&servers[0], threads);
        let limit = servers[0].conf.core.site_limits.memory.flatten();
        let mut args = vec![
            format!(
                "--key={:016x}",
                key(&shared.config.facts.server_root, &shared.site_names[site as usize])
            ),
            format!("--heap={}", heap(apps().filter_map(|app| app.heap).max(), limit)),
            format!("--threads={threads}"),
            format!("--backlog={}", settings.queue_length),
        ];
        args.extend(apps().find_map(|app| app.java_home.as_ref()).map(|home| format!("--java-home={home}")));
        let work = apps().find_map(|app| app.work.as_deref());
        args.extend(work.map(|work| format!("--root={work}")));
        let folder = work.map(|work| format!("{work}/hostler-servlet-").into());
        for word in apps().flat_map(|app| &app.jvm).map(|word| format!("--jvm={word}")) {
            if !args.contains(&word) {
                args.push(word);
            }
        }
        args.extend(hosts.iter().flat_map(|(host, apps)| apps.iter().map(move |app| argument(host, app))));
        let program = program(&servers[0], &settings, args);
        let target = Target { address: Address::Program(program), connect_timeout: CONNECT, settings };
        let many = UpstreamSettings { max: Some(MOST_UPGRADED), ..UpstreamSettings::default() };
        let socket = UpstreamTarget::Unix("upgrade".into());
        self.sites.insert(
            site,
            OfSite {
                server: servers[0].clone(),
                target: Arc::new(target),
                upgraded: Upstream::new("hostler-servlet", socket, many),
                kept: Arc::default(),
                folder,
            },
        );
    }
}

/// Returns the program that the site's process starts.
fn program(server: &Server, settings: &Settings, args: Vec<String>) -> Listening {
    Listening {
        path: PROGRAM.into(),
        args: args.into_iter().map(|text| text.into_bytes().into()).collect(),
        directory: (*b"/").into(),
        env: vec![[b"PATH=", DEFAULT_PATH].concat().into(), (*b"LANG=C.UTF-8").into()],
        backlog: settings.queue_length as u32,
        limits: pools::limits(server),
        // Installed with this server, and held open: it is not replaced while that runs.
        version: (0, 0, 0, 0),
        // There is one of it.
        most: u32::MAX,
        shared: true,
        // Its lines are the applications', whatever the front speaks with them.
        module: Some("servlet"),
    }
}

fn settings(server: &Server, threads: u32) -> Settings {
    let configured = pools::settings(server);
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    Settings {
        start: 1,
        min_spare: 0,
        max_spare: SPARE.min(threads),
        max_workers: threads,
        max_workers_set_by: "threads= of ServletApp",
        queue_length: configured.queue_length as usize,
        queue_timeout: seconds(configured.queue_timeout),
        idle: seconds(server.conf.pool.idle.unwrap_or(IDLE)),
        patience: PATIENCE,
        pauses: PAUSES,
        ..Settings::default()
    }
}

/// The largest heap, in bytes: the configured one; else half of what the site may take, the rest being classes, compiled code
/// and stacks; 256 MB at most.
fn heap(configured: Option<u64>, limit: Option<u64>) -> u64 {
    const DEFAULT: u64 = 256 << 20;
    const LEAST: u64 = 16 << 20;
    configured.unwrap_or_else(|| limit.map_or(DEFAULT, |limit| (limit / 2).clamp(LEAST, DEFAULT)))
}

/// An application, as the program hostler-servlet reads it.
fn argument(host: &str, app: &App) -> String {
    let mut text = format!("--app={host}\t{}\t{}", app.context, app.path);
    if app.reloadable {
        text.push_str("\treloadable=true");
    }
    if let Some(descriptor) = &app.descriptor {
        text.push_str(&format!("\tdescriptor={descriptor}"));
    }
    for (name, value) in &app.parameters {
        text.push_str(&format!("\tparameter.{name}={value}"));
    }
    text
}

/// Distinguishes the folders of two servers' sites of one user (FNV-1a): stable over restarts.
fn key(server_root: &str, site: &str) -> u64 {
    let bytes = server_root.bytes().chain([0]).chain(site.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_leaves_room_beside_itself() {
        assert_eq!(heap(None, None), 256 << 20);
        assert_eq!(heap(None, Some(200 << 20)), 100 << 20);
        assert_eq!(heap(None, Some(1 << 20)), 16 << 20);
        assert_eq!(heap(Some(1 << 30), Some(64 << 20)), 1 << 30);
    }

    #[test]
    fn sites_have_folders_of_their_own() {
        assert_ne!(key("/srv", "a"), key("/srv", "b"));
        assert_ne!(key("/srv", "a"), key("/sr", "va"));
        assert_eq!(key("/srv", "a"), key("/srv", "a"));
    }
}
