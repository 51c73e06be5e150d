//! Pools of warm workers: which virtual hosts share one, and how large it may grow.
//!
//! A virtual host has a share in one pool of each engine. Hosts of one site share a pool, as they would share an
//! interpreter in Apache; one whose runtime would differ from the main server's (the engine says whether), or that sizes
//! its pools, has one for itself. Nothing is started here.

mod facts;
mod used;

pub use facts::{facts, members, setup};
pub use used::{uses, uses_any};

use crate::directives::core::Rlimit;
use crate::technique::{self, Engine, Sizes};
use crate::{Config, Server};
use hostler_wire::plan::SiteId;
use hostler_wire::site::Limits;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The key of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolKey {
    /// The site whose user the processes run as.
    pub site: SiteId,
    /// The engine.
    pub engine: &'static Engine,
    /// A further distinction between its processes ([`Engine::generation`]).
    pub generation: u8,
    /// 0: shared by the site; else the virtual host that has it for itself.
    pub group: u32,
}

/// The size of a pool, and the longest wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// `StartServers`: workers at the first request (default 1).
    pub start: u32,
    /// `MinSpareServers`: idle workers to keep while the pool is in use (default 1).
    pub min_spare: u32,
    /// `MaxSpareServers`: idle workers above which some go (default 10).
    pub max_spare: u32,
    /// `MaxRequestWorkers` (default 8 for each processor, from 16 to 64).
    pub max_workers: u32,
    /// `MaxConnectionsPerChild`: requests of a worker's life; 0: no limit (default).
    pub max_requests: u32,
    /// `HostlerQueueLength` (default 1000).
    pub queue_length: u32,
    /// `HostlerQueueTimeout`, seconds (default 30).
    pub queue_timeout: u32,
    /// `HostlerPoolIdle`, seconds (default 300).
    pub idle: u32,
}

impl PoolSettings {
    /// The same with these sizes.
    #[must_use]
    pub fn with(self, sizes: Sizes) -> Self {
        let max_workers = sizes.max_workers.unwrap_or(self.max_workers).max(1);
        let min_spare = self.min_spare.min(max_workers);
        Self {
            start: self.start.min(max_workers),
            min_spare,
            max_spare: self.max_spare.max(min_spare + 1),
            max_workers,
            max_requests: sizes.max_requests.unwrap_or(self.max_requests),
            queue_timeout: sizes.queue_timeout.unwrap_or(self.queue_timeout),
            idle: sizes.idle.unwrap_or(self.idle),
            ..self
        }
    }
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Which.
    pub key: PoolKey,
    /// The size.
    pub settings: PoolSettings,
    /// The virtual hosts that share it, by index in [`Config::servers`], in order.
    pub servers: Vec<u32>,
}

/// All pools of a configuration. A virtual host without programs has them too; they never start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    /// The pools, in the order of their first virtual hosts.
    pub all: Vec<Pool>,
    /// The pools that a virtual host has a share in, by index in [`Config::servers`]: one for each engine, in the order
    /// of the engines' names.
    of: Vec<Vec<Share>>,
}

/// A virtual host's share in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The engine.
    pub engine: &'static Engine,
    /// Index in [`Pools::all`].
    pub pool: u32,
    /// The pool's number of the virtual host ([`hostler_wire::engine::ServerFacts::id`]). It does not depend on other
    /// pools: hosts that come and go elsewhere change nothing here.
    pub place: u32,
}

impl Pools {
    /// A virtual host's share in the pools of an engine; `None`: there is no such virtual host or engine.
    #[must_use]
    pub fn share(&self, server: u32, engine: &Engine) -> Option<Share> {
        self.of.get(server as usize)?.iter().find(|share| share.engine == engine).copied()
    }
}

/// Groups the virtual hosts; `site_of` tells the site of each by index in [`Config::servers`].
#[must_use]
pub fn pools(config: &Config, site_of: &[SiteId]) -> Pools {
    let mut pools = Pools::default();
    let mut known: HashMap<PoolKey, u32> = HashMap::new();
    for (server, site) in config.servers.iter().zip(site_of) {
        let mut share = |engine: &'static Engine| {
            let key = key(config.main(), server, *site, engine);
            let pool = *known.entry(key).or_insert_with(|| {
                pools.all.push(Pool { key, settings: settings(server), servers: Vec::new() });
                pools.all.len() as u32 - 1
            });
            let members = &mut pools.all[pool as usize].servers;
            let place = place(members, server.id);
            members.push(server.id);
            Share { engine, pool, place }
        };
        let shares = technique::engines().iter().map(|engine| share(engine)).collect();
        pools.of.push(shares);
    }
    pools
}

/// Returns a virtual host's number in a pool with these before it: the main server is 0 in all.
fn place(before: &[u32], id: u32) -> u32 {
    if id == 0 { 0 } else { before.iter().filter(|other| **other != 0).count() as u32 + 1 }
}

fn key(main: &Server, server: &Server, site: SiteId, engine: &'static Engine) -> PoolKey {
    let group = if stands_alone(main, server, engine) { server.id } else { 0 };
    PoolKey { site, engine, generation: (engine.generation)(server), group }
}

/// Returns whether a virtual host has a pool for itself: what it says about its runtime or pools is not the main
/// server's.
fn stands_alone(main_server: &Server, server: &Server, engine: &Engine) -> bool {
    let (main, own) = (&main_server.conf, &server.conf);
    let sizes = !own.pool.is_same(&main.pool) && *own.pool != *main.pool;
    sizes || limits(server) != limits(main_server) || (engine.stands_alone)(main_server, server)
}

/// The settings of a virtual host's pool.
#[must_use]
pub fn settings(server: &Server) -> PoolSettings {
    let pool = &server.conf.pool;
    let max_workers = pool.max_workers.unwrap_or_else(usual_workers).max(1);
    let min_spare = pool.min_spare.unwrap_or(1).min(max_workers);
    PoolSettings {
        start: pool.start.unwrap_or(1).min(max_workers),
        min_spare,
        // Apache, too, lifts a MaxSpareServers that is not above MinSpareServers.
        max_spare: pool.max_spare.unwrap_or(10).max(min_spare + 1),
        max_workers,
        max_requests: pool.max_requests.unwrap_or(0),
        queue_length: pool.queue_length.unwrap_or(1000),
        queue_timeout: pool.queue_timeout.unwrap_or(30),
        idle: pool.idle.unwrap_or(300),
    }
}

/// `RLimitCPU`, `RLimitMEM`, `RLimitNPROC` and `NiceValue` outside of sections, for the processes of a virtual host's pool.
#[must_use]
pub fn limits(server: &Server) -> Limits {
    let core = &server.defaults.core;
    Limits {
        cpu: core.rlimit_cpu.map(limit),
        mem: core.rlimit_mem.map(limit),
        nproc: core.rlimit_nproc.map(limit),
        nice: core.nice,
    }
}

fn limit(limit: Rlimit) -> (u64, u64) {
    (limit.soft.unwrap_or(u64::MAX), limit.hard.unwrap_or(u64::MAX))
}

/// Enough to keep the processors busy where programs wait for a database, and few enough for the memory.
fn usual_workers() -> u32 {
    // The library reads files of control groups each time; requests ask for this.
    static PROCESSORS: OnceLock<u32> = OnceLock::new();
    let count = || std::thread::available_parallelism().map_or(2, |count| count.get() as u32);
    PROCESSORS.get_or_init(count).saturating_mul(8).clamp(16, 64)
}

#[cfg(test)]
mod tests;
