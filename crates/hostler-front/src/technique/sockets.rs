//! Pools of connections to programs that are spoken to over sockets: one for each program or address, virtual host and
//! protocol, made when it is first asked for.
//!
//! Which addresses may be reached has been decided before ([`Address`]). A Unix socket is connected to by the site's process, as its
//! user: a path that a tenant has written leads nowhere that he may not go himself. TCP addresses are connected to from
//! here. A tenant can name ever more of them in access files, so a site has so many pools at the same time and no more.
//!
//! **Runs as** the front. **Diagnostics**: what the programs write to their standard error, and what goes wrong while
//! nobody waits for it, goes to the ErrorLog of the virtual host under the protocol's name.

mod names;
mod places;
mod program;
mod reach;

use crate::technique::pools::Engines;
pub(crate) use places::{Held, Places};
pub(crate) use program::Listening;
pub(crate) use reach::connect;

use crate::io::descriptors::Descriptors;
use crate::request::thread::{SharedState, Thread};
use hashbrown::HashMap;
use hostler_config::Server;
use hostler_gateway::backend::stream::{Pool, Protocol};
use hostler_gateway::pool::{Settings, Status};
use hostler_gateway::supervisor::listen::{Lives, greet};
use hostler_gateway::{Error, Kind};
use hostler_wire::plan::SiteId;
use names::Names;
use program::RunningProgram;
use reach::Reach;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::fmt;
use std::hash::Hash;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most pools of a site. Those that nobody uses make room for others.
const MOST: usize = 256;

/// The address of a program. Its creator has checked that the site may reach it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    /// A Unix socket, connected to by the site's process: whatever its user may reach.
    Unix(Box<[u8]>),
    /// Connected to by the front: only what the operator has named, or allowed.
    Tcp { host: Box<str>, port: u16 },
    /// One program that the site's process starts, with a listening socket as its descriptor 0, for all connections.
    #[allow(dead_code, reason = "for programs that serve many requests at a time by themselves")]
    Program(Listening),
    /// The same program as often as it is needed: one for each connection, for one request at a time.
    Programs(Listening, Lives),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.escape_ascii()),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Program(program) | Self::Programs(program, _) => program.fmt(f),
        }
    }
}

/// A pool, described. Equal ones of a virtual host are one pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) address: Address,
    /// The time limit for connecting.
    pub(crate) connect_timeout: Duration,
    pub(crate) settings: Settings,
}

/// The key of a pool: protocol, virtual host, and address.
type Key = (TypeId, u32, Arc<Target>);

/// A pool of whatever protocol.
trait AnyPool: Send + Sync {
    fn status(&self) -> Status;
    fn close(&self);
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// One that is shared: [`Pool`] is another crate's.
struct SharedPool<P: Protocol>(Arc<Pool<P>>);

impl<P: Protocol> AnyPool for SharedPool<P> {
    fn status(&self) -> Status {
        self.0.status()
    }

