//! `hostler sites`: virtual hosts with their users, addresses and document roots, and the pools of warm workers.

use hostler_config::pools::{Pool, pools, uses};
use hostler_config::{Config, Server, VhostAddress};

use crate::Failed;
use crate::cli::Run;
use crate::load;
use crate::plan::{Roles, Situation, roles};

const HEAD: [&str; 5] = ["HOST", "ADDRESS", "USER", "DOCUMENT ROOT", "DEFINED AT"];

pub(crate) fn sites(args: &Run) -> Result<(), Failed> {
    let config = load::files(&args.configuration)?.config;
    load::warn(&config);
    let roles = who_would_be(&config, &Situation::here(args.single_user))?;
    let mut rows = vec![HEAD.map(str::to_string)];
    for (server, site) in config.servers.iter().zip(&roles.site_of) {
        let user = roles.sites.get(*site as usize).map_or("?", |site| site.name.as_str());
        let file = config.files.get(server.origin.file as usize).map_or("", |file| &**file);
        let place = if server.addresses.is_empty() {
            "main server".to_string()
        } else {
            format!("{file}:{}", server.origin.line)
        };
        let root = server.conf.core.document_root.clone().unwrap_or_else(|| "-".to_string());
        rows.push([host(server), addresses(server), user.to_string(), root, place]);
    }
    print_table(&rows);
    print_pools(&config, &roles);
    Ok(())
}

const POOL_HEAD: [&str; 5] = ["POOL OF", "ENGINE", "WORKERS", "QUEUE", "VIRTUAL HOSTS"];

/// The pools that have programs to run, if there are any.
fn print_pools(config: &Config, roles: &Roles) {
    let pools = pools(config, &roles.site_of);
    let mut rows = vec![POOL_HEAD.map(str::to_string)];
    for pool in &pools.all {
        let users: Vec<&Server> =
            members(config, pool).filter(|server| uses(server, pool.key.engine)).collect();
        if !users.is_empty() {
            rows.push(pool_row(pool, &users, roles));
        }
    }
    if rows.len() > 1 {
        println!();
        print_table(&rows);
    }
}

fn members<'a>(config: &'a Config, pool: &'a Pool) -> impl Iterator<Item = &'a Server> {
    pool.servers.iter().filter_map(|id| config.servers.get(*id as usize).map(|server| &**server))
}

fn pool_row(pool: &Pool, users: &[&Server], roles: &Roles) -> [String; 5] {
    let settings = &pool.settings;
    let site = roles.sites.get(pool.key.site as usize).map_or("?", |site| site.name.as_str());
    let names: Vec<String> = users.iter().map(|server| host(server)).collect();
    [
        site.to_string(),
        format!(
            "{} ({})",
            pool.key.engine.name,
            users.first().map_or_else(String::new, |server| (pool.key.engine.title)(server))
        ),
        format!("{} to {}", settings.start.max(settings.min_spare), settings.max_workers),
        format!("{} for {} s", settings.queue_length, settings.queue_timeout),
        names.join(","),
    ]
}

/// The roles that root's start would give out, whoever asks, unless it is to be a single user's.
fn who_would_be(config: &Config, asking: &Situation) -> Result<Roles, Failed> {
    if asking.root() || asking.single_user {
        return roles(config, asking);
    }
    // Without `User` root could not start it: a configuration for people without root.
    roles(config, &Situation { uid: 0, gid: 0, single_user: false }).or_else(|_| roles(config, asking))
}

fn host(server: &Server) -> String {
    let name = server.conf.core.server_name.as_ref().map(|name| name.host.to_string());
    name.unwrap_or_else(|| "-".to_string())
}

fn addresses(server: &Server) -> String {
    let address = |address: &VhostAddress| {
        let ip = address.ip.map_or_else(|| "*".to_string(), |ip| ip.to_string());
        let ip = if ip.contains(':') { format!("[{ip}]") } else { ip };
        address.port.map_or_else(|| ip.clone(), |port| format!("{ip}:{port}"))
    };
    let all: Vec<String> = server.addresses.iter().map(address).collect();
    if all.is_empty() { "-".to_string() } else { all.join(",") }
}

/// Columns as wide as their widest entry, two spaces apart.
fn print_table(rows: &[[String; 5]]) {
    let mut widths = [0; 5];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
