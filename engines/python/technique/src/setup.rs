//! The settings of a pool's parent process before it forks workers, by its group, and its interpreter.

use crate::groups::{self, Group, plain};
use crate::parts::{Alias, CALLABLE, Daemon, HANDLE_REQUEST, Matcher, SERVER};
use crate::{DIR, Where};
use hostler_config::pools;
use hostler_config::technique::{Sizes, Variables};
use hostler_config::{Config, Merge as _, Pattern, Section, Server};
use hostler_python_frames::{self as frames, variable};
use hostler_wire::codec::Encoder;
use hostler_wire::engine::Setup;

/// Returns whether two virtual hosts can't share an interpreter of one group.
pub(crate) fn differs(main: &Server, server: &Server) -> bool {
    let [main, own] = [main, server].map(|server| server.conf.part(&SERVER));
    main.python_home != own.python_home
        || main.python_path != own.python_path
        || main.interpreter != own.interpreter
        || main.preload != own.preload
        || main.warm_up != own.warm_up
}

/// The first virtual host of a pool, and the process group, if there is a named one.
fn found<'a>(config: &'a Config, servers: &[u32], group: &Group) -> (&'a Server, Option<&'a Daemon>) {
    let of = |id: &u32| config.servers.get(*id as usize).map(|server| &**server);
    let first = servers.iter().find_map(of).unwrap_or(config.main());
    if group.process.is_empty() {
        return (first, None);
    }
    let daemon =
        servers.iter().filter_map(of).find_map(|server| groups::daemon(config, server, &group.process));
    (first, daemon)
}

/// Adds what is a group's own.
pub(crate) fn of_group(config: &Config, servers: &[u32], group: &str, setup: &mut Setup) {
    let group = Group::named(group);
    let (first, daemon) = found(config, servers, &group);
    let own = first.conf.part(&SERVER);
    let of_daemon = daemon.map(|daemon| daemon.python_path.clone()).filter(|path| !path.is_empty());
    let workers = pools::settings(first).with(sizes(config, servers, &group.name())).max_workers;
    let told = frames::Setup {
        process_group: group.process.clone(),
        application_group: group.application.clone(),
        python_path: of_daemon.or_else(|| own.python_path.clone()).unwrap_or_default(),
        directory: daemon.and_then(|daemon| daemon.home.as_deref()).map(str::to_owned),
        umask: daemon.and_then(|daemon| daemon.umask),
        display_name: daemon.and_then(display_name),
        preload: own.preload.unwrap_or_default(),
        scripts: scripts(config, servers, &group),
        warm_ups: warm_ups(config, servers, &group),
        imports: imports(config, servers, &group),
        restrict_signal: own.restrict_signal.unwrap_or(true),
        restrict_stdout: own.restrict_stdout.unwrap_or(false),
        restrict_stdin: own.restrict_stdin.unwrap_or(false),
        dont_write_bytecode: own.dont_write_bytecode.unwrap_or(false),
        workers,
        is_multiprocess: workers > 1 || daemon.is_some_and(|daemon| daemon.processes.is_some()),
    };
    setup.max_requests = daemon.and_then(|daemon| daemon.maximum_requests).unwrap_or(setup.max_requests);
    told.encode(&mut Encoder(&mut setup.own));
}

/// The variable for the group's own name in `display-name=`.
const GROUP: &str = "%{GROUP}";

fn display_name(daemon: &Daemon) -> Option<String> {
    let name = daemon.display_name.as_deref()?;
    Some(if name == GROUP { format!("(wsgi:{})", daemon.name) } else { name.to_owned() })
}

/// The script that an alias names, if it is of the group, and one script, not a folder of them (which has no extension).
fn script_of(config: &Config, server: &Server, alias: &Alias, group: &Group) -> Option<frames::Script> {
    let Matcher::Prefix(prefix) = &alias.matcher else { return None };
    if !alias.target.rsplit('/').next().is_some_and(|name| name.contains('.')) {
        return None;
    }
    let name = server_name(config, server);
    let script = prefix.trim_end_matches('/');
    let facts = groups::Facts { server: &name, host: &name, script, variable: &|_| None };
    let dir = lookup(server, prefix, &alias.target);
    let is_its = Group::of(&dir, Some(&alias.own), facts).is_ok_and(|of_alias| of_alias == *group);
    let callable = callable(&alias.own, dir.callable.as_deref());
    is_its.then(|| frames::Script { file: alias.target.to_string(), callable })
}

/// The scripts of the group that aliases or handlers name.
fn scripts(config: &Config, servers: &[u32], group: &Group) -> Vec<frames::Script> {
    let mut all = Vec::new();
    for server in servers.iter().filter_map(|id| config.servers.get(*id as usize)) {
        for alias in &server.conf.part(&SERVER).aliases {
            if let Some(script) = script_of(config, server, alias, group) {
                add(&mut all, script);
            }
        }
        let dir = server.defaults.part(&DIR);
        for script in &dir.handler_scripts {
            let name = server_name(config, server);
            let facts = groups::Facts { server: &name, host: &name, script: "", variable: &|_| None };
            if Group::of(dir, Some(&script.own), facts).is_ok_and(|of_script| of_script == *group) {
                let callable = HANDLE_REQUEST.to_owned();
                add(&mut all, frames::Script { file: script.script.to_string(), callable });
            }
        }
    }
    all
}

