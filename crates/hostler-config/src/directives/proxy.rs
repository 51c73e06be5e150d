//! Directives of mod_proxy and the modules around it: which URLs another server answers for, how it is reached, and how
//! several of them share the work. What they do to a request is in [`pass`] and [`reverse`]; who is connected to, and how
//! one of several is chosen, is the front's and the gateway's.
//!
//! Hostler is no forward proxy: what only makes one is refused.

pub mod checks;
mod commands;
mod containers;
pub mod parameters;
pub mod pass;
pub mod reverse;
mod section;
mod settings;
pub mod url;
mod workers;

pub use pass::Pass;
pub use reverse::Reverse;
pub use settings::{BadHeader, ErrorOverride, StatusLine, Via};
pub use workers::{Balancer, Member, Worker};

use crate::{Effect, Merge, Module, Section, over, unset_part};
use std::sync::Arc;
use std::time::Duration;

/// The modules.
pub static MODULE: Module = Module {
    name: "proxy_module",
    file: "mod_proxy.c",
    directives: commands::DIRECTIVES,
    effect: Effect::Guards,
};

/// mod_proxy_http has no directives of its own.
pub static HTTP: Module =
    Module { name: "proxy_http_module", file: "mod_proxy_http.c", directives: &[], effect: Effect::Guards };

/// Nor has mod_proxy_http2.
pub static HTTP2: Module =
    Module { name: "proxy_http2_module", file: "mod_proxy_http2.c", directives: &[], effect: Effect::Guards };

/// Nor has mod_proxy_balancer.
pub static BALANCER: Module = Module {
    name: "proxy_balancer_module",
    file: "mod_proxy_balancer.c",
    directives: &[],
    effect: Effect::Guards,
};

/// mod_proxy_wstunnel.
pub static WSTUNNEL: Module = Module {
    name: "proxy_wstunnel_module",
    file: "mod_proxy_wstunnel.c",
    directives: commands::WSTUNNEL,
    effect: Effect::Harmless,
};

/// The ways to choose a member, each a module of Apache's.
pub static METHODS: [Module; 3] = [
    method("lbmethod_byrequests_module", "mod_lbmethod_byrequests.c"),
    method("lbmethod_bytraffic_module", "mod_lbmethod_bytraffic.c"),
    method("lbmethod_bybusyness_module", "mod_lbmethod_bybusyness.c"),
];

