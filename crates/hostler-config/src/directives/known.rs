//! Directives and modules that are known and not implemented. The list itself is `known.txt`, whose head
//! explains its form; the rule is that what could change who may see what is refused.

use crate::table::{Action, Arity, Contexts, Directive, Module, Overrides};
use std::sync::LazyLock;

const LIST: &str = include_str!("known.txt");

const HARMLESS: &str = "it is not implemented";

static MODULES: LazyLock<Vec<&'static Module>> = LazyLock::new(|| {
    let mut modules: Vec<Head> = Vec::new();
    for line in LIST.lines().filter(|line| !line.starts_with('#')) {
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
});

/// A module while its lines are read.
struct Head {
    name: &'static str,
    file: &'static str,
    why: &'static str,
    directives: Vec<Directive>,
}

impl Head {
    fn into_module(self) -> Module {
        Module { name: self.name, file: self.file, directives: Box::leak(self.directives.into()) }
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
    Directive { name, arity: Arity::RawArgs, form: "", doc: "Not implemented", contexts, overrides, action }
}

/// The modules, with their directives.
pub(crate) fn modules() -> &'static [&'static Module] {
    &MODULES
}

/// Whether a module belongs to a stock Apache or is known otherwise, so that loading it guards nothing that
/// its directives would not tell.
pub(crate) fn is_stock_module(name: &str) -> bool {
    // A server that does not know PHP would show the source of its scripts.
    let guards =
        name.starts_with("php") || matches!(name, "security2_module" | "evasive20_module" | "suphp_module");
    !guards && MODULES.iter().any(|module| module.name == name)
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
        assert!(MODULES.len() > 60);
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
                crate::directives::find(name).map(|(_, d)| d.action),
                Some(Action::Refused(_) | Action::RefusedUnless(..))
            )
        };
        for name in ["RewriteRule", "AuthLDAPURL", "PerlPreConnectionHandler", "RemoteIPHeader", "<Proxy"] {
            assert!(refused(name.trim_start_matches('<')), "{name}");
        }
        for name in ["CacheEnable", "SSLSessionCache", "DeflateCompressionLevel"] {
            assert!(!refused(name), "{name}");
        }
        assert!(!is_stock_module("php_module") && is_stock_module("rewrite_module"));
    }
}
