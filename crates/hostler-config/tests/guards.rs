//! docs/guards.md says of each directive that may restrict something whether it does; none is left out there.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_config::modules::all_modules;
use hostler_config::{Action, Config, Effect, read_text};
use std::fs;

/// Returns the names between backquotes in the first column of its tables.
fn listed(document: &str) -> Vec<&str> {
    let rows = document.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn whatever_is_not_harmless_is_listed() {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guards.md");
    let document = fs::read_to_string(path).unwrap();
    let listed = listed(&document);
    let mut missing = Vec::new();
    for module in all_modules() {
        for directive in module.directives {
            let is_real = matches!(directive.action, Action::Set(_) | Action::Section(_) | Action::Read);
            let is_harmless = matches!(directive.effect.unwrap_or(module.effect), Effect::Harmless);
            if is_real && !is_harmless && !listed.contains(&directive.name) {
                missing.push(directive.name);
            }
        }
    }
    assert!(missing.is_empty(), "docs/guards.md does not tell of {missing:?}");
}

#[test]
fn what_does_nothing_says_so() {
    assert_eq!(hostler_techniques::install(), Ok(()));
    for line in ["ServerPath /x", "SSLOpenSSLConfCmd DHParameters x"] {
        let config = Config::build(&read_text(line, "/nowhere").unwrap()).unwrap();
        assert_eq!(config.warnings.len(), 1, "{line}");
    }
    let refused = "SSLSRPVerifierFile x";
    assert!(Config::build(&read_text(refused, "/nowhere").unwrap()).is_err());
}
