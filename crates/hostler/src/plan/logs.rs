//! The log files, opened before privileges are gone.
//!
//! Root opens (and makes) a log only where root alone decides what a path means; see `hostler_sys::trusted`. A log
//! in a directory that others can write is opened by a child that is the virtual host's user, so that a link
//! planted there leads no further than that user could write anyway. When that fails, it is the tenant's loss: the
//! lines of its ErrorLog go to the main one, and the server starts.

use hostler_config::{Config, Server};
use hostler_sys::trusted::{Trust, Untrusted, append_file, inspect_append_file, may_write, open_directory};
use hostler_sys::users::group_by_id;
use hostler_wire::plan::{Identity, LogPlan};
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{Finding, Roles, Situation, piped};
use crate::Failed;
use crate::open_as::Openers;

/// A pipe may stand where a log should be; nobody may be reading it.
const O_NONBLOCK: i32 = 0o4000;

/// A log that the configuration asks for.
struct LogRequest {
    target: String,
    error_log: bool,
    /// `file:line: ErrorLog`.
    place: String,
    /// The virtual host's user.
    identity: Option<Identity>,
}

/// Opens all logs, each target once.
///
/// # Errors
/// All logs that can't be opened, one line each, with the directive's place.
pub(crate) fn open(
    config: &Config,
    roles: &Roles,
    situation: &Situation,
) -> Result<Vec<(LogPlan, OwnedFd)>, Failed> {
    let mut opening = Opening { roles, root: situation.root(), openers: Openers::default() };
    let mut errors = Vec::new();
    let mut opened = Vec::new();
    for wanted in wanted(config, roles) {
        let opened_now = match opening.open(&wanted) {
            Err(RefusalReason::TenantsFault(why)) => {
                eprintln!("hostler: warning: {}: {why}; this log is not written", wanted.place);
                instead(&wanted, &opened)
            }
            Err(RefusalReason::Error(why)) => Err(why),
            Ok(fd) => Ok(fd),
        };
        match opened_now {
            Ok(fd) => opened.push((LogPlan { target: wanted.target, error_log: wanted.error_log }, fd)),
            Err(why) => errors.push(format!("{}: {why}", wanted.place)),
        }
    }
    if errors.is_empty() { Ok(opened) } else { Err(Failed(errors.join("\n"))) }
}

/// Looks whether the logs could be opened, without making any, for `hostler check`.
pub(crate) fn inspect(config: &Config, roles: &Roles, situation: &Situation) -> Vec<Finding> {
    let mut opening = Opening { roles, root: situation.root(), openers: Openers::default() };
    let wanted = wanted(config, roles).into_iter();
    wanted.filter_map(|wanted| opening.inspect(&wanted).map(|found| found.prefixed(&wanted.place))).collect()
}

/// Why a log was not opened.
enum RefusalReason {
    /// The configuration or the administrator must put it right.
    Error(String),
    /// A tenant can bring this about at any time, so it must not keep others from being served.
    TenantsFault(String),
}

impl From<String> for RefusalReason {
    fn from(why: String) -> Self {
        Self::Error(why)
    }
}

/// Returns the replacement of a tenant's log: the main ErrorLog (the first that was opened), or nothing.
fn instead(wanted: &LogRequest, opened: &[(LogPlan, OwnedFd)]) -> Result<OwnedFd, String> {
    let failed = |e: std::io::Error| e.to_string();
    match opened.first().filter(|(main, _)| wanted.error_log && main.error_log) {
        Some((_, fd)) => fd.try_clone().map_err(failed),
        None => OpenOptions::new().write(true).open("/dev/null").map(OwnedFd::from).map_err(failed),
    }
}

/// Each target once, with the first virtual host that names it.
fn wanted(config: &Config, roles: &Roles) -> Vec<LogRequest> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for (server, site) in config.servers.iter().zip(&roles.site_of) {
        let identity = roles.sites.get(*site as usize).and_then(|site| site.identity.clone());
        let logs = server.conf.log_config.logs();
        let access = logs.iter().map(|log| (log.target.to_string(), false));
        let script = server.conf.cgi.log.iter().map(|target| (target.to_string(), false));
        let forensic = server.conf.log_forensic.target.iter().map(|target| (target.to_string(), false));
        let error = std::iter::once((error_log(config, server), true));
        for (target, error_log) in error.chain(access).chain(script).chain(forensic) {
            if seen.insert(target.clone()) {
                let place = place(config, server, &target, error_log);
                all.push(LogRequest { target, error_log, place, identity: identity.clone() });
            }
        }
    }
    all
}

/// A virtual host's ErrorLog, with Apache's default.
pub(super) fn error_log(config: &Config, server: &Server) -> String {
    match &server.conf.log_config.error_log {
        Some(target) => target.to_string(),
        None => format!("{}/logs/error_log", config.facts.server_root.trim_end_matches('/')),
    }
}

