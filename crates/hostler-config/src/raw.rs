//! A server as its lines say it, while they are carried out. Merging it over the main server is `crate::build`'s.

use crate::builder::vhost_host;
use crate::command::{Command, Context, Inside};
use crate::section::{Section, Setting};
use crate::{DirConfig, Node, Origin, ServerConfig, VhostAddress};
use std::net::IpAddr;
use std::sync::Arc;

/// A server as its lines say, not merged.
#[derive(Debug, Default)]
pub(crate) struct RawServer {
    pub(crate) origin: Origin,
    pub(crate) addresses: Vec<VhostAddress>,
    pub(crate) server: ServerConfig,
    pub(crate) dir: DirConfig,
    pub(crate) directories: Vec<Arc<Section>>,
    pub(crate) locations: Vec<Arc<Section>>,
    pub(crate) settings: Vec<Setting>,
}

impl RawServer {
    pub(crate) fn at(origin: Origin) -> Self {
        Self { origin, ..Self::default() }
    }

    /// One address of the VirtualHost line: `*`, `*:80`, `_default_:*`, `192.0.2.1:80`, `[::1]:443`, `name:80`.
    pub(crate) fn add_address(&mut self, cmd: &mut Command<'_>, word: &str) -> Result<(), String> {
        let host = vhost_host(word);
        let port = match word[host.len()..].strip_prefix(':') {
            None | Some("*") => None,
            Some(port) => Some(port.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                format!("the port of \"{word}\" is neither * nor a number from 1 to 65535")
            })?),
        };
        if host == "*" || host.eq_ignore_ascii_case("_default_") {
            self.addresses.push(VhostAddress { ip: None, port });
            return Ok(());
        }
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(ip) = bare.parse::<IpAddr>() {
            self.addresses.push(VhostAddress { ip: Some(ip), port });
            return Ok(());
        }
        let found = cmd.resolved(host);
        self.addresses.extend(found.iter().map(|ip| VhostAddress { ip: Some(*ip), port }));
        self.addresses.dedup();
        if found.is_empty() {
            cmd.warn(format!("the host name \"{host}\" has no address; it is left out"));
        }
        Ok(())
    }

    /// Carries out the directives in the section.
    pub(crate) fn fill(&mut self, outer: &mut Command<'_>, nodes: &[Node]) {
        let trail = std::mem::take(&mut outer.builder.trail);
        let mut cmd = Command {
            dir: &mut self.dir,
            server: &mut self.server,
            process: outer.process,
            context: Context::VirtualHost,
            inside: Inside::default(),
            place: None,
            limited: None,
            origin: outer.origin,
            directive: outer.directive,
            directories: &mut self.directories,
            locations: &mut self.locations,
            builder: outer.builder,
        };
        cmd.run(nodes);
        self.settings = std::mem::replace(&mut outer.builder.trail, trail);
    }
}
