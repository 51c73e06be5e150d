//! What a pool's parent process is told before it forks workers.

use crate::directives::perl::{self, Preload, quoted};
use crate::directives::psgi;
use crate::{Config, Server};
use hostler_perl_frames::{self as frames, PreloadKind, Setup};
use hostler_wire::engine::ServerFacts;

/// What the parent of a pool loads: the main server's first, then what each of its virtual hosts adds.
///
/// `servers` are indexes in [`Config::servers`] ([`super::Pool::servers`]). Left for the caller, who knows the
/// site and the product's name: [`Setup::title`] and [`ServerFacts::software`].
#[must_use]
pub fn setup(config: &Config, servers: &[u32], generation: u8, one_shot: bool) -> Setup {
    let members: Vec<&Server> =
        servers.iter().filter_map(|id| Some(&**config.servers.get(*id as usize)?)).collect();
    let main = &config.main().conf.perl;
    // One that is alone in its pool has an environment of its own; others share the main server's.
    let interpreter = if let [only] = &members[..] { &only.conf.perl } else { main };
    let words = |own: fn(&perl::Server) -> &[Box<str>]| -> Vec<String> {
        added(own(main), members.iter().map(|member| own(&member.conf.perl)))
    };
    let preload: Vec<Preload> =
        added(&main.preload, members.iter().map(|member| &member.conf.perl.preload[..]));
    Setup {
        title: String::new(),
        generation,
        preload: preload
            .iter()
            .map(|preload| to_load(config, preload))
            .chain(apps(config, &members))
            .collect(),
        switches: words(|perl| &perl.switches),
        env: owned(interpreter.env.iter().map(|(name, value)| (&**name, &**value))),
        server_root: config.facts.server_root.clone(),
        servers: all_of(config, &members).map(|(place, server)| facts(config, server, place)).collect(),
        vars: all_of(config, &members).map(|(_, server)| owned(server.conf.perl.vars.iter())).collect(),
        one_shot,
        max_requests: members.first().map_or(0, |first| super::settings(first).max_requests),
        cpu: members.first().and_then(|first| first.defaults.core.rlimit_cpu).map(super::limit),
        child_init: words(|perl| &perl.child_init),
        child_exit: words(|perl| &perl.child_exit),
    }
}

/// The PSGI programs that are loaded before workers are forked, each once. One that can't be fails its own requests only.
fn apps(config: &Config, members: &[&Server]) -> Vec<frames::Preload> {
    let mut apps: Vec<&psgi::App> = Vec::new();
    for app in members.iter().flat_map(|member| member.conf.psgi.preloaded()) {
        if !apps.iter().any(|known| known.file == app.file) {
            apps.push(app);
        }
    }
    let load = |app: &psgi::App| {
        let text = format!("sub {{ require Hostler::PSGI; Hostler::PSGI::preload({}) }}", quoted(&app.file));
        frames::Preload {
            kind: PreloadKind::LateCall,
            text,
            origin: config.place(app.origin),
            configured: false,
        }
    };
    apps.into_iter().map(load).collect()
}

/// The main server's, then what each member has beyond them: merging puts the main server's first.
fn added<'a, T, U>(main: &'a [T], members: impl Iterator<Item = &'a [T]>) -> Vec<U>
where
    T: 'a + PartialEq + Clone,
    U: From<T>,
{
    let mut all = main.to_vec();
    for own in members {
        let more = own.get(main.len()..).unwrap_or_default();
        all.extend(more.iter().cloned());
    }
    all.into_iter().map(U::from).collect()
}

fn to_load(config: &Config, preload: &Preload) -> frames::Preload {
    let (kind, text) = match (preload.kind, preload.text.rsplit_once("::")) {
        (PreloadKind::Module, Some((package, _))) if preload.handler => {
            (PreloadKind::Code, either(&preload.text, package))
        }
        (kind, _) => (kind, preload.text.to_string()),
    };
    frames::Preload { kind, text, origin: config.place(preload.origin), configured: preload.configured }
}

/// Of `Some::name` only loading it tells whether it is a package or a function in one.
fn either(name: &str, package: &str) -> String {
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':'));
    if !is_name || package.is_empty() {
        return "die 'what follows the + is no name of a package or function';\n".to_owned();
    }
    let (file, function) = (name.replace("::", "/"), &name[package.len() + 2..]);
    format!(
        "eval {{ require {name}; 1 }} or do {{ my $why = $@; $why =~ m{{^Can't locate {file}\\.pm }} \
         and eval {{ require {package}; 1 }} and {package}->can('{function}') or die $why }};\n"
    )
}

/// The main server first, whether or not it is a member: programs may ask for it. Each has its place for a number
/// ([`super::Pools::places`]).
pub(super) fn all_of<'a>(
    config: &'a Config,
    members: &[&'a Server],
) -> impl Iterator<Item = (u32, &'a Server)> {
    let others = members.iter().filter(|server| server.id != 0).copied();
    (0..).zip(std::iter::once(config.main()).chain(others))
}

pub(super) fn facts(config: &Config, server: &Server, place: u32) -> ServerFacts {
    let (core, log) = (&server.conf.core, &server.conf.log_config);
    let name = core.server_name.as_ref();
    let of_address = server.addresses.iter().find_map(|address| address.port);
    let of_listen = config.process.listen.first().map(|listen| listen.port).filter(|_| server.id == 0);
    ServerFacts {
        id: place,
        name: name.map(|name| name.host.clone()).unwrap_or_default(),
        admin: core.admin.clone().unwrap_or_else(|| "[no address given]".to_owned()),
        port: name.and_then(|name| name.port).or(of_address).or(of_listen).unwrap_or(0),
        document_root: core.document_root.clone().unwrap_or_default(),
        software: String::new(),
        is_virtual: server.id != 0,
        error_log: log.error_log.as_deref().unwrap_or("logs/error_log").to_owned(),
        // Apache's trace levels are finer than syslog's last.
        log_level: log.levels.of("perl") as u8,
        timeout: core.timeout.unwrap_or(60),
        keep_alive: core.keep_alive.unwrap_or(true),
        keep_alive_timeout: core.keep_alive_timeout.unwrap_or(5000),
        keep_alive_max: core.max_keep_alive_requests.unwrap_or(100),
        aliases: core.aliases.iter().chain(&core.wild_aliases).cloned().collect(),
    }
}

fn owned<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
