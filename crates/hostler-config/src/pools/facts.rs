//! The facts about virtual hosts for a pool's parent process.

use super::{limits, settings};
use crate::{Config, Server};
use hostler_wire::engine::{ServerFacts, Setup};

/// Returns the setup of a pool's parent that does not depend on its engine, and the members of the pool: `servers` are
/// indexes in [`Config::servers`], `log` the module in whose name their programs log. Left for the engine:
/// [`Setup::own`]; for the caller, who knows the site and the product's name: [`Setup::title`] and
/// [`ServerFacts::software`].
#[must_use]
pub fn setup<'a>(config: &'a Config, servers: &[u32], one_shot: bool, log: &str) -> (Setup, Vec<&'a Server>) {
    let pool: Vec<&Server> =
        servers.iter().filter_map(|id| Some(&**config.servers.get(*id as usize)?)).collect();
    let first = pool.first().copied().unwrap_or(config.main());
    let setup = Setup {
        server_root: config.facts.server_root.clone(),
        servers: members(config, &pool).map(|(place, server)| facts(config, server, place, log)).collect(),
        one_shot,
        max_requests: settings(first).max_requests,
        cpu: limits(first).cpu,
        ..Setup::default()
    };
    (setup, pool)
}

/// The main server first, whether or not it is a member: programs may ask for it. Each has its place for a number
/// ([`super::Share::place`]).
pub fn members<'a>(config: &'a Config, members: &[&'a Server]) -> impl Iterator<Item = (u32, &'a Server)> {
    let others = members.iter().filter(|server| server.id != 0).copied();
    (0..).zip(std::iter::once(config.main()).chain(others))
}

/// Returns the facts about a virtual host that a pool's programs may ask for. `log`: the module in whose name they log.
/// Left for the caller: [`ServerFacts::software`].
#[must_use]
pub fn facts(config: &Config, server: &Server, place: u32, log: &str) -> ServerFacts {
    let (core, logs) = (&server.conf.core, &server.conf.log_config);
    let name = core.server_name.as_ref();
    let of_address = server.addresses.iter().find_map(|address| address.port);
    let of_listen = config.process.listen.first().map(|listen| listen.port).filter(|_| server.id == 0);
    ServerFacts {
        id: place,
        name: name.map(|name| name.host.clone()).unwrap_or_default(),
        admin: core.admin.clone().unwrap_or_else(|| "[no address given]".to_owned()),
        port: name.and_then(|name| name.port).or(of_address).or(of_listen).unwrap_or(0),
        document_root: core.document_root.clone().unwrap_or_default(),
        software: String::new(),
        is_virtual: server.id != 0,
        error_log: logs.error_log.as_deref().unwrap_or("logs/error_log").to_owned(),
        // Apache's trace levels are finer than syslog's last.
        log_level: logs.levels.of(log) as u8,
        timeout: core.timeout.unwrap_or(60),
        keep_alive: core.keep_alive.unwrap_or(true),
        keep_alive_timeout: core.keep_alive_timeout.unwrap_or(5000),
        keep_alive_max: core.max_keep_alive_requests.unwrap_or(100),
        aliases: core.aliases.iter().chain(&core.wild_aliases).cloned().collect(),
    }
}
