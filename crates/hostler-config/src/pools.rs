//! Pools of warm workers: which virtual hosts share one, what it loads, and how large it may grow.

use crate::directives::perl;
use crate::{Config, Server};
use hostler_wire::engine::Setup;
use hostler_wire::plan::SiteId;

/// What tells one pool from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolKey {
    /// The site whose user the processes run as.
    pub site: SiteId,
    /// The engine: `perl`.
    pub engine: &'static str,
    /// Generation of the engine's API: 1 or 2.
    pub generation: u8,
    /// 0: shared by the site; else the virtual host that has it for itself.
    pub group: u32,
}

/// How large a pool is and how long a request waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// `StartServers`: workers at the first request.
    pub start: u32,
    /// `MinSpareServers`: idle workers to keep while the pool is in use.
    pub min_spare: u32,
    /// `MaxSpareServers`: idle workers above which some go.
    pub max_spare: u32,
    /// `MaxRequestWorkers`
    pub max_workers: u32,
    /// `MaxConnectionsPerChild`; 0: no limit.
    pub max_requests: u32,
    /// `HostlerQueueLength`
    pub queue_length: u32,
    /// `HostlerQueueTimeout`, seconds.
    pub queue_timeout: u32,
    /// `HostlerPoolIdle`, seconds.
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

/// All pools of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    /// The pools, in the order of their first virtual hosts.
    pub all: Vec<Pool>,
    /// The pool of each virtual host: index in `all`, by index in [`Config::servers`].
    pub of: Vec<u32>,
}

impl Pools {
    /// The pool that serves a virtual host.
    #[must_use]
    pub fn pool_of(&self, server: u32) -> &Pool {
        &self.all[self.of[server as usize] as usize]
    }
}

/// Groups the virtual hosts; `site_of` tells the site of each by index in [`Config::servers`].
#[must_use]
pub fn pools(config: &Config, site_of: &[SiteId]) -> Pools {
    let mut pools = Pools::default();
    for (server, site) in config.servers.iter().zip(site_of) {
        let key = key(server, *site);
        let at = pools.all.iter().position(|pool| pool.key == key).unwrap_or_else(|| {
            pools.all.push(Pool { key, settings: settings(server), servers: Vec::new() });
            pools.all.len() - 1
        });
        pools.all[at].servers.push(server.id);
        pools.of.push(at as u32);
    }
    pools
}

fn key(server: &Server, site: SiteId) -> PoolKey {
    PoolKey { site, engine: "perl", generation: perl::generation(server), group: 0 }
}

/// The settings of a virtual host's pool.
#[must_use]
pub fn settings(server: &Server) -> PoolSettings {
    let pool = &server.conf.pool;
    PoolSettings {
        start: pool.start.unwrap_or(1),
        min_spare: pool.min_spare.unwrap_or(1),
        max_spare: pool.max_spare.unwrap_or(10),
        max_workers: pool.max_workers.unwrap_or(32),
        max_requests: pool.max_requests.unwrap_or(0),
        queue_length: pool.queue_length.unwrap_or(1000),
        queue_timeout: pool.queue_timeout.unwrap_or(30),
        idle: pool.idle.unwrap_or(300),
    }
}

/// What the parent of a pool loads. `title` and `software` are left for the caller to fill in.
#[must_use]
pub fn setup(config: &Config, servers: &[u32], generation: u8, one_shot: bool) -> Setup {
    let _ = (config, servers);
    Setup { generation, one_shot, ..Setup::default() }
}
