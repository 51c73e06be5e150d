//! The Plan: what one generation of the server is. The planner (a short-lived process that reads the
//! configuration) makes it; the master carries out its own part and hands the front's part on unread.

use crate::logs::LogFile;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Everything the planner tells the master, sent as one frame; the descriptors of [`Plan::logs`] travel with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The master's own part.
    pub master: MasterPlan,
    /// The front's part: a [`FrontPlan`], encoded. The master does not look inside.
    #[serde(with = "serde_bytes")]
    pub front: Vec<u8>,
    /// Number of log descriptors that accompany the plan, in the order of [`FrontPlan::logs`].
    pub logs: u32,
}

/// The suffix to the PidFile's name of the file with the outcome of the last start or reload: the line `generation N serves`,
/// or the line `failed` and the reasons, one line each.
pub const OUTCOME: &str = ".outcome";

/// The planner's answer: a plan, or the errors that it found, one line each.
pub type Planned = Result<Plan, String>;

/// Longest text of errors in a [`Planned`], in bytes.
pub const LONGEST_REFUSAL: usize = 32 << 10;

/// The master's part of a generation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MasterPlan {
    /// Addresses to listen on (`Listen`), in the order in which the front gets the descriptors.
    pub listeners: Vec<SocketAddr>,
    /// `ListenBacklog`.
    pub backlog: u32,
    /// The front's identity; `None`: no process changes identity (single-user or started without root).
    pub front: Option<Identity>,
    /// The sites, by index = [`SiteId`].
    pub sites: Vec<SitePlan>,
    /// The engines that are installed, by name: the program `hostler-NAME` of each is held open by the master from then on.
    pub engines: Vec<String>,
    /// `PidFile`, absolute.
    pub pid_file: Option<String>,
    /// The time limit for a new generation to report ready, in milliseconds.
    pub ready_timeout_ms: u32,
    /// The time limit for this generation to finish its open connections once a newer one serves, in seconds
    /// (`GracefulShutdownTimeout`).
    pub drain_timeout_secs: u32,
    /// The same once the server stops, in seconds.
    pub stop_timeout_secs: u32,
    /// The time for which a stopping server still accepts connections, in seconds (`HostlerDrainDelay`).
    pub drain_delay_secs: u32,
    /// Lines for the operator, once the first generation serves.
    pub told: Vec<String>,
    /// For each log descriptor the file that it is; `None`: a pipe, a terminal or a device.
    pub logs: Vec<Option<LogFile>>,
}

/// The default of `GracefulShutdownTimeout` after a reload, in seconds.
pub const DRAIN_TIMEOUT_SECS: u32 = 3600;
/// Its default when the server stops, in seconds. Apache has no limit; but SIGTERM, which drains here, comes from
/// service managers that send SIGKILL soon after.
pub const STOP_TIMEOUT_SECS: u32 = 30;

/// A Unix identity, numeric. The planner has resolved names; uid 0 never appears in one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// User id, never 0.
    pub uid: u32,
    /// Group id, never 0.
    pub gid: u32,
    /// Supplementary groups: those that a site's user is a member of.
    pub groups: Vec<u32>,
}

/// Index of a site in its generation's plan.
pub type SiteId = u32;

/// A site: all virtual hosts that share one Unix user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SitePlan {
    /// The name in `ps` and the logs: the user's name, or `#uid`.
    pub name: String,
    /// Its identity; `None` under single-user operation.
    pub identity: Option<Identity>,
    /// The limits of all its processes together, where control groups are available.
    pub limits: SiteLimits,
}

/// Limits of a site; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteLimits {
    /// Memory, in bytes (`HostlerSiteMemory`).
    pub memory: Option<u64>,
    /// Processor time, in percent of one processor (`HostlerSiteCPU`).
    pub cpu: Option<u32>,
    /// Processes and threads (`HostlerSiteTasks`).
    pub tasks: Option<u32>,
}

impl SiteLimits {
    /// Returns whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The front's part of the plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrontPlan {
    /// The configuration tree, encoded by `hostler-config`.
    #[serde(with = "serde_bytes")]
    pub config: Vec<u8>,
    /// Log destinations; descriptor `i` belongs to entry `i`.
    pub logs: Vec<LogPlan>,
    /// Files that only root could read, by path: certificates and keys.
    pub secrets: Vec<(String, serde_bytes::ByteBuf)>,
    /// For each virtual host (main server first) the site that serves it.
    pub sites: Vec<SiteId>,
    /// Names of the sites, by [`SiteId`].
    pub site_names: Vec<String>,
    /// The limits of the sites, by [`SiteId`]; whether they hold is not known here.
    pub site_limits: Vec<SiteLimits>,
    /// Seconds without a request until a site process exits.
    pub site_idle_secs: u32,
    /// The versions of engines on which the configuration's language depends, by the engine's name.
    pub versions: Vec<(String, Vec<String>)>,
    /// States of balancers and their members reported by the outgoing front.
    pub backends: BackendStates,
}

/// The states of balancers and their members, passed from one generation to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendStates {
    /// Balancers with settings that the operator has changed.
    pub balancers: Vec<BalancerState>,
    /// All members.
    pub members: Vec<MemberState>,
}

/// The settings of a balancer that the operator has changed; `None`: as in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalancerState {
    /// The virtual host that the balancer belongs to.
    pub host: String,
    /// The balancer's name.
    pub balancer: String,
    /// `lbmethod`
    pub method: Option<String>,
    /// `timeout`, in milliseconds; 0: none.
    pub timeout_ms: Option<u64>,
    /// `maxattempts`
    pub max_attempts: Option<u32>,
    /// `nofailover`
    pub no_failover: Option<bool>,
    /// `stickysession`: the names of the cookie and of the parameter; inside, `None`: no sessions.
    pub sticky: Option<Option<(String, String)>>,
}

/// Settings of a member that the operator has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberSettings {
    /// `loadfactor`, times 100.
    pub load_factor: u32,
    /// `lbset`
    pub set: u32,
    /// `route`
    pub route: String,
    /// `redirect`
    pub redirect: String,
}

/// The state of a balancer's member, passed from one generation to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberState {
    /// The virtual host that the balancer belongs to.
    pub host: String,
    /// The balancer's name.
    pub balancer: String,
    /// The member's URL.
    pub member: String,
    /// States that the operator has set by a command, as bits.
    pub states: Option<u8>,
    /// Other settings that the operator has changed.
    pub settings: Option<MemberSettings>,
    /// It has failed, so many milliseconds ago.
    pub failed_ms: Option<u64>,
    /// It has failed its checks.
    pub failed_checks: bool,
}

/// One log destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPlan {
    /// As in the configuration, made absolute: a file, or `|program` for a piped log.
    pub target: String,
    /// `true` when this is an ErrorLog, `false` for an access log.
    pub error_log: bool,
}
