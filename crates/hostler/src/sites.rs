//! `hostler sites`: virtual hosts with their users, addresses and document roots.

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
    Ok(())
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
