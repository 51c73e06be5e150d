//! The reference of directives, generated from the table.

use crate::modules::{self, known};
use crate::table::{Action, Contexts, Directive, Overrides};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const HEAD: &str = "# Directives

Generated from the table of directives (`cargo xtask docs`); do not edit.

Hostler reads Apache's configuration language. The tables below list the supported directives, by module; the two
lists at the end name the directives that Hostler recognizes but does not support. An *ignored* directive causes a
warning, once. A *refused* directive could change who has access to what: the configuration is rejected, and an
.htaccess file that contains it makes its directory return 500.

";

/// The page `docs/directives.md`.
#[must_use]
pub fn directives_markdown() -> String {
    let mut page = HEAD.to_owned();
    for (module, directives) in by_module() {
        let _ = writeln!(
            page,
            "## {module}\n\n| directive | what it does | where | AllowOverride |\n|---|---|---|---|"
        );
        for directive in directives {
            let form = escaped(&directive.full_form());
            let (doc, places) = (escaped(directive.doc), places(directive.contexts));
            let _ = writeln!(page, "| `{form}` | {doc} | {places} | {} |", overrides(directive));
        }
        page.push('\n');
    }
    page + &not_implemented()
}

/// Returns the supported directives by the modules' names, `core_module` first.
fn by_module() -> Vec<(&'static str, Vec<&'static Directive>)> {
    let mut modules: BTreeMap<(bool, &str), Vec<&Directive>> = BTreeMap::new();
    for module in modules::all_modules() {
        let real = |directive: &&Directive| !is_missing(directive);
        let entry = modules.entry((module.name != "core_module", module.name)).or_default();
        entry.extend(module.directives.iter().filter(real));
    }
    let modules = modules.into_iter().filter(|(_, directives)| !directives.is_empty());
    modules
        .map(|((_, name), mut directives)| {
            directives.sort_by_key(|directive| directive.name.to_ascii_lowercase());
            (name, directives)
        })
        .collect()
}

fn is_missing(directive: &Directive) -> bool {
    matches!(directive.action, Action::Ignored(_) | Action::Refused(_) | Action::RefusedUnless(..))
}

fn not_implemented() -> String {
    let mut ignored: Vec<&str> = Vec::new();
    let mut refused: Vec<String> = Vec::new();
    let known = known::modules().iter().copied().chain(modules::all_modules());
    let mut names: Vec<&str> =
        known.flat_map(|module| module.directives).map(|directive| directive.name).collect();
    names.sort_by_key(|name| name.to_ascii_lowercase());
    names.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
    for (_, directive) in names.into_iter().filter_map(modules::find) {
        match directive.action {
            Action::Ignored(_) => ignored.push(directive.name),
            Action::Refused(_) => refused.push(format!("`{}`", directive.name)),
            Action::RefusedUnless(word, _) => refused.push(format!("`{}` (except `{word}`)", directive.name)),
            _ => {}
        }
    }
    format!("## Refused\n\n{}\n\n## Ignored\n\n`{}`\n", refused.join(", "), ignored.join("`, `"))
}

fn places(contexts: Contexts) -> &'static str {
    match contexts {
        Contexts::GLOBAL => "main server",
        Contexts::SERVER => "server, virtual host",
        Contexts::DIRECTORY => "sections",
        Contexts::DIR_HTACCESS => "sections, .htaccess",
        Contexts::CONFIG => "server, virtual host, sections",
        _ => "everywhere",
    }
}

fn overrides(directive: &Directive) -> String {
    if !directive.contexts.in_htaccess() {
        return "–".to_owned();
    }
    if directive.overrides == Overrides::ALL {
        "any".to_owned()
    } else {
        directive.overrides.names().join(", ")
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_directive_is_documented() {
        let page = super::directives_markdown();
        for name in
            ["DocumentRoot directory", "IfModule", "AllowOverride", "RewriteRule [!]pattern", "CacheEnable"]
        {
            assert!(page.contains(name), "{name}");
        }
        for directive in crate::modules::all_modules().flat_map(|module| module.directives) {
            assert!(!directive.doc.is_empty(), "{}", directive.name);
            let section = matches!(directive.action, crate::Action::Section(_));
            assert!(!section || directive.form.starts_with('<'), "{}", directive.name);
        }
    }
}
