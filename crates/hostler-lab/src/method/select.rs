//! The part of a scenario that is to be run, and how: options that name what does not exist are refused before
//! anything starts.

use super::Options;
use crate::scenario::{Case, Scenario};
use anyhow::{Result, anyhow, bail};
use std::collections::BTreeSet;

/// The scenario as it is to be run.
///
/// # Errors
/// A case, contestant or technique that it does not have: with those that it has; options out of range; nothing left.
pub fn select(scenario: &Scenario, options: &Options) -> Result<Scenario> {
    ranges(options)?;
    let mut scenario = scenario.clone();
    known("case", &options.only, scenario.cases.iter().map(|case| case.name.as_str()))?;
    known("technique", &options.techniques, scenario.cases.iter().map(|case| case.technique.as_str()))?;
    known("contestant", &options.contestants, scenario.contestants.iter().map(String::as_str))?;
    scenario.contestants.retain(|name| wanted(&options.contestants, name));
    for case in &mut scenario.cases {
        if let Some(own) = &mut case.contestants {
            own.retain(|name| wanted(&options.contestants, name));
        }
    }
    scenario.cases.retain(|case| {
        wanted(&options.only, &case.name)
            && wanted(&options.techniques, &case.technique)
            && case.contestants.as_ref().is_none_or(|own| !own.is_empty())
    });
    let rows: BTreeSet<&str> = scenario.cases.iter().map(|case| case.name.as_str()).collect();
    scenario.published.retain(|one| rows.contains(one.row.as_str()));
    let scenario = changed(scenario, options);
    if scenario.cases.is_empty() {
        bail!(
            "nothing is left to measure: no case fits all of --only, --technique, --contestants and --saturation"
        );
    }
    for case in &scenario.cases {
        // A scale may have made too much of it.
        case.plan.check().map_err(|why| anyhow!("case {}: {why}", case.name))?;
    }
    Ok(scenario)
}

/// Returns the contestants of a case in the scenario's order.
pub(super) fn contestants<'s>(scenario: &'s Scenario, case: &'s Case) -> Vec<&'s str> {
    let takes_part = |name: &&String| case.contestants.as_ref().is_none_or(|own| own.contains(name));
    scenario.contestants.iter().filter(takes_part).map(String::as_str).collect()
}

/// Its plans as the options have them.
fn changed(mut scenario: Scenario, options: &Options) -> Scenario {
    if options.saturation {
        scenario = scenario.saturating();
    }
    if options.quick {
        scenario = scenario.quick();
    }
    if let Some(scale) = options.scale {
        scenario = scenario.loaded(scale);
    }
    if let Some(longest) = options.think {
        scenario = scenario.thinking(longest);
    }
    if let Some(keep_alive) = options.keep_alive {
        scenario = scenario.keeping_alive(keep_alive);
    }
    if let Some(seed) = options.seed {
        scenario = scenario.seeded(seed);
    }
    Scenario { rounds: options.rounds.unwrap_or(scenario.rounds), ..scenario }
}

fn ranges(options: &Options) -> Result<()> {
    let positive = |what: &str, value: Option<f64>| match value {
        Some(value) if !(value.is_finite() && value > 0.0) => {
            bail!("{what} {value}: a number over 0 is expected")
        }
        _ => Ok(()),
    };
    positive("--scale", options.scale)?;
    positive("--think", options.think)?;
    positive("--cpu", options.cpu)?;
    if options.rounds == Some(0) {
        bail!("--rounds 0: at least one");
    }
    Ok(())
}

fn wanted(list: &[String], name: &str) -> bool {
    list.is_empty() || list.iter().any(|one| one == name)
}

/// Refuses names that are not among those that exist.
fn known<'a>(what: &str, named: &[String], exist: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut all: Vec<&str> = Vec::new();
    for name in exist {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    match named.iter().find(|name| !all.contains(&name.as_str())) {
        Some(stranger) => bail!("unknown {what} {stranger:?} (expected one of {})", all.join(", ")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::load;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        let registry = load("registry").unwrap();
        let refused = |options: Options| select(&registry, &options).unwrap_err().to_string();
        let why = refused(Options { contestants: words(&["iis"]), ..Options::default() });
        assert_eq!(why, "unknown contestant \"iis\" (expected one of hostler, apache-prefork)");
        let why = refused(Options { techniques: words(&["psgi"]), ..Options::default() });
        assert_eq!(why, "unknown technique \"psgi\" (expected one of handler, registry)");
        assert!(refused(Options { only: words(&["light"]), ..Options::default() }).contains("light-handler"));
        assert!(refused(Options { scale: Some(0.0), ..Options::default() }).contains("--scale 0"));
        assert!(refused(Options { scale: Some(1e6), ..Options::default() }).contains("light-handler: "));
        assert!(refused(Options { cpu: Some(f64::NAN), ..Options::default() }).contains("--cpu"));
        assert!(refused(Options { rounds: Some(0), ..Options::default() }).contains("--rounds"));
    }

    #[test]
    fn a_part_of_a_scenario() {
        let bench = load("bench1").unwrap();
        let options = Options { contestants: words(&["starman"]), ..Options::default() };
        let part = select(&bench, &options).unwrap();
        assert_eq!(part.contestants, ["starman"]);
        assert_eq!(part.cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(), ["psgi"]);
        assert!(part.published.is_empty());
        let nothing = Options { only: words(&["cgi-c"]), ..options };
        assert!(select(&bench, &nothing).unwrap_err().to_string().contains("nothing is left"));
    }

    #[test]
    fn options_win_over_quick() {
        let options = Options { quick: true, rounds: Some(3), ..Options::default() };
        assert_eq!(select(&load("registry").unwrap(), &options).unwrap().rounds, 3);
    }
}
