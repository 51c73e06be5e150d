//! The servers that a configuration names, and balancers of several of them.

use super::Server;
use super::parameters::{BalancerParameters, Parameters};
use super::url::Url;
use crate::Origin;
use std::sync::Arc;

/// A server that lines name.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// The prefix of its URLs.
    pub url: Arc<Url>,
    /// Its parameters.
    pub parameters: Arc<Parameters>,
    /// The line that names it first.
    pub origin: Origin,
}

/// A member of a balancer.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The server.
    pub worker: Worker,
}

/// `balancer://name`: several servers that do the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Balancer {
    /// In lower case.
    pub name: Box<str>,
    /// In the order in which they are named.
    pub members: Vec<Member>,
    /// Its parameters.
    pub parameters: BalancerParameters,
    /// The line that names it first.
    pub origin: Origin,
}

/// Settings of the main server that a virtual host may overlay.
pub(super) trait Overlay: Sized {
    /// Returns whether both are about the same.
    fn is_about(&self, other: &Self) -> bool;

    /// Returns the virtual host's settings over the main server's; `None`: it has none of its own.
    fn over(&self, main: &Self) -> Option<Self>;
}

impl Overlay for Worker {
    fn is_about(&self, other: &Self) -> bool {
        self.url == other.url
    }

    fn over(&self, main: &Self) -> Option<Self> {
        let is_named_only = *self.parameters == Parameters::default();
        let over = || Self { parameters: Arc::new(self.parameters.over(&main.parameters)), ..self.clone() };
        (!is_named_only).then(over)
    }
}

impl Overlay for Balancer {
    fn is_about(&self, other: &Self) -> bool {
        self.name == other.name
    }

    fn over(&self, main: &Self) -> Option<Self> {
        let is_named_only = self.members.is_empty() && self.parameters == BalancerParameters::default();
        let members = if self.members.is_empty() { &main.members } else { &self.members };
        (!is_named_only).then(|| Self {
            members: members.clone(),
            parameters: self.parameters.over(&main.parameters),
            ..self.clone()
        })
    }
}

/// Lays a virtual host's settings over the main server's. A server that it only names, as `ProxyPass` does, stays the
/// main server's, which all virtual hosts share.
pub(super) fn said_over<T: Overlay>(main: &[Arc<T>], host: &[Arc<T>]) -> Vec<Arc<T>> {
    let others = main.iter().filter(|one| !host.iter().any(|own| own.is_about(one))).cloned();
    let own = host.iter().map(|own| match main.iter().find(|one| one.is_about(own)) {
        Some(one) => own.over(one).map_or_else(|| one.clone(), Arc::new),
        None => own.clone(),
    });
    others.chain(own).collect()
}

/// A word `name=value`.
pub(super) fn split(word: &str) -> Result<(String, &str), String> {
    let (name, value) =
        word.split_once('=').ok_or_else(|| format!("\"{word}\" is not a parameter (expected name=value)"))?;
    Ok((name.to_ascii_lowercase(), value))
}

fn unknown(name: &str, of: &str) -> String {
    crate::unknown(&format!("{of} parameter"), name, &[])
}

impl Worker {
    pub(super) fn set(&mut self, word: &str) -> Result<(), String> {
        let (name, value) = split(word)?;
        match Arc::make_mut(&mut self.parameters).set(&name, value) {
            Ok(true) => Ok(()),
            Ok(false) => Err(unknown(&name, "server")),
            Err(why) => Err(format!("{name}: {why}")),
        }
    }
}

impl Balancer {
    pub(super) fn set(&mut self, word: &str) -> Result<(), String> {
        let (name, value) = split(word)?;
        match self.parameters.set(&name, value) {
            Ok(true) => Ok(()),
            Ok(false) => Err(unknown(&name, "balancer")),
            Err(why) => Err(format!("{name}: {why}")),
        }
    }

    /// Adds a member, or says more of one that is there.
    pub(super) fn member(&mut self, url: Url, origin: Origin) -> &mut Worker {
        let at = self.members.iter().position(|member| *member.worker.url == url).unwrap_or_else(|| {
            let worker = Worker { url: Arc::new(url), parameters: Arc::default(), origin };
            self.members.push(Member { worker });
            self.members.len() - 1
        });
        &mut self.members[at].worker
    }
}

impl Server {
    /// The server of a URL, to be said more of.
    pub(super) fn worker_mut(&mut self, url: Url, origin: Origin) -> &mut Worker {
        let at = self.workers.iter().position(|worker| *worker.url == url).unwrap_or_else(|| {
            self.workers.push(Arc::new(Worker { url: Arc::new(url), parameters: Arc::default(), origin }));
            self.workers.len() - 1
        });
        Arc::make_mut(&mut self.workers[at])
    }

    /// The balancer of a name, to be said more of.
    pub(super) fn balancer_mut(&mut self, name: &str, origin: Origin) -> &mut Balancer {
        let name = name.to_ascii_lowercase();
        let at = self.balancers.iter().position(|balancer| *balancer.name == *name).unwrap_or_else(|| {
            let (members, parameters) = (Vec::new(), BalancerParameters::default());
            self.balancers.push(Arc::new(Balancer { name: name.into(), members, parameters, origin }));
            self.balancers.len() - 1
        });
        Arc::make_mut(&mut self.balancers[at])
    }
}
