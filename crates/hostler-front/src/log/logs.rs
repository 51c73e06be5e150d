//! The open logs of this generation, and which of them a virtual host writes to.

use super::Destination;
use hashbrown::HashMap;
use hostler_config::directives::log_config::{Condition, ErrorFormat, Format};
use hostler_config::{Config, Server};
use hostler_sys::fs::replace_descriptor;
use hostler_wire::plan::LogPlan;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// An access log of a virtual host.
#[derive(Debug)]
pub(crate) struct AccessLog {
    /// Index of the [`Destination`].
    pub(crate) destination: usize,
    pub(crate) format: Arc<Format>,
    pub(crate) condition: Option<Condition>,
}

/// The logs of a virtual host.
#[derive(Debug)]
struct OfServer {
    error_log: usize,
    access_logs: Box<[AccessLog]>,
    forensic_log: Option<usize>,
}

/// The open logs.
#[derive(Debug)]
pub(crate) struct Logs {
    destinations: Vec<Destination>,
    /// Targets of the destinations, as the plan names them.
    targets: Vec<String>,
    /// Of hosts without one of their own.
    default_format: ErrorFormat,
    /// By [`Server::id`].
    servers: Vec<OfServer>,
    /// BufferedLogs.
    pub(crate) buffered: bool,
}

impl Logs {
    /// Takes the descriptors, in the plan's order. A log that the plan lacks is replaced by stderr.
    pub(crate) fn new(config: &Config, plan: &[LogPlan], descriptors: Vec<OwnedFd>) -> Self {
        let mut destinations: Vec<Destination> = descriptors.into_iter().map(Destination::new).collect();
        let fallback = destinations.len();
        destinations.extend(std::io::stderr().as_fd().try_clone_to_owned().map(Destination::new));
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (index, log) in plan.iter().enumerate().take(fallback) {
            places.entry(&log.target).or_insert(index);
        }
        let find = |target: &str| places.get(target).copied().unwrap_or(fallback);
        let servers = config.servers.iter().map(|server| OfServer {
            error_log: find(&error_log(config, server)),
            access_logs: access_logs(server, &find),
            forensic_log: server.conf.log_forensic.target.as_deref().map(find),
        });
        let servers = servers.collect();
        let buffered = config.main().conf.log_config.buffered == Some(true);
        let targets = plan.iter().map(|log| log.target.clone()).collect();
        Self { destinations, targets, default_format: ErrorFormat::default(), servers, buffered }
    }

    /// Returns their number.
    pub(crate) fn len(&self) -> usize {
        self.destinations.len()
    }

    /// Writes to these files from now on, instead of to those from position `index`, which were moved or removed.
    pub(crate) fn replace(&self, index: usize, files: Vec<OwnedFd>) {
        let destinations =
            self.destinations.iter().skip(index).take(self.targets.len().saturating_sub(index));
        for (destination, file) in destinations.zip(files) {
            if let Err(e) = replace_descriptor(destination.descriptor().as_fd(), &file) {
                eprintln!("hostler-front: error: a log cannot be replaced by its new file: {e}");
            }
        }
    }

    /// By [`AccessLog::destination`].
    pub(crate) fn destination(&self, index: usize) -> Option<&Destination> {
        self.destinations.get(index)
    }

    /// Returns its name in the plan.
    pub(crate) fn target(&self, index: usize) -> &str {
        self.targets.get(index).map_or("stderr", |target| target)
    }

    /// The log with this target, as the plan names it.
    pub(crate) fn find(&self, target: &str) -> Option<&OwnedFd> {
        let index = self.targets.iter().position(|t| t == target)?;
        self.destinations.get(index).map(Destination::descriptor)
    }

    /// The access logs of a virtual host.
    pub(crate) fn access_logs(&self, server: &Server) -> &[AccessLog] {
        self.servers.get(server.id as usize).map_or(&[], |of| &of.access_logs)
    }

    /// Index of the [`Destination`].
    pub(super) fn error_log(&self, server: &Server) -> Option<usize> {
        Some(self.servers.get(server.id as usize)?.error_log)
    }

    /// A virtual host whose error log this is.
    pub(super) fn server_of_error_log<'a>(&self, config: &'a Config, index: usize) -> Option<&'a Server> {
        let at = self.servers.iter().position(|of| of.error_log == index)?;
        config.servers.get(at).map(|server| &**server)
    }

    /// The same of the ForensicLog, where there is one.
    pub(super) fn forensic_log(&self, server: &Server) -> Option<usize> {
        self.servers.get(server.id as usize)?.forensic_log
    }

    pub(super) fn error_format<'a>(&'a self, server: &'a Server) -> &'a ErrorFormat {
        server.conf.log_config.error_format.as_deref().unwrap_or(&self.default_format)
    }
}

/// As the planner names it.
fn error_log(config: &Config, server: &Server) -> String {
    match &server.conf.log_config.error_log {
        Some(target) => target.to_string(),
        None => format!("{}/logs/error_log", config.facts.server_root.trim_end_matches('/')),
    }
}

fn access_logs(server: &Server, find: &impl Fn(&str) -> usize) -> Box<[AccessLog]> {
    let logs = server.conf.log_config.logs().into_iter();
    logs.filter(|log| &*log.target != "/dev/null")
        .map(|log| AccessLog { destination: find(&log.target), format: log.format, condition: log.condition })
        .collect()
}
