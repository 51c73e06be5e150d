//! The scenarios that the binary carries, and how one is found: by its name, or as a user's file.

use super::{Scenario, parse};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

const FILES: &[(&str, &str)] = &[
    ("registry", include_str!("../../../../lab/scenarios/registry.toml")),
    ("include", include_str!("../../../../lab/scenarios/include.toml")),
    ("isolation", include_str!("../../../../lab/scenarios/isolation.toml")),
    ("bench1", include_str!("../../../../lab/scenarios/bench1.toml")),
    ("bench2", include_str!("../../../../lab/scenarios/bench2.toml")),
    ("bench3", include_str!("../../../../lab/scenarios/bench3.toml")),
    ("bench4", include_str!("../../../../lab/scenarios/bench4.toml")),
];

/// Names of the scenarios that the binary carries, in the order of the published experiments.
#[must_use]
pub fn all() -> Vec<&'static str> {
    FILES.iter().map(|(name, _)| *name).collect()
}

/// A scenario by its name, or from a user's file (what contains a `/` or ends in `.toml`).
///
/// # Errors
/// No such scenario: with those that exist; a file that cannot be read; what is wrong in it, with line and key.
pub fn load(name: &str) -> Result<Scenario> {
    if let Some((_, text)) = FILES.iter().find(|(known, _)| *known == name) {
        return parse(text, &format!("lab/scenarios/{name}.toml"));
    }
    let is_file = name.contains('/') || Path::new(name).extension().is_some_and(|end| end == "toml");
    if !is_file {
        bail!(
            "unknown scenario {name:?} (expected one of {}, or a file: a path with a /, or NAME.toml)",
            all().join(", ")
        );
    }
    let text = fs::read_to_string(name).with_context(|| format!("cannot read the scenario {name}"))?;
    parse(&text, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_of_ours_is_right_and_its_published_figures_name_its_cases() {
        for name in all() {
            let scenario = load(name).unwrap();
            assert_eq!(scenario.name, name);
            assert!(scenario.cases.iter().all(|case| case.saturation.is_some()), "{name}");
            assert!(!scenario.source.is_empty() && !scenario.question.contains("  "), "{name}");
        }
    }

    #[test]
    fn published_parameters_are_the_defaults() {
        let registry = load("registry").unwrap();
        let light = &registry.cases[0];
        assert_eq!(
            light.plan.phases,
            [crate::load::Phase::Closed {
                clients: 15,
                to_clients: None,
                join: None,
                seconds: None,
                requests: Some(5000),
                think: crate::load::Think::None
            }]
        );
        assert!(registry.configuration.contains("MaxRequestsPerChild 10000"));
        let rate = registry.published.iter().find(|one| one.row == light.name && one.unit == "requests/s");
        assert!((rate.unwrap().value - 911.0).abs() < f64::EPSILON);
        assert_eq!(load("bench2").unwrap().cases[0].plan.phases.len(), 20);
        assert_eq!(load("isolation").unwrap().cases[0].hosts, ["a.test", "b.test"]);
    }

    #[test]
    fn an_unknown_scenario_lists_what_exists() {
        let why = load("regestry").unwrap_err().to_string();
        assert!(why.contains("registry, include, isolation, bench1"), "{why}");
        assert!(load("./no-such-file").unwrap_err().to_string().contains("./no-such-file"));
    }
}
