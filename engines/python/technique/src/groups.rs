//! The group that an application runs in: `WSGIProcessGroup` and `WSGIApplicationGroup` with their variables, and
//! whether that group exists. Each group is a pool of workers of its own.

use crate::parts::{Daemon, Dir, Guard, SERVER, Where};
use hostler_config::{Config, Origin, Server};

/// The process group of applications that no `WSGIDaemonProcess` runs.
pub const GLOBAL: &str = "%{GLOBAL}";
/// The application group of a script where nothing else is said.
const RESOURCE: &str = "%{RESOURCE}";

/// The values of variables in a group's name.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The virtual host's name and port, as `a.example:8080`; the port is left out where it is the usual one.
    pub server: &'a str,
    /// The client's word for the server.
    pub host: &'a str,
    /// `SCRIPT_NAME`
    pub script: &'a str,
    /// A variable's value.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The name of a `WSGIDaemonProcess`; empty: none.
    pub process: String,
    /// The application group's.
    pub application: String,
}

/// The separator of names in [`Group::name`]: neither can contain it.
const SEPARATOR: char = '\n';

impl Group {
    /// Both names in one.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}{SEPARATOR}{}", self.process, self.application)
    }

    /// From [`Self::name`].
    #[must_use]
    pub fn named(name: &str) -> Self {
        let (process, application) = name.split_once(SEPARATOR).unwrap_or((name, ""));
        Self { process: process.to_owned(), application: application.to_owned() }
    }

    /// The group of a request. `own`: what the alias says that has led to the script.
    ///
    /// # Errors
    /// The process group may not be chosen (`WSGIRestrictProcess`).
    pub fn of(dir: &Dir, own: Option<&Where>, facts: Facts<'_>) -> Result<Self, String> {
        let said = own.and_then(|own| own.process_group.as_deref()).or(dir.process_group.as_deref());
        let process = expand(said.unwrap_or(GLOBAL), facts);
        let allowed = dir.allowed_groups.as_deref();
        if allowed.is_some_and(|allowed| !allowed.iter().any(|name| plain(name) == process)) {
            return Err(format!("WSGIRestrictProcess does not allow the process group \"{process}\" here"));
        }
        let said = own.and_then(|own| own.application_group.as_deref()).or(dir.application_group.as_deref());
        Ok(Self { process, application: expand(said.unwrap_or(RESOURCE), facts) })
    }
}

impl Group {
    /// The group of a script that guards: no process group, and one application group for all where none is named.
    #[must_use]
    pub fn of_guard(guard: &Guard, facts: Facts<'_>) -> Self {
        let application = expand(guard.application_group.as_deref().unwrap_or(GLOBAL), facts);
        Self { process: String::new(), application }
    }
}

/// The empty name for what is written as `%{GLOBAL}`.
pub(crate) fn plain(name: &str) -> &str {
    if name == GLOBAL { "" } else { name }
}

/// A control in a name would be no name.
fn expand(name: &str, facts: Facts<'_>) -> String {
    let Some(inner) = name.strip_prefix("%{").and_then(|rest| rest.strip_suffix('}')) else {
        return name.to_owned();
    };
    let expanded = match inner {
        "GLOBAL" => String::new(),
        "SERVER" => facts.server.to_owned(),
        "HOST" => facts.host.to_ascii_lowercase(),
        "RESOURCE" => format!("{}|{}", facts.server, facts.script),
        _ => match inner.strip_prefix("ENV:").and_then(facts.variable) {
            Some(value) => return plain(&value).replace(char::is_control, ""),
            None => name.to_owned(),
        },
    };
    expanded.replace(char::is_control, "")
}

/// A virtual host's process group: one that it, or the main server, has defined, or another virtual host of its name.
#[must_use]
pub fn daemon<'a>(config: &'a Config, server: &'a Server, name: &str) -> Option<&'a Daemon> {
    let of =
        |server: &'a Server| server.conf.part(&SERVER).daemons.iter().find(|daemon| &*daemon.name == name);
    let host = |server: &Server| server.conf.core.server_name.as_ref().map(|name| name.host.clone());
    let own = host(server);
    of(server).or_else(|| {
        let same = config.servers.iter().filter(|other| own.is_some() && host(other) == own);
        same.map(|server| &**server).find_map(of)
    })
}

/// Finds impossible settings: a group that is defined twice, or that is to run as another user.
pub(crate) fn check(config: &Config) -> Vec<(Origin, &'static str, String)> {
    const NAME: &str = "WSGIDaemonProcess";
    let mut errors = Vec::new();
    let mut known: Vec<&Daemon> = Vec::new();
    for server in &config.servers {
        for daemon in &server.conf.part(&SERVER).daemons {
            // A virtual host has those of the main server, too.
            if known.iter().any(|other| other.origin == daemon.origin && other.name == daemon.name) {
                continue;
            }
            if known.iter().any(|other| other.name == daemon.name) {
                let message = format!("there is another process group \"{}\" already", daemon.name);
                errors.push((daemon.origin, NAME, message));
            }
            known.push(daemon);
            errors.extend(other_user(config, server, daemon).map(|message| (daemon.origin, NAME, message)));
        }
    }
    errors
}

/// The processes of a site are its user's, and nobody else's.
fn other_user(config: &Config, server: &Server, daemon: &Daemon) -> Option<String> {
    let user = daemon.user.as_deref()?;
    let owner = |server: &Server| {
        let assigned = server.conf.core.assign_user.as_ref().map(|assigned| assigned.user.clone());
        assigned.or_else(|| config.process.user.clone())
    };
    let fits = |server: &Server| owner(server).is_none_or(|owner| owner == user);
    let is_some =
        if server.id == 0 { config.servers.iter().any(|server| fits(server)) } else { fits(server) };
    if is_some {
        return None;
    }
    let group = daemon.group.as_deref().unwrap_or(user);
    Some(format!(
        "user={user} is not whom the virtual host runs as ({}): all programs of a site are its user's. Write \
         AssignUserID {user} {group} in the <VirtualHost>, and leave out user= and group=",
        owner(server).unwrap_or_default()
    ))
}
