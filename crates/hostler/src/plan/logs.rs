//! The log files, opened before privileges are gone.
//!
//! Root opens (and makes) a log only where root alone decides what a path means; see `hostler_sys::trusted`. A log
//! in a directory that others can write is opened by a child that is the virtual host's user, so that a link
//! planted there leads no further than that user could write anyway. When that fails, it is the tenant's loss: the
//! lines of its ErrorLog go to the main one, and the server starts.

use hostler_config::{Config, Server};
use hostler_sys::trusted::{Trust, Untrusted, inspect_append_file, may_write, open_directory};
use hostler_wire::logs::{KnownLog, LogFile};
use hostler_wire::plan::{Identity, LogPlan};
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::log_files::{Files, RefusalReason, ancestor, cannot_append, missing, refused_to};
use super::{Finding, Roles, Situation, piped};
use crate::Failed;

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

/// An open log.
pub(crate) struct OpenLog {
    pub(crate) plan: LogPlan,
    /// `None`: it is not a file.
    pub(crate) file: Option<LogFile>,
    pub(crate) fd: OwnedFd,
}

/// Opens all logs, each target once. A missing file that replaces one of the `known` gets its mode and group.
///
/// # Errors
/// All logs that can't be opened, one line each, with the directive's place.
pub(crate) fn open(
    config: &Config,
    roles: &Roles,
    situation: &Situation,
    known: &[KnownLog],
) -> Result<Vec<OpenLog>, Failed> {
    let mut opening = Opening::new(roles, situation.root());
    let mut errors = Vec::new();
    let mut opened: Vec<OpenLog> = Vec::new();
    for wanted in wanted(config, roles) {
        let opened_now = match opening.open(&wanted, known) {
            Err(RefusalReason::TenantsFault(why)) => {
                eprintln!("hostler: warning: {}: {why}; this log is not written", wanted.place);
                instead(&wanted, &opened)
            }
            Err(RefusalReason::Error(why)) => Err(why),
            Ok(opened) => Ok(opened),
        };
        let plan = LogPlan { target: wanted.target, error_log: wanted.error_log };
        match opened_now {
            Ok((fd, file)) => opened.push(OpenLog { plan, file, fd }),
            Err(why) => errors.push(format!("{}: {why}", wanted.place)),
        }
    }
    if errors.is_empty() { Ok(opened) } else { Err(Failed(errors.join("\n"))) }
}

/// Looks whether the logs could be opened, without making any, for `hostler check`.
pub(crate) fn inspect(config: &Config, roles: &Roles, situation: &Situation) -> Vec<Finding> {
    let mut opening = Opening::new(roles, situation.root());
    let wanted = wanted(config, roles).into_iter();
    wanted.filter_map(|wanted| opening.inspect(&wanted).map(|found| found.prefixed(&wanted.place))).collect()
}

/// Returns the replacement of a tenant's log: the main ErrorLog (the first that was opened), or nothing.
fn instead(wanted: &LogRequest, opened: &[OpenLog]) -> Result<(OwnedFd, Option<LogFile>), String> {
    let failed = |e: std::io::Error| e.to_string();
    match opened.first().filter(|main| wanted.error_log && main.plan.error_log) {
        Some(main) => main.fd.try_clone().map(|fd| (fd, main.file.clone())).map_err(failed),
        None => null().map(|fd| (fd, None)).map_err(failed),
    }
}

fn null() -> std::io::Result<OwnedFd> {
    OpenOptions::new().write(true).open("/dev/null").map(OwnedFd::from)
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
    let settings = server.settings.iter().chain(config.main().settings.iter());
    let mut named =
        settings.filter(|setting| directives.contains(&setting.directive) && names(&setting.args, target));
    let Some(setting) = named.next() else { return format!("{} (default)", directives[0]) };
    let file = config.files.get(setting.origin.file as usize).map_or("configuration", |file| &**file);
    format!("{file}:{}: {}", setting.origin.line, setting.directive)
}

/// Returns whether one of a directive's arguments is this target; a relative path is below ServerRoot.
fn names(args: &str, target: &str) -> bool {
    let quoted = args.split('"').chain(args.split_whitespace());
    let mut words = quoted.map(|word| word.trim_matches('"')).filter(|word| !word.trim().is_empty());
    words.any(|word| word == target || target.strip_suffix(word).is_some_and(|rest| rest.ends_with('/')))
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
    files: Files,
}

impl<'a> Opening<'a> {
    fn new(roles: &'a Roles, root: bool) -> Self {
        let sites = roles.sites.iter().filter_map(|site| site.identity.clone()).collect();
        Self { roles, files: Files::new(sites, roles.front.clone(), root) }
    }

    fn open(
        &mut self,
        wanted: &LogRequest,
        known: &[KnownLog],
    ) -> Result<(OwnedFd, Option<LogFile>), RefusalReason> {
        let own = |fd: std::io::Result<OwnedFd>| match fd {
            Ok(fd) => Ok((fd, None)),
            Err(e) => Err(RefusalReason::Error(format!("can't open {}: {e}", wanted.target))),
        };
        match kind(&wanted.target) {
            Target::Program(command) => Ok((piped::start(command, self.roles.front.as_ref())?, None)),
            Target::Stdout => own(std::io::stdout().as_fd().try_clone_to_owned()),
            Target::Stderr => own(std::io::stderr().as_fd().try_clone_to_owned()),
            Target::Nowhere => own(null()),
            Target::File(path) => {
                let new = self.files.new_log(known.iter().find(|known| Path::new(&known.file.path) == path));
                let (fd, file) = self.files.open(path, wanted.identity.as_ref(), Some(new))?;
                Ok((fd, Some(file)))
            }
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
        if !self.files.root {
            return inspect_as_self(path, parent);
        }
        let untrusted = match open_directory(parent, Trust::Root(&|gid| self.files.is_harmless(gid))) {
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
        let why = match self.files.openers.of(identity) {
            Ok(opener) => {
                let refused = opener.inspect_append(path).err()?;
                format!(
                    "{} (root won't write there itself: {untrusted})",
                    refused_to(identity, path, &refused)
                )
            }
            Err(why) => why,
        };
        let tenants = self.files.is_tenants(&untrusted);
        Some(if tenants {
            Finding::Warning(format!("{why}; this log is not written"))
        } else {
            Finding::Error(why)
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_blamed_on_the_line_that_names_it() {
        assert!(names("logs/access.log common", "/srv/logs/access.log"));
        assert!(names("\"/var/log/of all/log\" \"%h %r\"", "/var/log/of all/log"));
        for args in ["logs/access.log common", "\"/no/such/folder/log.old\"", ""] {
            assert!(!names(args, "/no/such/folder/log"), "{args}");
        }
    }

    #[test]
    fn targets_are_told_apart() {
        assert!(matches!(kind("|/bin/cat"), Target::Program(_)));
        assert!(matches!(kind("||/bin/cat"), Target::Program(_)));
        assert!(matches!(kind("syslog:local1"), Target::Stderr));
        assert!(matches!(kind("/dev/stdout"), Target::Stdout));
        assert!(matches!(kind("/var/log/syslog.log"), Target::File(_)));
    }
}