/// Returns the line that configures a log, as far as it is known.
fn place(config: &Config, server: &Server, target: &str, error_log: bool) -> String {
    let directives: &[&str] = if error_log {
        &["ErrorLog"]
    } else {
        &["CustomLog", "TransferLog", "GlobalLog", "ScriptLog", "ForensicLog"]
    };
    let name = target.rsplit('/').next().unwrap_or(target);
    let settings = server.settings.iter().chain(config.main().settings.iter());
    let mut named =
        settings.filter(|setting| directives.contains(&setting.directive) && setting.args.contains(name));
    let Some(setting) = named.next() else { return format!("{} (default)", directives[0]) };
    let file = config.files.get(setting.origin.file as usize).map_or("configuration", |file| &**file);
    format!("{file}:{}: {}", setting.origin.line, setting.directive)
}

/// The kinds of targets.
enum Target<'a> {
    Program(&'a str),
    Stdout,
    Stderr,
    Nowhere,
    File(&'a Path),
}

fn kind(target: &str) -> Target<'_> {
    let syslog = target.split(':').next().is_some_and(|word| word.eq_ignore_ascii_case("syslog"));
    match target {
        _ if target.starts_with('|') => Target::Program(target),
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Target::Stdout,
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Target::Stderr,
        // A service manager takes the server's stderr to the system's log.
        _ if syslog => Target::Stderr,
        "/dev/null" => Target::Nowhere,
        file => Target::File(Path::new(file)),
    }
}

struct Opening<'a> {
    roles: &'a Roles,
    root: bool,
    openers: Openers,
}

impl Opening<'_> {
    fn open(&mut self, wanted: &LogRequest) -> Result<OwnedFd, RefusalReason> {
        let own = |fd: std::io::Result<OwnedFd>| {
            fd.map_err(|e| RefusalReason::Error(format!("can't open {}: {e}", wanted.target)))
        };
        match kind(&wanted.target) {
            Target::Program(command) => Ok(piped::start(command, self.roles.front.as_ref())?),
            Target::Stdout => own(std::io::stdout().as_fd().try_clone_to_owned()),
            Target::Stderr => own(std::io::stderr().as_fd().try_clone_to_owned()),
            Target::Nowhere => own(OpenOptions::new().write(true).open("/dev/null").map(OwnedFd::from)),
            Target::File(path) if self.root => self.open_as_root(path, wanted.identity.as_ref()),
            Target::File(path) => Ok(open_as_self(path)?),
        }
    }

    /// Returns the reason why a log cannot be opened, as far as it shows without creating it.
    fn inspect(&mut self, wanted: &LogRequest) -> Option<Finding> {
        let path = match kind(&wanted.target) {
            Target::Program(command) => return piped::inspect(command).err().map(Finding::Error),
            Target::Stdout | Target::Stderr | Target::Nowhere => return None,
            Target::File(path) => path,
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Some(Finding::Error(format!("{} is not the path of a file", path.display())));
        };
        if !self.root {
            return inspect_as_self(path, parent);
        }
        let untrusted = match open_directory(parent, Trust::Root(&|gid| self.is_harmless(gid))) {
            Ok(directory) => {
                let refused = inspect_append_file(directory.as_fd(), name).err()?;
                return Some(Finding::Error(cannot_append(path, &refused)));
            }
            Err(Untrusted::Io { path, error }) if error.kind() == ErrorKind::NotFound => {
                return Some(Finding::Error(missing(&path)));
            }
            Err(untrusted @ Untrusted::Io { .. }) => {
                return Some(Finding::Error(format!("can't reach the directory of the log: {untrusted}")));
            }
            Err(untrusted) => untrusted,
        };
        let Some(identity) = &wanted.identity else {
            return Some(Finding::Error(format!("root won't write a log there: {untrusted}")));
        };
        // Its user is to open it.
        let why = match self.openers.of(identity) {
            Ok(opener) => {
                let refused = opener.inspect_append(path).err()?;
                format!(
                    "{} (root won't write there itself: {untrusted})",
                    refused_to(identity, path, &refused)
                )
            }
            Err(why) => why,
        };
        let tenants = self.is_tenants(&untrusted);
        Some(if tenants {
            Finding::Warning(format!("{why}; this log is not written"))
        } else {
            Finding::Error(why)
        })
    }

    fn open_as_root(&mut self, path: &Path, identity: Option<&Identity>) -> Result<OwnedFd, RefusalReason> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(RefusalReason::Error(format!("{} is not the path of a file", path.display())));
        };
        let harmless = |gid| self.is_harmless(gid);
        match open_directory(parent, Trust::Root(&harmless)) {
            Ok(directory) => append_file(directory.as_fd(), name).map_err(|e| cannot_append(path, &e).into()),
            Err(Untrusted::Io { path, error }) if error.kind() == ErrorKind::NotFound => {
                Err(missing(&path).into())
            }
            Err(untrusted @ Untrusted::Io { .. }) => {
                Err(format!("can't reach the directory of the log: {untrusted}").into())
            }
            Err(untrusted) => {
                let identity =
                    identity.ok_or_else(|| format!("root won't write a log there: {untrusted}"))?;
                self.open_as(path, identity).map_err(|why| {
                    let why = format!("{why} (root won't write there itself: {untrusted})");
                    if self.is_tenants(&untrusted) {
                        RefusalReason::TenantsFault(why)
                    } else {
                        RefusalReason::Error(why)
                    }
                })
            }
        }
    }

    /// Returns whether a tenant decides what happens at this place.
    fn is_tenants(&self, place: &Untrusted) -> bool {
        let owner = match place {
            Untrusted::Writable { mode, .. } if mode & 0o002 != 0 => return true,
            Untrusted::Writable { owner, .. } | Untrusted::Link { owner, .. } => *owner,
            Untrusted::Io { .. } => return false,
        };
        let sites = self.roles.sites.iter().filter_map(|site| site.identity.as_ref());
        sites.into_iter().any(|identity| identity.uid == owner)
    }

    /// Members of this group can do with the directory what they like: fine for groups of the system without
    /// members (`adm`, `syslog`), not for a group that people or sites are in.
    fn is_harmless(&self, gid: u32) -> bool {
        let of_a_site = |identity: &Identity| identity.gid == gid || identity.groups.contains(&gid);
        let taken = self.roles.sites.iter().filter_map(|site| site.identity.as_ref()).any(of_a_site)
            || self.roles.front.as_ref().is_some_and(of_a_site);
        gid < 1000 && !taken && group_by_id(gid).is_ok_and(|group| group.is_none_or(|g| g.members.is_empty()))
    }

    fn open_as(&mut self, path: &Path, identity: &Identity) -> Result<OwnedFd, String> {
        self.openers.of(identity)?.append(path).map_err(|e| refused_to(identity, path, &e))
    }
}