    fn close(&self) {
        self.0.close();
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// All pools.
pub(crate) struct Sockets {
    threads: u32,
    /// By site.
    sites: Vec<Mutex<HashMap<Key, Arc<dyn AnyPool>>>>,
    /// Grows when some are closed: what threads remember is old then.
    epoch: AtomicU64,
    names: Arc<Names>,
    /// Processes of programs that were started, by site.
    running: Vec<Arc<AtomicU32>>,
    places: Arc<Places>,
}

/// Pools by what tells them apart.
type PoolTable = HashMap<Key, Arc<dyn Any + Send + Sync>, foldhash::fast::RandomState>;

thread_local! {
    /// The thread's copy of [`Sockets`], and its epoch.
    static KNOWN: RefCell<(u64, PoolTable)> = RefCell::default();
}

/// A thread remembers no more pools than these.
const REMEMBERED: usize = 1024;

impl Sockets {
    /// For a front of so many threads, and so many sites.
    pub(crate) fn new(threads: usize, sites: usize, descriptors: &Descriptors) -> Self {
        let places = Places::new(sites, descriptors);
        let (running, names) = ((0..sites).map(|_| Arc::default()).collect(), Arc::new(Names::new(sites)));
        let sites = (0..sites).map(|_| Mutex::default()).collect();
        Self { threads: threads as u32, sites, epoch: AtomicU64::new(0), names, running, places }
    }

    /// Connections of all sites to their programs.
    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// The pool of connections to a target for a virtual host's requests. On a thread's `LocalSet`.
    ///
    /// # Errors
    /// The site uses too many at the same time.
    pub(crate) fn pool<P: Protocol>(
        &self,
        thread: &Rc<Thread>,
        server: &Arc<Server>,
        target: &Arc<Target>,
    ) -> Result<Arc<Pool<P>>, Error> {
        let key = (TypeId::of::<P>(), server.id, target.clone());
        let epoch = self.epoch.load(Relaxed);
        let known = KNOWN.with_borrow_mut(|(of, known)| {
            if *of != epoch || known.len() >= REMEMBERED {
                (*of, *known) = (epoch, PoolTable::default());
            }
            known.get(&key).cloned()
        });
        let known = match known {
            Some(known) => known,
            None => {
                let made = self.make_or_find::<P>(thread, server, &key)?.as_any();
                KNOWN.with_borrow_mut(|(_, known)| known.insert(key, made.clone()));
                made
            }
        };
        match known.downcast::<SharedPool<P>>() {
            Ok(made) => Ok(made.0.clone()),
            Err(_) => Err(Error::because(Kind::System, "a pool is of another protocol than its key")),
        }
    }

    /// Starts the program of a target ([`Address::Program`]), or takes over the one that runs, and waits until it serves.
    /// Why there is none, the requests for it are told.
    pub(crate) async fn make_ready<P: Protocol>(
        &self,
        thread: &Rc<Thread>,
        server: &Arc<Server>,
        target: &Arc<Target>,
    ) {
        let Ok(pool) = self.pool::<P>(thread, server, target) else { return };
        pool.warm().await;
        let Some(socket) = pool.program_socket() else { return };
        if let Ok(socket) = connect(thread, server, &socket, target.connect_timeout).await {
            greet::<P>(&Arc::new(socket)).await;
        }
    }

    fn make_or_find<P: Protocol>(
        &self,
        thread: &Rc<Thread>,
        server: &Arc<Server>,
        key: &Key,
    ) -> Result<Arc<dyn AnyPool>, Error> {
        let mut pools = self.of(thread.shared.sites.of(server));
        if let Some(pool) = pools.get(key) {
            return Ok(pool.clone());
        }
        if pools.len() >= MOST {
            self.make_room(&mut pools);
        }
        if pools.len() >= MOST {
            let why = format!("the site uses {MOST} programs and addresses at the same time");
            return Err(Error::because(Kind::WorkerNotMade, why));
        }
        let made = Arc::new(SharedPool(self.make::<P>(thread, server, &key.2)));
        pools.insert(key.clone(), made.clone());
        Ok(made)
    }

    /// Closes the pools that nobody uses.
    fn make_room(&self, pools: &mut HashMap<Key, Arc<dyn AnyPool>>) {
        pools.retain(|_, pool| {
            let status = pool.status();
            let used = !status.workers.is_empty() || status.queue > 0;
            if !used {
                pool.close();
            }
            used
        });
        self.epoch.fetch_add(1, Relaxed);
    }

    fn make<P: Protocol>(
        &self,
        thread: &Rc<Thread>,
        server: &Arc<Server>,
        target: &Arc<Target>,
    ) -> Arc<Pool<P>> {
        let name = name::<P>(&thread.shared, server, target);
        let pool = Pool::<P>::new(name, target.settings.clone(), self.threads);
        let site = thread.shared.sites.of(server);
        let running = &self.running[site as usize];
        let started = |program: &Listening| {
            let held = Held::new(&self.places, site);
            RunningProgram::new::<P>(thread, server, program, target.connect_timeout, running, held)
        };
        match &target.address {
            Address::Unix(_) | Address::Tcp { .. } => {
                let held = Held::new(&self.places, site);
                let reach = Reach::new::<P>(thread, server, target, &self.names, held);
                tokio::task::spawn_local(pool.clone().maintain(reach));
            }
            Address::Program(program) => {
                thread.shared.of::<Engines>().admit(&pool);
                tokio::task::spawn_local(pool.clone().keep_program(started(program)));
            }
            Address::Programs(program, lives) => {
                thread.shared.of::<Engines>().admit(&pool);
                tokio::task::spawn_local(pool.clone().keep_programs(started(program), lives.clone()));
            }
        }
        pool
    }

    /// Returns the state of all existing pools.
    pub(crate) fn statuses(&self) -> Vec<Status> {
        let all = (0..self.sites.len() as SiteId).flat_map(|site| {
            let pools = self.of(site);
            pools.values().map(|pool| pool.status()).collect::<Vec<_>>()
        });
        let mut all: Vec<Status> = all.collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// Ends all connections and programs; for when no request is left.
    pub(crate) fn close(&self) {
        for site in 0..self.sites.len() as SiteId {
            self.of(site).values().for_each(|pool| pool.close());
        }
    }

    fn of(&self, site: SiteId) -> MutexGuard<'_, HashMap<Key, Arc<dyn AnyPool>>> {
        self.sites[site as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Protocol, site, virtual host and address.
fn name<P: Protocol>(shared: &SharedState, server: &Server, target: &Target) -> String {
    let site = &shared.site_names[shared.sites.of(server) as usize];
    let host = server.conf.core.server_name.as_ref().map(|name| &name.host);
    let host = host.map_or_else(String::new, |host| format!(" {host}"));
    format!("{} {site}{host} {}", P::NAME, target.address)
}