const fn method(name: &'static str, file: &'static str) -> Module {
    Module { name, file, directives: &[], effect: Effect::Guards }
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// `ProxyPass` with one argument, in `<Location>`.
    pub pass: Option<Arc<Pass>>,
    /// `ProxyPassReverse`, in order.
    pub reverse: Vec<Arc<Reverse>>,
    /// `ProxyPassReverseCookiePath`, in order.
    pub cookie_paths: Vec<Arc<Reverse>>,
    /// `ProxyPassReverseCookieDomain`, in order.
    pub cookie_domains: Vec<Arc<Reverse>>,
    /// `ProxyPassInterpolateEnv`; unset means Off.
    pub interpolate: Option<bool>,
    /// `ProxyPreserveHost`; unset means Off.
    pub preserve_host: Option<bool>,
    /// `ProxyErrorOverride`; unset means Off.
    pub error_override: Option<ErrorOverride>,
    /// `ProxyAddHeaders`; unset means On.
    pub add_headers: Option<bool>,
    /// `Proxy100Continue`; unset means On.
    pub forward_continue: Option<bool>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            pass: over(&self.pass, &other.pass),
            reverse: joined(&self.reverse, &other.reverse),
            cookie_paths: joined(&self.cookie_paths, &other.cookie_paths),
            cookie_domains: joined(&self.cookie_domains, &other.cookie_domains),
            interpolate: over(&self.interpolate, &other.interpolate),
            preserve_host: over(&self.preserve_host, &other.preserve_host),
            error_override: over(&self.error_override, &other.error_override),
            add_headers: over(&self.add_headers, &other.add_headers),
            forward_continue: over(&self.forward_continue, &other.forward_continue),
        }
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// `ProxyPass` and `ProxyPassMatch` outside of sections; the first that matches counts.
    pub passes: Vec<Arc<Pass>>,
    /// A `ProxyPass` of the server's or of a Location's compares paths before they are decoded (`mapping=`).
    pub maps_encoded: bool,
    /// The servers that lines name, but for the members of balancers.
    pub workers: Vec<Arc<Worker>>,
    /// `balancer://`.
    pub balancers: Vec<Arc<Balancer>>,
    /// `ProxyHCExpr`, in order.
    pub conditions: Vec<Arc<checks::Condition>>,
    /// `ProxyHCTemplate`, in order.
    pub templates: Vec<(Box<str>, checks::Check)>,
    /// `<Proxy>`, `<ProxyMatch>`, in order.
    pub sections: Vec<Arc<Section>>,
    /// `ProxyPassInherit`; unset means On.
    pub inherit: Option<bool>,
    /// `BalancerInherit`; unset means On.
    pub inherit_balancers: Option<bool>,
    /// `ProxyTimeout`; unset means `Timeout`.
    pub timeout: Option<Duration>,
    /// `ProxyVia`; unset means Off.
    pub via: Option<Via>,
    /// `ProxyBadHeader`; unset means IsError.
    pub bad_header: Option<BadHeader>,
    /// `ProxyMaxForwards`; unset or negative means that nothing is said.
    pub max_forwards: Option<i64>,
    /// `ProxyIOBufferSize`, in bytes.
    pub io_buffer: Option<usize>,
    /// `ProxyReceiveBufferSize`, in bytes.
    pub receive_buffer: Option<u32>,
    /// `ProxySourceAddress`.
    pub source_address: Option<std::net::IpAddr>,
    /// `ProxyStatus`; unset means Off.
    pub status: Option<StatusLine>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        let inherit = over(&self.inherit, &other.inherit);
        let inherit_balancers = over(&self.inherit_balancers, &other.inherit_balancers);
        let passes =
            if inherit == Some(false) { other.passes.clone() } else { joined(&self.passes, &other.passes) };
        let balancers = if inherit_balancers == Some(false) {
            other.balancers.clone()
        } else {
            workers::said_over(&self.balancers, &other.balancers)
        };
        Self {
            passes,
            maps_encoded: self.maps_encoded || other.maps_encoded,
            workers: workers::said_over(&self.workers, &other.workers),
            balancers,
            conditions: joined(&self.conditions, &other.conditions),
            templates: joined(&self.templates, &other.templates),
            sections: joined(&self.sections, &other.sections),
            inherit,
            inherit_balancers,
            timeout: over(&self.timeout, &other.timeout),
            via: over(&self.via, &other.via),
            bad_header: over(&self.bad_header, &other.bad_header),
            max_forwards: over(&self.max_forwards, &other.max_forwards),
            io_buffer: over(&self.io_buffer, &other.io_buffer),
            receive_buffer: over(&self.receive_buffer, &other.receive_buffer),
            source_address: over(&self.source_address, &other.source_address),
            status: over(&self.status, &other.status),
        }
    }

    unset_part!(Server);
}

impl Server {
    /// The balancer of this name, a virtual host's own before the main server's.
    #[must_use]
    pub fn balancer(&self, name: &str) -> Option<&Arc<Balancer>> {
        self.balancers.iter().rfind(|balancer| balancer.name.eq_ignore_ascii_case(name))
    }

    /// Returns the settings of the server of a URL with this path: of several prefixes, the longest. A URL without a
    /// socket is also the name of a server that has one (`<Proxy "unix:/path|fcgi://NAME">`).
    #[must_use]
    pub fn worker(&self, url: &url::Url, path: &[u8]) -> Option<&Arc<Worker>> {
        let longest = |is_same: &dyn Fn(&url::Url) -> bool| {
            let of =
                |worker: &&Arc<Worker>| is_same(&worker.url) && path.starts_with(worker.url.path.as_bytes());
            // Of those that are equally long, the first.
            self.workers.iter().filter(of).rev().max_by_key(|worker| worker.url.path.len())
        };
        longest(&|other| url.has_server_of(other)).or_else(|| longest(&|other| url.names_socket_of(other)))
    }

    /// The server with a socket that has this URL's name, whatever the paths: for messages.
    #[must_use]
    pub fn named_socket(&self, url: &url::Url) -> Option<&Arc<Worker>> {
        self.workers.iter().find(|worker| url.names_socket_of(&worker.url))
    }
}

fn joined<T: Clone>(first: &[T], second: &[T]) -> Vec<T> {
    first.iter().chain(second).cloned().collect()
}

#[cfg(test)]
mod tests;
