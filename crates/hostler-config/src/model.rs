//! The configuration as the servers use it: virtual hosts with their merged settings and sections in merge
//! order, and what concerns the process as a whole.

use crate::directives as d;
use crate::directives::core::ServerName;
use crate::{Aliases, Facts, Merge, Node, Part, Section, Setting, Slot, Slots, Warning};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Writes the structures that hold one part per module, and their merge.
macro_rules! parts {
    ($(#[$doc:meta])* $name:ident, $type:ident: $($module:ident)*) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        #[allow(missing_docs, reason = "each field is the part of the module that it is named after")]
        pub struct $name {
            $(pub $module: Part<d::$module::$type>,)*
            /// The parts of techniques.
            pub techniques: Slots,
            /// Bytes of the `.htaccess` files that it was made of; what it takes to merge and to keep grows with them.
            pub weight: usize,
        }

        impl $name {
            /// Returns the merged settings when `over` is more specific than `self`.
            #[must_use]
            pub fn merge(&self, over: &Self) -> Self {
                Self {
                    $($module: self.$module.merge(&over.$module),)*
                    techniques: self.techniques.merge(&over.techniques),
                    weight: self.weight + over.weight,
                }
            }

            /// A technique's part.
            #[must_use]
            pub fn part<T: Merge>(&self, slot: &Slot<T>) -> &T {
                self.techniques.part(slot)
            }

            /// A technique's part, to be written to.
            pub fn part_mut<T: Merge>(&mut self, slot: &Slot<T>) -> &mut T {
                self.techniques.part_mut(slot)
            }
        }
    };
}

parts!(
    /// The settings of a directory, file, location or condition: one part for each module. As merged for a request, the
    /// values that apply to it.
    DirConfig, Dir: core alias dir mime env setenvif headers authz access_compat auth log_config expires
    autoindex filter actions include cgi ssl perl pool proxy proxy_fcgi proxy_html fcgid reach rewrite negotiation reflector remoteip speling usertrack vhost_alias charset_lite substitute sed session imagemap cern_meta info xml2enc userdir log_debug log_forensic
);

parts!(
    /// The settings of a virtual host: one part for each module.
    ServerConfig, Server: core alias dir mime env setenvif headers authz access_compat auth log_config expires
    autoindex filter actions include cgi ssl perl pool proxy proxy_fcgi proxy_html fcgid reach rewrite negotiation reflector remoteip speling usertrack vhost_alias charset_lite substitute sed session imagemap cern_meta info xml2enc userdir log_debug log_forensic jk
);

/// The whole configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The main server first, then the virtual hosts in the order of the files.
    pub servers: Vec<Arc<Server>>,
    /// The process-wide settings.
    pub process: ProcessConfig,
    /// The configuration files by name; [`crate::Origin::file`] is an index.
    pub files: Vec<Arc<str>>,
    /// The tree's facts beyond its lines; .htaccess files need them.
    pub facts: Arc<Facts>,
    /// RegexDefaultOptions at the end of the files: what .htaccess files begin with.
    pub regex_options: hostler_expr::RegexOptions,
    /// Other names for providers; .htaccess files may use them.
    pub aliases: Arc<Aliases>,
    /// Warnings for the operator.
    pub warnings: Vec<Warning>,
    /// The top level of the files, where programs of mod_perl may ask for it (`Apache2::Directive`); empty without
    /// directives of mod_perl.
    pub top_level: Vec<TopLevel>,
}

/// A line or a section of the top level.
#[derive(Clone, Debug)]
pub struct TopLevel {
    /// It.
    pub node: Node,
    /// Of a `<VirtualHost>`, the number of its server.
    pub server: Option<u32>,
}

/// The main server or a virtual host, merged.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Index in [`Config::servers`].
    pub id: u32,
    /// The first line of its section.
    pub origin: crate::Origin,
    /// The addresses of `<VirtualHost ...>`; empty for the main server.
    pub addresses: Vec<VhostAddress>,
    /// Settings of the server, merged over the main server's.
    pub conf: ServerConfig,
    /// Settings outside of sections that belong to directories, merged over the main server's. The base of
    /// every request's merge; server-level Files and If sections are in its `core`.
    pub defaults: Arc<DirConfig>,
    /// Directory sections in merge order: plain ones by depth, then regular expressions.
    pub directories: Arc<[Arc<Section>]>,
    /// Location sections in merge order.
    pub locations: Arc<[Arc<Section>]>,
    /// Directives outside of sections, for `hostler explain`: this virtual host's own.
    pub settings: Vec<Setting>,
    /// It is what the server of this number is for one of its users (UserDir): no request is for it by its name.
    pub user_of: Option<u32>,
    /// The servers of this one's users (UserDir), by the users' names: numbers of servers.
    pub users: Arc<BTreeMap<Box<str>, u32>>,
    /// Its own name.
    pub canonical: Canonical,
}

