//! The data of one of the front's threads. Threads share the configuration and the logs, nothing that is written while
//! a request is answered; so there is no lock on the way.

use crate::limits::clients::{Clients, RefusalLog, Traffic};
use crate::log::access_log::Buffers;
use crate::log::{Logs, Quota};
use crate::request::counters::Counters;
use crate::request::vhost::AddressHosts;
use crate::site::files::Site;
use crate::site::hub::Hub;
use crate::site::sites::Sites;
use crate::values::extensions::{Extensions, SharedExtensions};
use crate::values::stopping::Stopping;
use hashbrown::HashMap;
use hostler_config::{Config, Server};
use hostler_gateway::supervisor::exec::Programs;
use hostler_wire::plan::SiteId;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// State that all threads share.
pub(crate) struct SharedState {
    pub(crate) config: Arc<Config>,
    pub(crate) hub: Arc<Hub>,
    /// Programs that are started for one request each.
    pub(crate) programs: Arc<Programs>,
    pub(crate) logs: Logs,
    /// The quota of programs in them.
    pub(crate) program_lines: Quota,
    /// The counters of responses, by thread.
    pub(crate) counters: Vec<Counters>,
    pub(crate) sites: Sites,
    pub(crate) site_names: Vec<String>,
    pub(crate) started: Instant,
    pub(crate) draining: AtomicBool,
    /// Why it drains.
    pub(crate) stopping: Arc<Stopping>,
    /// The front ends, and its threads write their last lines.
    pub(crate) ending: AtomicBool,
    /// Open connections.
    pub(crate) connections: AtomicUsize,
    /// The connections and requests of client addresses.
    pub(crate) clients: Clients,
    /// The requests of sites.
    pub(crate) traffic: Arc<Traffic>,
    /// Data buffered whole for requests.
    pub(crate) kept: Arc<crate::limits::kept::BufferedBytes>,
    /// Lines about requests that are refused as there are too many, and about connections.
    pub(crate) told: RefusalLog,
    pub(crate) told_connections: RefusalLog,
    pub(crate) next_connection: AtomicU32,
    pub(crate) drain: watch::Receiver<bool>,
    /// The way expressions look up other URLs.
    pub(crate) walk: crate::request::expr_host::Walk,
    pub(crate) pid: u32,
    /// The number of this front, counted from 1, once the master has sent it.
    pub(crate) generation: AtomicU32,
    /// Other parts' data for all threads.
    pub(crate) extensions: SharedExtensions,
}

impl SharedState {
    /// Returns true if the server stops, or this front ends.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_server() || self.ending.load(Ordering::Relaxed)
    }

    /// Returns why requests that are not finished are cut off.
    pub(crate) fn cut_off_cause(&self) -> String {
        self.stopping.cause(self.config.process.graceful_shutdown_timeout)
    }

    /// Returns a part's data for all threads, by its type.
    pub(crate) fn of<T: Any + Send + Sync>(&self) -> &T {
        self.extensions.of()
    }

    /// Whole seconds since the front's start.
    pub(crate) fn seconds(&self) -> u32 {
        self.started.elapsed().as_secs() as u32
    }
}

/// A thread.
pub(crate) struct Thread {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) index: u32,
    sites: RefCell<Vec<Option<Rc<Site>>>>,
    hosts: RefCell<HashMap<SocketAddr, Arc<AddressHosts>>>,
    pub(crate) access_logs: Buffers,
    /// Requests that work long.
    pub(crate) turns: crate::limits::budget::Turns,
    /// Other parts' data for this thread.
    extensions: Extensions,
    requests: Cell<u64>,
    second: Cell<u32>,
}

impl Thread {
    pub(crate) fn new(shared: Arc<SharedState>, index: u32) -> Rc<Self> {
        let sites = RefCell::new(vec![None; shared.site_names.len()]);
        Rc::new(Self {
            access_logs: Buffers::new(&shared),
            shared,
            index,
            sites,
            hosts: RefCell::default(),
            turns: crate::limits::budget::Turns::default(),
            extensions: Extensions::default(),
            requests: Cell::new(0),
            second: Cell::new(0),
        })
    }

    /// Returns a part's data for this thread, by its type.
    pub(crate) fn of<T: Default + 'static>(&self) -> Rc<T> {
        self.extensions.of()
    }

    /// The site that serves a virtual host.
    pub(crate) fn site(&self, server: &Server) -> Rc<Site> {
        self.site_of(self.shared.sites.of(server))
    }

    /// A site by its number.
    pub(crate) fn site_of(&self, id: SiteId) -> Rc<Site> {
        // Not the coarse second: on a busy machine it lags, and a site in use would seem idle.
        self.shared.hub.touch(id, self.shared.seconds());
        let mut sites = self.sites.borrow_mut();
        let slot = &mut sites[id as usize];
        slot.get_or_insert_with(|| Site::new(id, self.shared.hub.clone())).clone()
    }

    /// Returns whether the kernel has just ended a process of this virtual host's site for want of memory.
    pub(crate) fn ran_out_of_memory(&self, server: &Server) -> bool {
        let id = self.shared.sites.of(server);
        self.shared.hub.ran_out_of_memory(id)
    }

    /// Notes that a site is in use.
    pub(crate) fn touch(&self, site: SiteId) {
        self.shared.hub.touch(site, self.second.get());
    }

    /// Looks at the clock, and closes what nobody uses.
    pub(crate) fn tick(&self) {
        let now = self.shared.seconds();
        self.second.set(now);
        let sites: Vec<Rc<Site>> = self.sites.borrow().iter().flatten().cloned().collect();
        for site in sites {
            site.close_if_idle(now);
        }
    }

    /// Whole seconds since the front's start, as last looked at.
    pub(crate) fn second(&self) -> u32 {
        self.second.get()
    }

    /// The virtual hosts behind a local address.
    pub(crate) fn hosts(&self, local: SocketAddr) -> Arc<AddressHosts> {
        let mut hosts = self.hosts.borrow_mut();
        hosts.entry(local).or_insert_with(|| Arc::new(AddressHosts::new(&self.shared.config, local))).clone()
    }

    /// Notes an answer for the status page.
    pub(crate) fn answered(&self, server: &Server, status: u16, bytes: u64, elapsed: Duration) {
        let site = self.shared.sites.of(server);
        let microseconds = elapsed.as_micros() as u64;
        self.shared.counters[self.index as usize].answered(site, status, bytes, microseconds);
    }

    /// Waits until requests have to come to their end because the server stops.
    pub(crate) fn server_drains(&self) -> impl Future<Output = ()> + use<> {
        let shared = self.shared.clone();
        async move {
            let mut drain = shared.drain.clone();
            let drains = drain.wait_for(|drains| *drains).await.is_ok();
            if !(drains && shared.stopping.is_server()) {
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) fn draining(&self) -> bool {
        self.shared.draining.load(Ordering::Relaxed)
    }

    /// A number for a request, unique among this front's threads.
    pub(crate) fn next_request(&self) -> u64 {
        let n = self.requests.get() + 1;
        self.requests.set(n);
        n << 8 | u64::from(self.index)
    }
}
