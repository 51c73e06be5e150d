//! Pools of warm workers: which virtual hosts share one, what it loads ([`setup`]), and how large it may grow.
//!
//! Virtual hosts of one site and one generation of the API share a pool, as they would share an interpreter in
//! Apache. One that loads something of its own, has switches of its own, asks for it (`PerlOptions +Parent`,
//! `+Clone`) or sizes its pool has one for itself. Nothing is started here.

mod php;
mod setup;
mod used;

pub use php::{php_pools, php_setup};
pub use setup::setup;
pub use used::uses_engine;

use crate::directives::core::Rlimit;
use crate::directives::perl;
use crate::{Config, Server};
use hostler_wire::plan::SiteId;
use hostler_wire::site::Limits;
use std::collections::HashMap;

/// What tells one pool from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolKey {
    /// The site whose user the processes run as.
    pub site: SiteId,
    /// The engine: `perl`, `php`.
    pub engine: &'static str,
    /// Generation of the engine's API: 1 or 2.
    pub generation: u8,
    /// 0: shared by the site; else the virtual host that has it for itself.
    pub group: u32,
}

/// How large a pool is and how long a request waits for it.
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

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Which.
    pub key: PoolKey,
    /// How large.
    pub settings: PoolSettings,
    /// The virtual hosts that share it, by index in [`Config::servers`], in order.
    pub servers: Vec<u32>,
}

/// All pools of a configuration. A virtual host without programs has one too; it never starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    /// The pools, in the order of their first virtual hosts.
    pub all: Vec<Pool>,
    /// The pool of each virtual host: index in `all`, by index in [`Config::servers`].
    pub of: Vec<u32>,
    /// What its pool calls each virtual host ([`hostler_wire::engine::ServerFacts::id`]), by the same index. It does not
    /// depend on other pools: hosts that come and go elsewhere change nothing here.
    pub places: Vec<u32>,
}

impl Pools {
    /// The pool that serves a virtual host.
    ///
    /// # Panics
    /// When there is no such virtual host.
    #[must_use]
    pub fn pool_of(&self, server: u32) -> &Pool {
        &self.all[self.of[server as usize] as usize]
    }
}

/// Groups the virtual hosts; `site_of` tells the site of each by index in [`Config::servers`].
#[must_use]
pub fn pools(config: &Config, site_of: &[SiteId]) -> Pools {
    grouped(config, site_of, key)
}

fn grouped(config: &Config, site_of: &[SiteId], key: fn(&Server, &Server, SiteId) -> PoolKey) -> Pools {
    let mut pools = Pools::default();
    let mut known: HashMap<PoolKey, u32> = HashMap::new();
    for (server, site) in config.servers.iter().zip(site_of) {
        let key = key(config.main(), server, *site);
        let at = *known.entry(key).or_insert_with(|| {
            pools.all.push(Pool { key, settings: settings(server), servers: Vec::new() });
            pools.all.len() as u32 - 1
        });
        let members = &mut pools.all[at as usize].servers;
        pools.places.push(place(members, server.id));
        members.push(server.id);
        pools.of.push(at);
    }
    pools
}

/// What a virtual host is called in a pool with these before it: the main server is 0 in all.
fn place(before: &[u32], id: u32) -> u32 {
    if id == 0 { 0 } else { before.iter().filter(|other| **other != 0).count() as u32 + 1 }
}

fn key(main: &Server, server: &Server, site: SiteId) -> PoolKey {
    let group = if stands_alone(main, server) { server.id } else { 0 };
    PoolKey { site, engine: "perl", generation: perl::generation(server), group }
}

/// Whether a virtual host has a pool for itself: what it says about interpreters or pools is not the main server's.
fn stands_alone(main_server: &Server, server: &Server) -> bool {
    let (main, own) = (&main_server.conf, &server.conf);
    has_own_size(main_server, server)
        || (!own.perl.is_same(&main.perl) && own.perl.differs_in_interpreter(&main.perl))
}

/// Whether what a virtual host says about the size and the limits of its pool is not the main server's.
fn has_own_size(main_server: &Server, server: &Server) -> bool {
    let (main, own) = (&main_server.conf, &server.conf);
    let sizes = !own.pool.is_same(&main.pool) && *own.pool != *main.pool;
    sizes || limits(server) != limits(main_server)
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

/// `RLimitCPU`, `RLimitMEM` and `RLimitNPROC` outside of sections, for the processes of a virtual host's pool.
#[must_use]
pub fn limits(server: &Server) -> Limits {
    let core = &server.defaults.core;
    Limits {
        cpu: core.rlimit_cpu.map(limit),
        mem: core.rlimit_mem.map(limit),
        nproc: core.rlimit_nproc.map(limit),
    }
}

fn limit(limit: Rlimit) -> (u64, u64) {
    (limit.soft.unwrap_or(u64::MAX), limit.hard.unwrap_or(u64::MAX))
}

/// Enough to keep the processors busy where programs wait for a database, and few enough for the memory.
fn usual_workers() -> u32 {
    let processors = std::thread::available_parallelism().map_or(2, |count| count.get() as u32);
    processors.saturating_mul(8).clamp(16, 64)
}

#[cfg(test)]
mod tests;
