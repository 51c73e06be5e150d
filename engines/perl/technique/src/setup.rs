//! The settings of a pool's parent process before it forks workers.

use crate::{LOG, psgi, registries, tree};
use hostler_config::directives::perl::{self, Preload, quoted};
use hostler_config::{Config, Server, pools};
use hostler_perl_frames::{self as frames, PreloadKind, Setup};

/// Returns the setup of a pool's parent: the main server's code first, then the additions of each of its virtual hosts.
///
/// `servers` are indexes in [`Config::servers`] ([`pools::Pool::servers`]). Left for the caller, who knows the
/// site and the product's name: [`Setup::title`] and [`hostler_wire::engine::ServerFacts::software`].
#[must_use]
pub(crate) fn setup(config: &Config, servers: &[u32], generation: u8, one_shot: bool) -> Setup {
    let members: Vec<&Server> =
        servers.iter().filter_map(|id| Some(&**config.servers.get(*id as usize)?)).collect();
    let main = &config.main().conf.perl;
    // One that is alone in its pool has an environment of its own; others share the main server's.
    let interpreter = if let [only] = &members[..] { &only.conf.perl } else { main };
    let words = |own: fn(&perl::Server) -> &[Box<str>]| -> Vec<String> {
        added(own(main), members.iter().map(|member| own(&member.conf.perl)))
    };
    let mut preload: Vec<Preload> =
        added(&main.preload, members.iter().map(|member| &member.conf.perl.preload[..]));
    let mut switches = words(|perl| &perl.switches);
    if interpreter.options.begins_empty() && !main.options.begins_empty() {
        preload.drain(..main.preload.len());
        if !interpreter.options.inherits_switches() {
            switches.drain(..main.switches.len());
        }
    }
    Setup {
        title: String::new(),
        generation,
        preload: places(config, &members, &preload)
            .into_iter()
            .chain(registered(config, &members, generation))
            .chain(preload.iter().map(|preload| to_load(config, preload)))
            .chain(apps(config, &members))
            .chain(registries::of(&members).filter(|_| !one_shot))
            .collect(),
        switches,
        env: owned(interpreter.env.iter().map(|(name, value)| (&**name, &**value))),
        server_root: config.facts.server_root.clone(),
        servers: pools::members(config, &members)
            .map(|(place, server)| pools::facts(config, server, place, LOG))
            .collect(),
        vars: pools::members(config, &members)
            .map(|(_, server)| owned(server.conf.perl.vars.iter()))
            .collect(),
        one_shot,
        max_requests: members.first().map_or(0, |first| pools::settings(first).max_requests),
        cpu: members.first().and_then(|first| pools::limits(first).cpu),
        child_init: words(|perl| &perl.child_init),
        child_exit: words(|perl| &perl.child_exit),
        tree: if generation == 1 { String::new() } else { tree::text(config, servers) },
    }
}

/// The directives of modules name virtual hosts by their numbers in the configuration; a pool knows them by their places.
fn places(config: &Config, members: &[&Server], preload: &[Preload]) -> Option<frames::Preload> {
    let first = preload.iter().find(|preload| preload.call)?;
    let pairs: Vec<_> =
        pools::members(config, members).map(|(place, server)| format!("{} => {place}", server.id)).collect();
    let text = format!("require Apache2::Module; Apache2::Module::_places({});", pairs.join(", "));
    let origin = config.place(first.origin);
    Some(frames::Preload { kind: PreloadKind::Code, text, origin, configured: false })
}

/// Returns values that programs may ask a server for and that the engine does not act on: the options that are off, and
/// the functions for the start and the end of workers.
fn registered(config: &Config, members: &[&Server], generation: u8) -> Option<frames::Preload> {
    let words = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
    let mut calls = Vec::new();
    for (place, server) in pools::members(config, members) {
        let perl = &server.conf.perl;
        let own = |list: &[Box<str>]| list.iter().map(|word| String::from(&**word)).collect::<Vec<_>>();
        let off = perl.options.switched_off();
        for (name, list) in [
            ("off", off),
            ("PerlChildInitHandler", own(&perl.child_init)),
            ("PerlChildExitHandler", own(&perl.child_exit)),
        ] {
            if !list.is_empty() {
                calls.push(format!("Apache2::ServerRec::_configured({place}, '{name}', {});", words(&list)));
            }
        }
    }
    let text = format!("require Apache2::ServerUtil; {}", calls.concat());
    (generation != 1 && !calls.is_empty()).then(|| frames::Preload {
        kind: PreloadKind::Code,
        text,
        origin: String::new(),
        configured: false,
    })
}

/// The PSGI programs that are loaded before workers are forked, each once. One that can't be fails its own requests only.
fn apps(config: &Config, members: &[&Server]) -> Vec<frames::Preload> {
    let mut apps: Vec<&psgi::App> = Vec::new();
    for app in members.iter().flat_map(|member| member.conf.part(&psgi::SERVER).preloaded()) {
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
        return "die 'what follows the + is not the name of a package or function';\n".to_owned();
    }
    let (file, function) = (name.replace("::", "/"), &name[package.len() + 2..]);
    format!(
        "eval {{ require {name}; 1 }} or do {{ my $why = $@; $why =~ m{{^Can't locate {file}\\.pm }} \
         and eval {{ require {package}; 1 }} and {package}->can('{function}') or die $why }};\n"
    )
}

fn owned<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
