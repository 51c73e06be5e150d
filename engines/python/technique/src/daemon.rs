//! `WSGIDaemonProcess`: a name, and options of the form `name=value`.
//!
//! A process group of mod_wsgi's is a pool of workers here. Its threads are workers, too: each has an interpreter of its
//! own, which shares its memory with the others as long as nobody writes to it.

use crate::options::split;
use crate::parts::Daemon;
use hostler_config::directives::peruser::assigned;
use hostler_config::{Args, Command, Context};

/// Options that mean nothing here, each with the reason.
const IGNORED: &[(&str, &str)] = &[
    ("stack-size", "workers have one thread"),
    ("deadlock-timeout", "a worker that is stuck is ended by Timeout, socket-timeout or request-timeout"),
    ("graceful-timeout", "a worker ends when it has finished its request"),
    ("eviction-timeout", "a worker ends when it has finished its request"),
    ("restart-interval", "use maximum-requests, or MaxConnectionsPerChild"),
    ("shutdown-timeout", "workers that are to end have ten seconds for their last requests"),
    ("startup-timeout", "an application that can't be loaded says so to each request"),
    ("connect-timeout", "there is no socket between server and workers"),
    ("socket-user", "there is no socket between server and workers"),
    ("listen-backlog", "use HostlerQueueLength"),
    ("send-buffer-size", "there is no socket between server and workers"),
    ("receive-buffer-size", "there is no socket between server and workers"),
    ("header-buffer-size", "headers may be as long as LimitRequestFieldSize says"),
    ("response-buffer-size", "answers go on as fast as their readers take them"),
    ("response-socket-timeout", "there is no socket between server and workers"),
    ("cpu-time-limit", "use RLimitCPU"),
    ("cpu-priority", "use NiceValue"),
    ("memory-limit", "use RLimitMEM"),
    ("virtual-memory-limit", "use RLimitMEM"),
    ("python-eggs", "eggs are not unpacked by today's Python"),
    ("server-metrics", "the handler server-status tells of pools"),
    ("interrupt-timeout", "a worker that is stuck is ended by Timeout, socket-timeout or request-timeout"),
    ("switch-interval", "workers have one thread, if the application starts none"),
    ("response-flush-delay", "answers go on as fast as their readers take them"),
    ("newrelic-config-file", "have the script start its agent"),
    ("newrelic-environment", "have the script start its agent"),
    ("user-concurrency", "use processes="),
    ("supplementary-groups", "a site's processes have the groups of its user"),
];

/// Most workers of a group.
const MOST_WORKERS: u32 = 1000;

pub(crate) fn daemon(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (words, options) = split(&args.raw, 1)?;
    let name = words.first().filter(|name| !name.is_empty());
    let name = name.ok_or("Name of WSGI daemon process not supplied")?.as_str();
    let mut daemon = Daemon { name: name.into(), origin: command.origin, ..Daemon::default() };
    for (key, value) in &options {
        set(command, &mut daemon, key, value)?;
    }
    let server = command.server.part_mut(&crate::SERVER);
    if server.daemons.iter().any(|known| known.name == daemon.name) {
        return Err(format!("there is another process group \"{name}\" already: names are unique"));
    }
    server.daemons.push(daemon.clone());
    host_is_its(command, &daemon)
}

/// A virtual host whose user nobody has named is that of its process group: all programs of a site are its user's.
fn host_is_its(command: &mut Command<'_>, daemon: &Daemon) -> Result<(), String> {
    let Some(user) = daemon.user.as_deref() else { return Ok(()) };
    let is_named = command.server.core.assign_user.is_some() || command.process.user.as_deref() == Some(user);
    if command.context != Context::VirtualHost || is_named {
        return Ok(());
    }
    let group = daemon.group.as_deref().unwrap_or(user);
    command.server.core.assign_user = Some(assigned(user, group)?);
    let message = format!(
        "WSGIDaemonProcess: user={user} has the whole virtual host run as {user}, as AssignUserID {user} {group} would say it: \
         all programs of a site are its user's, and its files are opened by him"
    );
    command.warn_once(&format!("WSGIDaemonProcess user={user}"), message);
    Ok(())
}

fn set(command: &mut Command<'_>, daemon: &mut Daemon, key: &str, value: &str) -> Result<(), String> {
    let text = || Some(value.into());
    match key {
        "user" => daemon.user = text(),
        "group" => daemon.group = text(),
        "processes" => daemon.processes = Some(count(key, value)?),
        "threads" if value == "0" => {
            let why = "WSGIDaemonProcess: threads=0 (no requests, only WSGIImportScript) starts nothing here: run that \
                       script as a service of the system's";
            command.warn_once(key, why.to_owned());
        }
        "threads" => daemon.threads = Some(count(key, value)?),
        "python-home" => daemon.python_home = Some(absolute(key, value)?),
        "python-path" => daemon.python_path = value.split(':').map(str::to_owned).collect(),
        "home" => daemon.home = Some(absolute(key, value)?),
        "umask" => daemon.umask = Some(mask(value)?),
        "display-name" => daemon.display_name = text(),
        "lang" => daemon.lang = text(),
        "locale" => daemon.locale = text(),
        "maximum-requests" => daemon.maximum_requests = Some(number(key, value)?),
        "inactivity-timeout" => daemon.inactivity_timeout = Some(number(key, value)?),
        "request-timeout" => daemon.request_timeout = Some(number(key, value)?),
        "socket-timeout" => daemon.socket_timeout = Some(number(key, value)?),
        "queue-timeout" => daemon.queue_timeout = Some(number(key, value)?),
        "script-user" | "script-group" => {
            return Err(format!(
                "{key}= is not possible: who may change a script is said by its file's permissions"
            ));
        }
        "chroot" => {
            return Err(
                "chroot= is not possible: use AssignUserID, which separates sites by their users, and \
                        limits of the service manager"
                    .to_owned(),
            );
        }
        _ => {
            let Some((_, why)) = IGNORED.iter().find(|(known, _)| *known == key) else {
                return Err(format!("there is no option {key}="));
            };
            command.warn_once(key, format!("WSGIDaemonProcess: {key}= is ignored: {why}"));
        }
    }
    Ok(())
}

fn number(key: &str, value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("{key}={value} is not a number"))
}

fn count(key: &str, value: &str) -> Result<u32, String> {
    match number(key, value)? {
        count @ 1..=MOST_WORKERS => Ok(count),
        _ => Err(format!("{key}={value} is not a number from 1 to {MOST_WORKERS}")),
    }
}

fn absolute(key: &str, value: &str) -> Result<Box<str>, String> {
    if value.starts_with('/') {
        Ok(value.into())
    } else {
        Err(format!("{key}={value} is not an absolute path"))
    }
}

fn mask(value: &str) -> Result<u32, String> {
    let mask = u32::from_str_radix(value, 8).ok().filter(|mask| *mask <= 0o777);
    mask.ok_or_else(|| format!("umask={value} is not an octal number up to 0777"))
}
