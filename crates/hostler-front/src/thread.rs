//! What one of the front's threads owns. Threads share the configuration and the logs, nothing that is written
//! to while a request is answered; so there is no lock on the way.

use crate::access_log::Buffers;
use crate::agents::Agents;
use crate::counters::Counters;
use crate::engines::Engines;
use crate::fast::UrlCache;
use crate::files::Site;
use crate::hub::Hub;
use crate::log::Logs;
use crate::merge::MergeCache;
use crate::vhost::AddressHosts;
use hashbrown::HashMap;
use hostler_config::{Config, Server};
use hostler_wire::plan::SiteId;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What all threads share.
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) hub: Arc<Hub>,
    /// Pools of warm workers.
    pub(crate) engines: Engines,
    pub(crate) logs: Logs,
    /// What was answered, by thread.
    pub(crate) counters: Vec<Counters>,
    /// Site of each virtual host, by [`Server::id`].
    pub(crate) site_of: Vec<SiteId>,
    pub(crate) site_names: Vec<String>,
    /// TLS settings by virtual host.
    pub(crate) tls: crate::tls::Hosts,
    pub(crate) started: Instant,
    pub(crate) draining: AtomicBool,
    /// Open connections.
    pub(crate) connections: AtomicUsize,
    pub(crate) room: crate::listen::Room,
    pub(crate) next_connection: AtomicU32,
    pub(crate) drain: watch::Receiver<bool>,
    pub(crate) stop: crate::stop::Stop,
    pub(crate) warming: crate::warm::Warming,
    pub(crate) pid: u32,
}

impl Shared {
    /// Whole seconds since the front's start.
    pub(crate) fn seconds(&self) -> u32 {
        self.started.elapsed().as_secs() as u32
    }
}

/// A thread.
pub(crate) struct Thread {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: u32,
    sites: RefCell<Vec<Option<Rc<Site>>>>,
    hosts: RefCell<HashMap<SocketAddr, Arc<AddressHosts>>>,
    pub(crate) merges: RefCell<MergeCache>,
    pub(crate) urls: RefCell<UrlCache>,
    pub(crate) agents: RefCell<Agents>,
    pub(crate) htaccess: RefCell<crate::map::walk::HtaccessCache>,
    pub(crate) passwords: RefCell<crate::passwords::Passwords>,
    pub(crate) access_logs: Buffers,
    requests: Cell<u64>,
    second: Cell<u32>,
}

impl Thread {
    pub(crate) fn new(shared: Arc<Shared>, index: u32) -> Rc<Self> {
        let sites = RefCell::new(vec![None; shared.site_names.len()]);
        Rc::new(Self {
            access_logs: Buffers::new(&shared),
            agents: RefCell::new(Agents::new(&shared.config)),
            shared,
            index,
            sites,
            hosts: RefCell::default(),
            merges: RefCell::default(),
            urls: RefCell::default(),
            htaccess: RefCell::default(),
            passwords: RefCell::default(),
            requests: Cell::new(0),
            second: Cell::new(0),
        })
    }

    /// The site that serves a virtual host.
    pub(crate) fn site(&self, server: &Server) -> Rc<Site> {
        self.site_of(self.shared.site_of.get(server.id as usize).copied().unwrap_or(0))
    }

    /// A site by its number.
    pub(crate) fn site_of(&self, id: SiteId) -> Rc<Site> {
        // Not the coarse second: on a busy machine it lags, and a site in use would seem idle.
        self.shared.hub.touch(id, self.shared.seconds());
        let mut sites = self.sites.borrow_mut();
        let slot = &mut sites[id as usize];
        slot.get_or_insert_with(|| Site::new(id, self.shared.hub.clone())).clone()
    }

    /// Whether the kernel has just ended a process of this virtual host's site for want of memory.
    pub(crate) fn ran_out_of_memory(&self, server: &Server) -> bool {
        let id = self.shared.site_of.get(server.id as usize).copied().unwrap_or(0);
        self.shared.hub.ran_out_of_memory(id)
    }

    /// Notes that a site is in use.
    pub(crate) fn touch(&self, site: SiteId) {
        self.shared.hub.touch(site, self.second.get());
    }

    /// The virtual hosts behind a local address.
    pub(crate) fn hosts(&self, local: SocketAddr) -> Arc<AddressHosts> {
        let mut hosts = self.hosts.borrow_mut();
        hosts.entry(local).or_insert_with(|| Arc::new(AddressHosts::new(&self.shared.config, local))).clone()
    }

    /// Notes an answer for the status page.
    pub(crate) fn answered(&self, server: &Server, status: u16, bytes: u64, elapsed: Duration) {
        let site = self.shared.site_of.get(server.id as usize).copied().unwrap_or(0);
        let microseconds = elapsed.as_micros() as u64;
        self.shared.counters[self.index as usize].answered(site, status, bytes, microseconds);
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

    /// Once a second: the coarse clock, and sites that nobody uses.
    pub(crate) async fn housekeeping(self: Rc<Self>) {
        let mut ticks = tokio::time::interval(std::time::Duration::from_secs(1));
        loop {
            ticks.tick().await;
            let now = self.shared.seconds();
            self.second.set(now);
            if self.index == 0 {
                self.shared.engines.tidy();
            }
            let sites: Vec<Rc<Site>> = self.sites.borrow().iter().flatten().cloned().collect();
            for site in sites {
                site.close_if_idle(now);
            }
        }
    }
}