/// The requests that are answered ahead: each virtual host's, if the alias that it would come by is of the group.
fn warm_ups(config: &Config, servers: &[u32], group: &Group) -> Vec<frames::WarmUp> {
    let mut all = Vec::new();
    for server in servers.iter().filter_map(|id| config.servers.get(*id as usize)) {
        let own = server.conf.part(&SERVER);
        let Some(url) = own.warm_up.as_deref() else { continue };
        let (path, query) = url.split_at(url.find('?').unwrap_or(url.len()));
        // What a regular expression can't decide is nobody's.
        let Ok(Some((at, _))) = own.aliased(path.as_bytes()) else { continue };
        let alias = &own.aliases[at];
        let (Some(script), Matcher::Prefix(prefix)) =
            (script_of(config, server, alias, group), &alias.matcher)
        else {
            continue;
        };
        let mount = prefix.trim_end_matches('/').to_owned();
        let rest = format!("{}{query}", path.strip_prefix(&mount).unwrap_or(path));
        let warm_up = frames::WarmUp { script, host: server_name(config, server), mount, rest };
        if !all.contains(&warm_up) {
            all.push(warm_up);
        }
    }
    all
}

fn add(all: &mut Vec<frames::Script>, script: frames::Script) {
    if !all.contains(&script) {
        all.push(script);
    }
}

/// The sections with plain paths that an alias leads through: groups stand there.
fn lookup(server: &Server, url: &str, file: &str) -> crate::Dir {
    let leads = |section: &Section, path: &str| match &section.pattern {
        Pattern::Plain(start) => path.as_bytes().starts_with(start),
        _ => false,
    };
    let directories = server.directories.iter().filter(|section| leads(section, file));
    let locations = server.locations.iter().filter(|section| leads(section, url));
    let own = server.defaults.part(&DIR).clone();
    directories.chain(locations).fold(own, |dir, section| dir.merge(section.conf.part(&DIR)))
}

/// The application's name in a script.
#[must_use]
pub(crate) fn callable(own: &Where, of_dir: Option<&str>) -> String {
    own.callable.as_deref().or(of_dir).unwrap_or(CALLABLE).to_owned()
}

/// As mod_wsgi calls it in application groups: name and port, without the usual port.
#[must_use]
pub fn server_name(config: &Config, server: &Server) -> String {
    let name = server.conf.core.server_name.as_ref();
    let host = name.map(|name| name.host.clone()).unwrap_or_default();
    let port = name.and_then(|name| name.port);
    let port = port.or_else(|| server.addresses.iter().find_map(|address| address.port));
    let listen = config.process.listen.first().map(|listen| listen.port);
    let port = port.or(listen).unwrap_or(0);
    match port {
        0 | 80 | 443 => host,
        port => format!("{host}:{port}"),
    }
}

fn imports(config: &Config, servers: &[u32], group: &Group) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for server in servers.iter().filter_map(|id| config.servers.get(*id as usize)) {
        let name = server_name(config, server);
        for import in &server.conf.part(&SERVER).imports {
            let application = match &*import.application_group {
                "%{SERVER}" => name.as_str(),
                other => plain(other),
            };
            let is_its = plain(&import.process_group) == group.process && application == group.application;
            if is_its && !all.iter().any(|known| *known == *import.file) {
                all.push(import.file.to_string());
            }
        }
    }
    all
}

/// Returns the program's environment about the interpreter.
pub(crate) fn environment(config: &Config, servers: &[u32], group: &str) -> Vec<(String, String)> {
    let group = Group::named(group);
    let (first, daemon) = found(config, servers, &group);
    let own = first.conf.part(&SERVER);
    let mut all: Vec<(&str, String)> = Vec::new();
    let of_daemon = daemon.and_then(|daemon| Some((daemon.python_home.as_deref()?, "python-home=")));
    let home = of_daemon.or_else(|| Some((own.python_home.as_deref()?, "WSGIPythonHome")));
    if let Some((home, place)) = home {
        all.push((variable::HOME, home.to_owned()));
        all.push((variable::PLACE, place.to_owned()));
    } else if let Some(interpreter) = &own.interpreter {
        all.push((variable::INTERPRETER, interpreter.to_string()));
        all.push((variable::PLACE, "HostlerPython".to_owned()));
    }
    if let Some(daemon) = daemon {
        all.extend(daemon.lang.as_deref().map(|lang| ("LANG", lang.to_owned())));
        all.extend(daemon.locale.as_deref().map(|locale| ("LC_ALL", locale.to_owned())));
    }
    all.extend(own.optimize.filter(|level| *level > 0).map(|level| ("PYTHONOPTIMIZE", level.to_string())));
    if !own.warnings.is_empty() {
        all.push(("PYTHONWARNINGS", own.warnings.join(",")));
    }
    all.extend(own.hash_seed.as_deref().map(|seed| ("PYTHONHASHSEED", seed.to_owned())));
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Takes another virtual environment.
pub(crate) fn replace_home(environment: &mut Variables, home: &str) {
    let names = [variable::HOME, variable::INTERPRETER, variable::PLACE];
    environment.retain(|(name, _)| !names.contains(&name.as_str()));
    environment.push((variable::HOME.to_owned(), home.to_owned()));
    environment.push((variable::PLACE.to_owned(), "python-home=".to_owned()));
}

/// The sizes of a group's pool.
pub(crate) fn sizes(config: &Config, servers: &[u32], group: &str) -> Sizes {
    let Some(daemon) = found(config, servers, &Group::named(group)).1 else { return Sizes::default() };
    let some = |value: Option<u32>| value.filter(|value| *value > 0);
    Sizes {
        // As mod_wsgi: one process, of fifteen threads.
        max_workers: Some(daemon.processes.unwrap_or(1).saturating_mul(daemon.threads.unwrap_or(15))),
        max_requests: daemon.maximum_requests,
        idle: some(daemon.inactivity_timeout),
        queue_timeout: some(daemon.queue_timeout),
    }
}
