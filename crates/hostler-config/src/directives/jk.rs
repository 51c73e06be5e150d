//! mod_jk: its workers are servlet containers over AJP, and balancers of them, in words that are older than mod_proxy's. What
//! `workers.properties` and `JkWorkerProperty` say becomes what mod_proxy's directives would say: each worker is a balancer
//! here, of one member where it is no `lb`. What a `JkMount` means for a URL is in [`mounts`].
//!
//! Workers are the whole server's; mounts are a virtual host's own, unless `JkMountCopy` says otherwise.

mod commands;
mod finish;
pub mod mounts;
mod properties;
mod workers;

pub(crate) use finish::finish;
pub use mounts::Mount;
pub use properties::Property;
pub use workers::{Kind, Worker};

use crate::{Effect, Merge, Module, over, unset_part};
use std::sync::Arc;

/// The module.
pub static MODULE: Module =
    Module { name: "jk_module", file: "mod_jk.c", directives: commands::DIRECTIVES, effect: Effect::Guards };

/// The handler of what a worker answers.
pub const HANDLER: &str = "jakarta-servlet";
/// The variable that names the worker where the handler is set without a mount.
pub const INDICATOR: &str = "JK_WORKER_NAME";

/// The form in which a container gets the path of a URL (`JkOptions ForwardURI...`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UriForm {
    /// Decoded and encoded again.
    #[default]
    Proxy,
    /// Decoded.
    Compat,
    /// As the client has sent it.
    Unparsed,
    /// Decoded and escaped as a URL is.
    Escaped,
}

/// Nothing per directory.
pub type Dir = ();

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// `JkWorkersFile` and `JkWorkerProperty`, in order.
    pub properties: Vec<Property>,
    /// `JkMount`, `JkUnMount` and the lines of `JkMountFile`; when the configuration is complete, those that count here, the
    /// most specific first.
    pub mounts: Vec<Arc<Mount>>,
    /// `JkMountCopy`; unset means Off, or what `JkMountCopy All` says.
    pub copies: Option<bool>,
    /// `JkMountCopy All`
    pub copies_all: bool,
    /// `JkOptions ForwardURI...`
    pub uri: Option<UriForm>,
    /// `JkOptions RejectUnsafeURI`
    pub rejects_unsafe: Option<bool>,
    /// `JkOptions DisableReuse`: connections to containers are not kept.
    pub disables_reuse: Option<bool>,
    /// `JkOptions ForwardLocalAddress`
    pub local_address: Option<bool>,
    /// `JkExtractSSL`; unset means On.
    pub extract_ssl: Option<bool>,
    /// `JkEnvVar`: variables that containers are told, and what for if they are not set.
    pub variables: Vec<(Box<str>, Option<Box<str>>)>,
    /// `JkAutoAlias`: the folder of web applications whose files are sent from here.
    pub alias: Option<Box<str>>,
    /// `JkStripSession`: how what is taken off URLs that no worker answers begins; empty: nothing is.
    pub strip: Option<Box<str>>,
    /// The workers, when the configuration is complete.
    pub workers: Arc<[Arc<Worker>]>,
}

impl Server {
    /// The worker of a name that may be mounted.
    #[must_use]
    pub fn worker(&self, name: &str) -> Option<&Arc<Worker>> {
        self.workers.iter().find(|worker| *worker.name == *name)
    }
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        let mut variables = self.variables.clone();
        variables.retain(|(name, _)| !other.variables.iter().any(|(own, _)| own == name));
        variables.extend(other.variables.iter().cloned());
        Self {
            properties: [&self.properties[..], &other.properties[..]].concat(),
            mounts: [&self.mounts[..], &other.mounts[..]].concat(),
            copies: other.copies,
            copies_all: self.copies_all || other.copies_all,
            uri: over(&self.uri, &other.uri),
            rejects_unsafe: over(&self.rejects_unsafe, &other.rejects_unsafe),
            disables_reuse: over(&self.disables_reuse, &other.disables_reuse),
            local_address: over(&self.local_address, &other.local_address),
            extract_ssl: over(&self.extract_ssl, &other.extract_ssl),
            variables,
            alias: other.alias.clone().or_else(|| self.alias.clone()),
            strip: over(&self.strip, &other.strip),
            workers: if other.workers.is_empty() { self.workers.clone() } else { other.workers.clone() },
        }
    }

    unset_part!(Server);
}

#[cfg(test)]
mod tests;
