//! The virtual host of a request: first by its address, then by the requested name.

use hashbrown::HashMap;
use hostler_config::{Config, Server};
use hostler_http1::authority::glob;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The virtual hosts that one local address and port may reach.
#[derive(Debug)]
pub(crate) struct AddressHosts {
    /// The first of them, or the main server.
    default: Arc<Server>,
    /// In the order of the configuration; empty: the main server, whatever the name.
    servers: Vec<Arc<Server>>,
    /// ServerName and ServerAlias without wildcards: position of the first virtual host with that name.
    exact: HashMap<Vec<u8>, usize, foldhash::fast::FixedState>,
    /// ServerAlias with wildcards, in order.
    wild: Vec<(Vec<u8>, usize)>,
}

impl AddressHosts {
    /// Collects the virtual hosts of `config` that `local` can reach: the ones that name its address, or else those for
    /// any address (Apache: the best matching set of virtual hosts).
    pub(crate) fn new(config: &Config, local: SocketAddr) -> Self {
        let named = |ip: Option<IpAddr>| {
            config.servers[1..].iter().filter(move |server| {
                server.addresses.iter().any(|a| a.ip == ip && a.port.is_none_or(|port| port == local.port()))
            })
        };
        let mut servers: Vec<Arc<Server>> = named(Some(local.ip())).cloned().collect();
        if servers.is_empty() {
            servers = named(None).cloned().collect();
        }
        let default = servers.first().unwrap_or(&config.servers[0]).clone();
        let (mut exact, mut wild) = (HashMap::default(), Vec::new());
        for (index, server) in servers.iter().enumerate() {
            let core = &server.conf.core;
            let names = core.server_name.iter().map(|n| &n.host);
            for name in names.chain(&core.aliases) {
                exact.entry(name.clone().into_bytes()).or_insert(index);
            }
            wild.extend(core.wild_aliases.iter().map(|name| (name.clone().into_bytes(), index)));
        }
        Self { default, servers, exact, wild }
    }

    /// Returns whether there are several virtual hosts to choose from, or one that has names.
    pub(crate) fn are_named(&self) -> bool {
        self.servers.len() > 1 || !self.exact.is_empty() || !self.wild.is_empty()
    }

    /// `RemoteIPProxyProtocol`: whether a connection of this address begins with a header that tells whose it is.
    pub(crate) fn begins_with_proxy(&self, remote: IpAddr) -> bool {
        let is_on = |server: &Arc<Server>| server.conf.remoteip.protocol == Some(true);
        (is_on(&self.default) || self.servers.iter().any(is_on))
            && !self.default.conf.remoteip.excepts(remote)
    }

    /// The virtual host for requests without a name that matches.
    pub(crate) fn default_server(&self) -> &Arc<Server> {
        &self.default
    }

    /// The first virtual host in the configuration whose name or alias is `host` (lower case, no port).
    pub(crate) fn find(&self, host: &[u8]) -> Option<&Arc<Server>> {
        let exact = self.exact.get(host).copied();
        let wild = self
            .wild
            .iter()
            .take_while(|(_, index)| exact.is_none_or(|e| *index < e))
            .find(|(pattern, _)| glob(pattern, host))
            .map(|(_, index)| *index);
        self.servers.get(wild.or(exact)?)
    }
}