/// A server's own name: Apache's `server_hostname`, `port` and `server_scheme` of its `server_rec`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Canonical {
    /// The host of ServerName; a virtual host without one has the main server's. Lower case.
    pub host: Option<Arc<str>>,
    /// The port of ServerName. Without a ServerName that of `<VirtualHost>`, or the main server's.
    pub port: Option<u16>,
    /// ServerName says `https://`: TLS ends elsewhere.
    pub is_https: bool,
}

impl Canonical {
    /// `name`: ServerName. `main`: the main server, where this is a virtual host at `addresses`.
    pub(crate) fn new(name: Option<&ServerName>, addresses: &[VhostAddress], main: Option<&Self>) -> Self {
        match name {
            Some(name) => Self {
                host: Some(name.host.as_str().into()),
                port: name.port,
                is_https: name.scheme.as_deref() == Some("https"),
            },
            None => Self {
                host: main.and_then(|main| main.host.clone()),
                port: addresses.first().and_then(|first| first.port).or(main.and_then(|main| main.port)),
                is_https: false,
            },
        }
    }
}

/// One address of `<VirtualHost ...>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VhostAddress {
    /// `None`: `*` or `_default_`.
    pub ip: Option<IpAddr>,
    /// `None`: any port (`*` or left out).
    pub port: Option<u16>,
}

/// One `Listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// `None`: all addresses.
    pub ip: Option<IpAddr>,
    /// Port.
    pub port: u16,
    /// Lower case: `http` or `https`.
    pub protocol: String,
}

/// The process-wide settings. Values are as configured; names of users are not yet resolved.
#[derive(Clone, Debug, Default)]
pub struct ProcessConfig {
    /// `User`: a name or `#uid`.
    pub user: Option<String>,
    /// `Group`: a name or `#gid`.
    pub group: Option<String>,
    /// `HostlerUser user [group]`: who the front runs as.
    pub hostler_user: Option<(String, Option<String>)>,
    /// `PidFile`, absolute.
    pub pid_file: Option<String>,
    /// `Listen`, in order.
    pub listen: Vec<Listen>,
    /// `ListenBacklog` (default 4096; Apache's is 511).
    pub backlog: Option<u32>,
    /// `MaxRequestWorkers` outside of virtual hosts: programs that may run at once, and what `%b` of `Header` is a share
    /// of.
    pub max_request_workers: Option<u32>,
    /// `HostlerSiteIdle`: seconds without a request until a site process exits (default 60).
    pub site_idle: Option<u32>,
    /// `HostlerMemory`: bytes that the warm processes of all pools may take together (default: half of the
    /// machine's memory).
    pub pool_memory: Option<u64>,
    /// `HostlerConnectionsPerAddress`, `HostlerRequestsPerAddress`.
    pub address_bounds: d::pool::AddressBounds,
    /// `LimitUIDRange`
    pub uid_range: Option<d::core::IdRange>,
    /// `LimitGIDRange`
    pub gid_range: Option<d::core::IdRange>,
    /// `GracefulShutdownTimeout`, seconds; 0: no limit.
    pub graceful_shutdown_timeout: Option<u32>,
    /// `HostlerDrainDelay`, seconds.
    pub drain_delay: Option<u32>,
    /// `HostlerHealth`.
    pub health: Option<d::core::HealthPaths>,
}

impl Config {
    /// `file:line`, for messages and `hostler explain`.
    #[must_use]
    pub fn place(&self, origin: crate::Origin) -> String {
        let file = self.files.get(origin.file as usize).map_or("configuration", |name| name);
        format!("{file}:{}", origin.line)
    }

    /// The main server.
    #[must_use]
    pub fn main(&self) -> &Server {
        &self.servers[0]
    }
}

impl Merge for () {
    fn merge(&self, (): &Self) -> Self {}

    fn unset() -> &'static Self {
        &()
    }
}