/// Why a site's user could not open its log.
fn refused_to(identity: &Identity, path: &Path, error: &std::io::Error) -> String {
    if error.kind() == ErrorKind::NotFound {
        return missing(path.parent().unwrap_or(path));
    }
    format!("uid {} {}", identity.uid, cannot_append(path, error))
}

fn cannot_append(path: &Path, error: &std::io::Error) -> String {
    format!("can't open {} for appending: {error}", path.display())
}

fn missing(directory: &Path) -> String {
    format!("the directory {} does not exist; create it", directory.display())
}

fn open_as_self(path: &Path) -> Result<OwnedFd, String> {
    let file = OpenOptions::new().append(true).create(true).mode(0o640).open(path);
    file.map(OwnedFd::from).map_err(|e| match path.parent() {
        Some(parent) if e.kind() == ErrorKind::NotFound && !parent.exists() => missing(&ancestor(parent)),
        _ => cannot_append(path, &e),
    })
}

fn inspect_as_self(path: &Path, parent: &Path) -> Option<Finding> {
    let refused = |e: std::io::Error| {
        let why = cannot_append(path, &e);
        // Whoever starts the server may have the permission.
        if e.kind() == ErrorKind::PermissionDenied { Finding::Unseen(why) } else { Finding::Error(why) }
    };
    match (OpenOptions::new().append(true).custom_flags(O_NONBLOCK).open(path), parent.metadata()) {
        (Ok(_), _) => None,
        (Err(e), _) if e.kind() != ErrorKind::NotFound => Some(refused(e)),
        (_, Ok(data)) if data.is_dir() => may_write(parent).err().map(refused),
        (_, Err(e)) if e.kind() == ErrorKind::PermissionDenied => Some(refused(e)),
        _ => Some(Finding::Error(missing(&ancestor(parent)))),
    }
}

/// The first directory on the way that is missing.
fn ancestor(path: &Path) -> PathBuf {
    let missing = path.ancestors().take_while(|at| !at.exists()).last();
    missing.unwrap_or(path).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_apart() {
        assert!(matches!(kind("|/bin/cat"), Target::Program(_)));
        assert!(matches!(kind("||/bin/cat"), Target::Program(_)));
        assert!(matches!(kind("syslog:local1"), Target::Stderr));
        assert!(matches!(kind("/dev/stdout"), Target::Stdout));
        assert!(matches!(kind("/var/log/syslog.log"), Target::File(_)));
    }

    #[test]
    fn a_missing_directory_is_named() {
        let why = open_as_self(Path::new("/tmp/no-such-directory-of-hostler/logs/error.log")).unwrap_err();
        assert!(why.contains("/tmp/no-such-directory-of-hostler does not exist"), "{why}");
        let mut opening = Opening {
            roles: &Roles { front: None, sites: Vec::new(), site_of: Vec::new(), warnings: Vec::new() },
            root: true,
            openers: Openers::default(),
        };
        match opening.open_as_root(Path::new("/no/such/log"), None) {
            Err(RefusalReason::Error(why)) => {
                assert!(why.contains("the directory /no does not exist"), "{why}");
            }
            _ => panic!("not refused"),
        }
    }
}
