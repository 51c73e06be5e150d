//! Servers: the main one is filled, then each of the others, which are merged over it.

use super::{LANGUAGE, handlers, pairs};
use crate::builder::Builder;
use crate::command::{Command, Context, Inside};
use crate::directives::jk;
use crate::raw::RawServer;
use crate::section::{Pattern, Section};
use crate::{Canonical, Config, ConfigError, Node, Origin, ProcessConfig, Server, TopLevel, Tree};
use std::sync::Arc;

impl RawServer {
    /// The main server: what is outside of virtual hosts.
    fn main(builder: &mut Builder, process: &mut ProcessConfig, nodes: &[Node]) -> Self {
        let mut main = Self::default();
        let Some((_, directive)) = crate::modules::find("VirtualHost") else { return main };
        let mut cmd = Command {
            dir: &mut main.dir,
            server: &mut main.server,
            process,
            context: Context::Main,
            inside: Inside::default(),
            place: None,
            limited: None,
            origin: Origin::default(),
            directive,
            directories: &mut main.directories,
            locations: &mut main.locations,
            builder,
        };
        cmd.run(nodes);
        main.settings = std::mem::take(&mut builder.trail);
        main
    }

    /// Merges over the main server.
    fn merge(self, main: &Server) -> Server {
        let mut conf = main.conf.merge(&self.server);
        conf.core.disinherit(&self.server.core);
        let canonical =
            Canonical::new(conf.core.server_name.as_ref(), &self.addresses, Some(&main.canonical));
        Server {
            id: 0,
            canonical,
            origin: self.origin,
            addresses: self.addresses,
            conf,
            defaults: Arc::new(main.defaults.merge(&self.dir)),
            directories: joined(&main.directories, self.directories, sorted),
            locations: joined(&main.locations, self.locations, |all| all),
            settings: self.settings,
            user_of: None,
            users: Arc::default(),
        }
    }
}

/// The main server's sections before the virtual host's; shared when there are none of its own.
fn joined(
    main: &Arc<[Arc<Section>]>,
    own: Vec<Arc<Section>>,
    order: fn(Vec<Arc<Section>>) -> Vec<Arc<Section>>,
) -> Arc<[Arc<Section>]> {
    if own.is_empty() {
        return Arc::clone(main);
    }
    order(main.iter().cloned().chain(own).collect()).into()
}

/// Merge order of Directory sections (`ap_core_reorder_directories`): by depth, regular expressions last, else
/// as they stand.
fn sorted(mut sections: Vec<Arc<Section>>) -> Vec<Arc<Section>> {
    sections.sort_by_key(|section| match section.pattern {
        Pattern::Regex(_) => u32::MAX,
        _ => section.depth,
    });
    sections
}

impl Config {
    /// Builds the configuration from the tree, without touching a file.
    ///
    /// # Errors
    /// All errors that could be found in one go.
    pub fn build(tree: &Tree) -> Result<Self, Vec<ConfigError>> {
        let (config, errors) = Self::build_anyhow(tree);
        if errors.is_empty() { Ok(config) } else { Err(errors) }
    }

    /// Builds what can be built, and the errors.
    pub(crate) fn build_anyhow(tree: &Tree) -> (Self, Vec<ConfigError>) {
        let files = tree.files.iter().map(|name| Arc::from(name.as_str())).collect();
        let mut builder = Builder::new(LANGUAGE, Arc::new(tree.facts.clone()), files);
        for (origin, message) in &tree.warnings {
            builder.warn(*origin, message.clone());
        }
        let mut process = ProcessConfig::default();
        let raw = RawServer::main(&mut builder, &mut process, &tree.nodes);
        let hosts = std::mem::take(&mut builder.hosts);
        if builder.errors.is_empty() {
            handlers::warn_of_missing(&mut builder);
            crate::directives::filter::refuse_missing(&mut builder);
        }
        let mut servers = merged(raw, hosts, &mut builder);
        super::users::add(&mut servers, &process, &mut builder);
        let Builder { facts, files, mut errors, warnings, regex_options, aliases, .. } = builder;
        let top_level =
            if uses_mod_perl(&tree.nodes) { top_level(&tree.nodes, &servers) } else { Vec::new() };
        let config = Self { servers, process, files, facts, warnings, regex_options, aliases, top_level };
        errors.extend(pairs::impossible(&config));
        (config, errors)
    }
}

fn uses_mod_perl(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| {
        let is_perl = node.name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("perl"));
        is_perl || node.children.as_deref().is_some_and(uses_mod_perl)
    })
}

/// Each `<VirtualHost>` is a server, in the order of the files. A section that is not where its server begins belongs to
/// none.
fn top_level(nodes: &[Node], servers: &[Arc<Server>]) -> Vec<TopLevel> {
    let mut next = 1;
    let of = |node: &Node| {
        let is_host = node.children.is_some() && node.name.eq_ignore_ascii_case("VirtualHost");
        let server = servers.get(next).filter(|server| is_host && server.origin == node.origin);
        next += usize::from(is_host);
        TopLevel { node: node.clone(), server: server.map(|server| server.id) }
    };
    nodes.iter().map(of).collect()
}

fn merged(raw: RawServer, hosts: Vec<RawServer>, builder: &mut Builder) -> Vec<Arc<Server>> {
    let mut main = Server {
        canonical: Canonical::new(raw.server.core.server_name.as_ref(), &[], None),
        conf: raw.server,
        defaults: Arc::new(raw.dir),
        directories: sorted(raw.directories).into(),
        locations: raw.locations.into(),
        settings: raw.settings,
        ..Server::default()
    };
    let mut servers = Vec::with_capacity(hosts.len() + 1);
    let mut merged: Vec<Server> = hosts.into_iter().map(|host| host.merge(&main)).collect();
    jk::finish(&mut main.conf, merged.iter_mut().map(|host| &mut host.conf), builder);
    for (server, id) in std::iter::once(main).chain(merged).zip(0..) {
        servers.push(Arc::new(Server { id, ..server }));
    }
    servers
}
