//! The pools of warm workers: which one serves a virtual host, and how its engine's parent process is started, by
//! the site's process, as the site's user.
//!
//! **Runs as** the front. **Diagnostics**: what a pool's processes write to their standard error goes to the
//! ErrorLog of the pool's first virtual host under the engine's name; why an engine can't be started is told to
//! the requests that wait for it.

mod host;

use crate::request::thread::{SharedState, Thread};
use crate::site::sites::Sites;
use host::EngineHost;
use hostler_config::pools::{self, Pools, Share};
use hostler_config::technique::Engine;
use hostler_config::{Config, Server};
use hostler_gateway::backend::Backend;
use hostler_gateway::backend::ring::Pool;
use hostler_gateway::pool as gateway;
use hostler_gateway::pool::{Budget, Settings, Status};
use hostler_gateway::{Error, Kind};
use hostler_wire::plan::SiteId;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// All pools. They are made when they are first asked for, and start with their first request.
pub(crate) struct Engines {
    plan: Pools,
    threads: u32,
    /// Memory for all of them.
    budget: Arc<Budget>,
    /// By index in the plan; the second of each pair has a fresh process for each request.
    made: Vec<[OnceLock<Arc<Pool>>; 2]>,
    /// The pools of groups.
    grouped: Mutex<HashMap<Which, Arc<Pool>>>,
    /// The number of unused pools stopped, at the last check.
    ends: AtomicU64,
    /// Pools that have ended have left memory.
    untidy: AtomicBool,
}

/// A pool: its index in the plan, whether it has a fresh process for each request, and the group, of an engine whose
/// programs are divided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Which {
    index: usize,
    one_shot: bool,
    group: Option<Arc<str>>,
}

/// The prefix of a group's name in [`Engines::mark`].
const GROUP: &str = "\n";

/// Groups that requests may make, of all sites together. Those that sections make have no limit.
const MOST_GROUPS: usize = 2000;
/// Groups that requests may make of each pool of the plan.
const MOST_OF_POOL: usize = 100;

impl Engines {
    /// For a front of so many threads.
    pub(crate) fn new(config: &Config, sites: &Sites, threads: usize) -> Self {
        let plan = pools::pools(config, sites.all());
        let made = plan.all.iter().map(|_| Default::default()).collect();
        let budget = config.process.pool_memory.map_or_else(Budget::of_machine, Budget::new);
        let threads = threads as u32;
        Self {
            plan,
            threads,
            budget,
            made,
            grouped: Mutex::default(),
            ends: AtomicU64::new(0),
            untidy: AtomicBool::new(false),
        }
    }

    /// An engine's pool for a virtual host's requests. `one_shot`: `Isolation fork`, a process for each request.
    pub(crate) fn pool(
        &self,
        thread: &Rc<Thread>,
        server: &Server,
        engine: &Engine,
        one_shot: bool,
    ) -> &Arc<Pool> {
        let index = self.share(server, engine).pool as usize;
        self.made[index][usize::from(one_shot)]
            .get_or_init(|| self.make(thread, &Which { index, one_shot, group: None }))
    }

    /// The same for the requests of a group; `None`: those that are no group's.
    ///
    /// # Errors
    /// There are too many groups.
    pub(crate) fn of_group(
        &self,
        thread: &Rc<Thread>,
        server: &Server,
        engine: &Engine,
        one_shot: bool,
        group: Option<&Arc<str>>,
    ) -> Result<Arc<Pool>, Error> {
        let Some(group) = group else { return Ok(self.pool(thread, server, engine, one_shot).clone()) };
        let index = self.share(server, engine).pool as usize;
        self.grouped(thread, Which { index, one_shot, group: Some(group.clone()) })
    }

    fn grouped(&self, thread: &Rc<Thread>, which: Which) -> Result<Arc<Pool>, Error> {
        let mut grouped = self.grouped.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = grouped.get(&which) {
            return Ok(pool.clone());
        }
        if !self.are_configured(&which) {
            let made = || grouped.keys().filter(|other| !self.are_configured(other));
            let of_pool = made().filter(|other| other.index == which.index).count();
            if of_pool >= MOST_OF_POOL || made().count() >= MOST_GROUPS {
                let why = format!(
                    "there are {of_pool} groups of programs already, each with processes of its own: name one group for \
                     several programs"
                );
                return Err(Error::because(Kind::EngineFailed, why));
            }
        }
        let pool = self.make(thread, &which);
        grouped.insert(which, pool.clone());
        Ok(pool)
    }

    fn are_configured(&self, which: &Which) -> bool {
        self.plan.all[which.index].key.engine.groups.is_some_and(|groups| groups.are_configured)
    }

    /// Returns the number by which programs of its pool of an engine know a virtual host.
    pub(crate) fn place(&self, server: &Server, engine: &Engine) -> u32 {
        self.share(server, engine).place
    }

    fn share(&self, server: &Server, engine: &Engine) -> Share {
        self.plan.share(server.id, engine).expect("each virtual host has a share in a pool of each engine")
    }

    /// The pools of a site whose parents its process knows by these names.
    pub(crate) fn named(&self, shared: &SharedState, site: SiteId, names: &[String]) -> Vec<Which> {
        let indexes = (0..self.plan.all.len()).filter(|index| self.plan.all[*index].key.site == site);
        let all =
            indexes.flat_map(|index| [false, true].map(|one_shot| Which { index, one_shot, group: None }));
        all.flat_map(|which| self.named_as(shared, &which, names)).collect()
    }

