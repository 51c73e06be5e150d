//! Directives and modules that are known and not implemented. The list itself is `known.txt`, whose head
//! explains its form; the rule is that what could change who may see what is refused.

use crate::table::{Action, Arity, Contexts, Directive, Effect, Module, Overrides};
use crate::technique;
use std::sync::LazyLock;

const LIST: &str = include_str!("known.txt");

const HARMLESS: &str = "it is not supported";

static MODULES: LazyLock<Vec<&'static Module>> = LazyLock::new(|| read(LIST));

/// The modules that come with Apache.
static STOCK: LazyLock<Vec<&'static Module>> =
    LazyLock::new(|| read(LIST.split(ELSEWHERE).next().unwrap_or_default()));

/// The line in the list before the modules that do not come with Apache.
const ELSEWHERE: &str = "# ---- modules from elsewhere ----";

fn read(list: &'static str) -> Vec<&'static Module> {
    let mut modules: Vec<Head> = Vec::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            Some((names, why)) => {
                let (name, file) = names.split_once(' ').unwrap_or((names, ""));
                modules.push(Head { name, file, why: why.trim(), directives: Vec::new() });
            }
            None => {
                if let Some(module) = modules.last_mut() {
                    let why = module.why;
                    module.directives.extend(line.split_whitespace().map(|entry| directive(entry, why)));
                }
            }
        }
    }
    // The list is read once and lives as long as the program, like the rest of the table.
    modules.into_iter().map(|head| &*Box::leak(Box::new(head.into_module()))).collect()
}

/// A module while its lines are read.
struct Head {
    name: &'static str,
    file: &'static str,
    why: &'static str,
    directives: Vec<Directive>,
}

impl Head {
    fn into_module(self) -> Module {
        let directives = Box::leak(self.directives.into());
        // What is harmless here is said by each line.
        Module { name: self.name, file: self.file, directives, effect: Effect::Guards }
    }
}

fn directive(entry: &'static str, why: &'static str) -> Directive {
    let (name, action) = match entry.strip_prefix('!') {
        None => (entry, Action::Ignored(HARMLESS)),
        Some(entry) => match entry.split_once('=') {
            None => (entry, Action::Refused(why)),
            Some((name, unless)) => (name, Action::RefusedUnless(unless, why)),
        },
    };
    let (contexts, overrides) = (Contexts::ANYWHERE, Overrides::ALL);
    let (arity, form, doc) = (Arity::RawArgs, "", "Not supported");
    Directive { name, arity, form, doc, contexts, overrides, action, effect: None }
}

/// The modules, with their directives.
pub(crate) fn modules() -> &'static [&'static Module] {
    &MODULES
}

/// Returns whether a module belongs to a stock Apache or is known otherwise, so that loading it guards nothing that its
/// directives would not tell.
pub(crate) fn is_stock_module(name: &str) -> bool {
    // A server that does not know PHP would show the source of its scripts.
    let guards =
        name.starts_with("php") || matches!(name, "security2_module" | "evasive20_module" | "suphp_module");
    !guards && MODULES.iter().any(|module| module.name == name)
}

/// The source file of a module, by which a block may depend on it too.
pub(crate) fn source_of(name: &str) -> Option<&'static str> {
    MPMS.iter()
        .find(|(module, _)| *module == name)
        .map(|(_, file)| *file)
        .or_else(|| MODULES.iter().find(|module| module.name == name).map(|module| module.file))
}

/// Models of processes that Hostler has in place of its own.
const MPMS: &[(&str, &str)] = &[("mpm_event_module", "event.c"), ("mpm_worker_module", "worker.c")];

/// Returns whether a name of a module, in either spelling, is one that an Apache is expected to have: of its own
/// modules, and of techniques.
pub(crate) fn is_expected(name: &str) -> bool {
    technique::all().iter().any(|row| (row.is_other_version)(name))
        || STOCK.iter().any(|module| module.name == name || module.file == name)
}

/// Modules whose work Hostler does in another way, so that loading them needs no word.
pub(crate) fn is_superseded(name: &str) -> bool {
    const NAMES: &[&str] =
        &["mpm_prefork_module", "mpm_worker_module", "mpm_event_module", "cgid_module", "systemd_module"];
    const FAMILIES: &[&str] = &["socache_", "slotmem_", "watchdog_"];
    NAMES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_well_formed() {
        assert!(MODULES.len() > 50);
        for module in MODULES.iter() {
            assert!(module.name.ends_with("_module"), "{}", module.name);
            assert!(!module.file.is_empty(), "{}", module.name);
            for directive in module.directives {
                assert!(
                    directive.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
                    "{}",
                    directive.name
                );
                if let Action::Refused(why) | Action::RefusedUnless(_, why) = directive.action {
                    assert!(!why.is_empty(), "{}", directive.name);
                }
            }
        }
    }

    #[test]
    fn guards_are_refused_and_tuning_is_not() {
        let refused = |name: &str| {
            matches!(
                crate::modules::find(name).map(|(_, d)| d.action),
                Some(Action::Refused(_) | Action::RefusedUnless(..))
            )
        };
        for name in ["AuthLDAPURL", "PerlPreConnectionHandler"] {
            assert!(refused(name.trim_start_matches('<')), "{name}");
        }
        for name in ["CacheEnable", "SSLSessionCache", "DeflateCompressionLevel"] {
            assert!(!refused(name), "{name}");
        }
        assert!(!is_stock_module("php_module") && is_stock_module("proxy_module"));
    }

    #[test]
    fn some_modules_are_expected_of_every_apache() {
        for name in ["mod_proxy.c", "proxy_module", "mod_dav.c"] {
            assert!(is_expected(name), "{name}");
        }
        for name in ["mod_security2.c", "mod_nothing.c", "mod_wsgi.c", "mod_gzip.c"] {
            assert!(!is_expected(name), "{name}");
        }
        assert_eq!(source_of("proxy_fdpass_module"), Some("mod_proxy_fdpass.c"));
        assert_eq!(source_of("mpm_event_module"), Some("event.c"));
    }
}
