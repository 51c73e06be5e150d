//! The settings of a pool's parent process before it forks workers, and the virtual hosts with a pool of their own.
//!
//! Virtual hosts of one site share a pool, and with it a cache of compiled scripts. One that has a php.ini or
//! administrator's settings of its own has one for itself, and so has each section that has such settings: what is compiled
//! under some of them is not for use under others.

use crate::LOG;
use crate::parts::{DIR, SERVER};
use hostler_config::{Config, DirConfig, Section, Server, pools};
use hostler_php_frames as frames;
use hostler_wire::codec::Encoder;
use hostler_wire::engine::{ServerFacts, Setup};
use std::sync::Arc;

/// Returns whether two virtual hosts can't share what is compiled.
pub(crate) fn differs(main: &Server, server: &Server) -> bool {
    let (usual, own) = (main.conf.part(&SERVER), server.conf.part(&SERVER));
    usual.program() != own.program() || usual.ini != own.ini || admin_of(main) != admin_of(server)
}

/// The administrator's settings of a virtual host, in all its sections.
fn admin_of(server: &Server) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    in_dir(&server.defaults, &mut all);
    in_sections(&server.directories, &mut all);
    in_sections(&server.locations, &mut all);
    all
}

/// The group of a directory's requests: what it has of the administrator's settings beyond, or in place of, those that hold
/// outside of sections. `None`: nothing.
#[must_use]
pub fn group(server: &Server, dir: &DirConfig) -> Option<Arc<str>> {
    let (usual, own) = (server.defaults.part(&DIR), dir.part(&DIR));
    if usual.admin().eq(own.admin()) {
        return None;
    }
    let mut usual: Vec<_> = usual.admin().collect();
    let mut own: Vec<_> = own.admin().collect();
    usual.sort_unstable();
    own.sort_unstable();
    if usual == own {
        return None;
    }
    let lines: Vec<String> = own.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Some(lines.join("\n").into())
}

fn in_dir<'a>(dir: &'a DirConfig, all: &mut Vec<(&'a str, &'a str)>) {
    all.extend(dir.part(&DIR).admin());
    in_sections(&dir.core.files, all);
    in_sections(&dir.core.ifs, all);
}

fn in_sections<'a>(sections: &'a [Arc<Section>], all: &mut Vec<(&'a str, &'a str)>) {
    sections.iter().for_each(|section| in_dir(&section.conf, all));
}

/// Returns the setup of a pool's parent before it forks workers ([`pools::setup`]).
#[must_use]
pub(crate) fn setup(config: &Config, servers: &[u32], one_shot: bool) -> Setup {
    let (mut setup, members) = pools::setup(config, servers, one_shot, LOG);
    let first = members.first().copied().unwrap_or(config.main());
    let ini = first.conf.part(&SERVER).ini.as_deref().map(str::to_owned);
    let warm =
        members.iter().flat_map(|server| warm(server, &pools::facts(config, server, 0, LOG))).collect();
    frames::Setup { ini, modules: modules(config), warm }.encode(&mut Encoder(&mut setup.own));
    setup
}

/// Changes the setup for a section's pool: the same, without scripts that belong to the whole virtual host.
pub(crate) fn of_group(setup: &mut Setup) {
    if let Ok(own) = frames::Setup::decode(&setup.own) {
        setup.own.clear();
        frames::Setup { warm: Vec::new(), ..own }.encode(&mut Encoder(&mut setup.own));
    }
}

/// `PHPWarm`: the virtual host's document root, and scripts below it.
fn warm(server: &Server, facts: &ServerFacts) -> Vec<(String, String)> {
    server
        .conf
        .part(&SERVER)
        .warm
        .iter()
        .map(|path| (facts.document_root.clone(), path.to_string()))
        .collect()
}

/// Returns the list for `apache_get_modules()`: programs use it to decide what to write into their `.htaccess` files.
/// It contains the modules that `<IfModule>` finds there.
fn modules(config: &Config) -> Vec<String> {
    let loaded = &config.facts.loaded_modules;
    let names = hostler_config::modules::sources(loaded).filter_map(|file| file.strip_suffix(".c"));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}