    /// The pools among those of these names that this one is, or its groups.
    fn named_as(&self, shared: &SharedState, which: &Which, names: &[String]) -> Vec<Which> {
        let mark = self.mark(shared, which);
        let divided = self.plan.all[which.index].key.engine.groups.is_some();
        let own = names.contains(&mark).then(|| which.clone());
        let groups = names.iter().filter_map(|name| name.strip_prefix(&mark)?.strip_prefix(GROUP));
        let groups = groups.map(|group| Which { group: Some(group.into()), ..which.clone() });
        own.into_iter().chain(groups.filter(|_| divided)).collect()
    }

    /// By what the site's process knows the parents of a pool, in all generations.
    fn mark(&self, shared: &SharedState, which: &Which) -> String {
        let mark = format!("{} {}", self.pool_name(shared, which), self.plan.all[which.index].key.generation);
        which.group.as_ref().map_or_else(|| mark.clone(), |group| format!("{mark}{GROUP}{group}"))
    }

    /// Makes a pool on this thread, if there is none, and waits until it has processes, or can't have any.
    pub(crate) async fn warm(&self, thread: &Rc<Thread>, which: Which) {
        if which.group.is_some() {
            if let Ok(pool) = self.grouped(thread, which) {
                pool.warm().await;
            }
            return;
        }
        let pool = &self.made[which.index][usize::from(which.one_shot)];
        pool.get_or_init(|| self.make(thread, &which)).warm().await;
    }

    /// Engine and site, and the virtual host where that has a pool for itself.
    fn name(&self, shared: &SharedState, which: &Which) -> String {
        let name = self.pool_name(shared, which);
        let group = which.group.as_deref().unwrap_or_default().replace('\n', " ");
        if group.trim().is_empty() { name } else { format!("{name} [{}]", group.trim()) }
    }

    /// The same without the group.
    fn pool_name(&self, shared: &SharedState, which: &Which) -> String {
        let planned = &self.plan.all[which.index];
        let site = &shared.site_names[planned.key.site as usize];
        let mut name = format!("{} {site}", planned.key.engine.name);
        if planned.key.group != 0 {
            let server = shared.config.servers.get(planned.key.group as usize);
            let host = server.and_then(|server| server.conf.core.server_name.as_ref()).map(|name| &name.host);
            name.push_str(
                &host.map_or_else(|| format!(" #{}", planned.key.group), |host| format!(" {host}")),
            );
        }
        if which.one_shot {
            name.push_str(" (fork)");
        }
        name
    }

    fn make(&self, thread: &Rc<Thread>, which: &Which) -> Arc<Pool> {
        let (planned, name) = (&self.plan.all[which.index], self.name(&thread.shared, which));
        let (mut sizes, mut set_by) = (planned.settings, "MaxRequestWorkers");
        if let (Some(groups), Some(group)) = (planned.key.engine.groups, &which.group) {
            let of_group = (groups.sizes)(&thread.shared.config, &planned.servers, group);
            if of_group.max_workers.is_some() {
                set_by = "processes= times threads= of its process group";
            }
            sizes = sizes.with(of_group);
        }
        let settings = Settings { max_workers_set_by: set_by, ..settings(&sizes, which.one_shot) };
        let pool = Pool::new(name, settings, self.threads);
        self.budget.admit(&pool);
        let mark = self.mark(&thread.shared, which);
        let host = EngineHost::new(thread.clone(), planned.clone(), which.clone(), mark);
        tokio::task::spawn_local(pool.clone().maintain(host));
        pool
    }

    /// Has a pool of processes that are no engine's live on the same memory.
    pub(crate) fn admit<B: Backend>(&self, pool: &Arc<gateway::Pool<B>>) {
        self.budget.admit(pool);
    }

    fn all(&self) -> Vec<Arc<Pool>> {
        let grouped = self.grouped.lock().unwrap_or_else(PoisonError::into_inner);
        self.made.iter().flatten().filter_map(OnceLock::get).chain(grouped.values()).cloned().collect()
    }

    /// Returns the state of all existing pools.
    pub(crate) fn statuses(&self) -> Vec<Status> {
        self.all().iter().map(|pool| pool.status()).collect()
    }

    /// Gives memory back to the kernel that pools have left which were ended; after the last of several. To be called
    /// on one thread, once in a second.
    pub(crate) fn tidy(&self) {
        let ends: u64 = self.all().iter().map(|pool| pool.ends()).sum();
        let before = self.ends.swap(ends, Relaxed);
        if before != ends {
            self.untidy.store(true, Relaxed);
        } else if self.untidy.swap(false, Relaxed) {
            hostler_sys::memory::give_back();
        }
    }

    /// Ends all processes; for when no request is left.
    pub(crate) fn close(&self) {
        self.all().iter().for_each(Pool::close);
    }
}

fn settings(settings: &pools::PoolSettings, one_shot: bool) -> Settings {
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    Settings {
        start: settings.start,
        min_spare: settings.min_spare,
        max_spare: settings.max_spare,
        max_workers: settings.max_workers,
        max_requests: settings.max_requests,
        one_shot,
        queue_length: settings.queue_length as usize,
        queue_timeout: seconds(settings.queue_timeout),
        idle: seconds(settings.idle),
        ..Settings::default()
    }
}
