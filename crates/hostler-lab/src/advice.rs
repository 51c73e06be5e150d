//! Conclusions from a run, with the figures they rest on. Differences that noise could have made are not mentioned.

use crate::compare::speed;
use crate::method::statistics::{self, Ratio, Rounds};
use crate::run::{Advice, Cell, Run};
use crate::scenario::{Case, Shape};

/// A part by which memory has to differ to be worth a word.
const MEMORY: f64 = 1.1;

/// Returns the conclusions from a run.
#[must_use]
pub fn of(run: &Run) -> Vec<Advice> {
    let mut advice = Vec::new();
    advice.extend(fastest(run));
    advice.extend(techniques(run));
    advice.extend(memory(run));
    advice
}

fn title(run: &Run, server: &str) -> String {
    run.servers
        .iter()
        .find(|one| one.name == server)
        .map_or_else(|| server.to_owned(), |one| one.title.clone())
}

fn speeds(run: &Run, cell: &Cell) -> Rounds {
    cell.samples.iter().filter_map(|sample| Some((sample.round, speed(run, sample)?))).collect()
}

fn median(rounds: &[(u32, f64)]) -> Option<f64> {
    statistics::median(&rounds.iter().map(|(_, value)| *value).collect::<Vec<_>>())
}

/// `1.52 times (1.48 to 1.57)`.
fn words(ratio: Ratio) -> String {
    let (low, high) = ratio.interval.unwrap_or((ratio.value, ratio.value));
    format!("{:.2} times as fast ({low:.2} to {high:.2})", ratio.value)
}

/// A case's cells that answered, the fastest first.
fn ranked<'r>(run: &'r Run, case: &Case) -> Vec<(&'r Cell, Rounds)> {
    let cells = run.cells.iter().filter(|cell| cell.case == case.name);
    let mut ranked: Vec<(&Cell, Rounds)> =
        cells.map(|cell| (cell, speeds(run, cell))).filter(|(_, rounds)| !rounds.is_empty()).collect();
    ranked.sort_by(|a, b| median(&b.1).unwrap_or(0.0).total_cmp(&median(&a.1).unwrap_or(0.0)));
    ranked
}

/// Names the fastest contestant of each case where it is ahead beyond noise.
fn fastest(run: &Run) -> Vec<Advice> {
    let mut advice: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
    for case in &run.scenario.cases {
        let ranked = ranked(run, case);
        let Some(((first, rounds), others)) = ranked.split_first() else { continue };
        let compared =
            others.iter().filter_map(|(cell, other)| Some((*cell, statistics::ratio(rounds, other)?)));
        let compared: Vec<(&Cell, Ratio)> = compared.collect();
        // Who is second has to be slower beyond noise.
        if compared.first().is_none_or(|(_, ratio)| ratio.within_noise()) {
            continue;
        }
        let beside =
            compared.iter().map(|(cell, ratio)| format!("{} as {}", words(*ratio), title(run, &cell.server)));
        let evidence = format!("{}: {}", case.title, beside.collect::<Vec<_>>().join(", "));
        let winner = title(run, &first.server);
        match advice.iter_mut().find(|(name, ..)| *name == winner) {
            Some((_, cases, all)) => {
                cases.push(case.title.clone());
                all.push(evidence);
            }
            None => advice.push((winner, vec![case.title.clone()], vec![evidence])),
        }
    }
    let said = |(winner, cases, evidence): (String, Vec<String>, Vec<String>)| Advice {
        says: format!("{winner} is the fastest at {}.", cases.join(", ")),
        evidence,
    };
    advice.into_iter().map(said).collect()
}

/// Names the fastest technique of each contestant among cases that do the same work.
fn techniques(run: &Run) -> Vec<Advice> {
    let group = |case: &Case| match run.scenario.report {
        // `light-handler` and `light-registry`.
        Shape::Registry => case.name.split('-').next().map(str::to_owned),
        Shape::Load | Shape::Latency | Shape::Robustness | Shape::Resilience => Some(String::new()),
        Shape::Include | Shape::Isolation | Shape::Comparison => None,
    };
    let mut groups: Vec<String> = run.scenario.cases.iter().filter_map(group).collect();
    groups.dedup();
    let of_group = |name: &str, server: &str| {
        let cases = run.scenario.cases.iter().filter(|case| group(case).as_deref() == Some(name));
        let cells = cases.filter_map(|case| {
            let of_case = |cell: &&Cell| cell.case == case.name && cell.server == server;
            let rounds = speeds(run, run.cells.iter().find(of_case)?);
            (!rounds.is_empty()).then_some((case, rounds))
        });
        best_technique(run, server, cells.collect())
    };
    let servers = &run.scenario.contestants;
    groups.iter().flat_map(|name| servers.iter().filter_map(move |server| of_group(name, server))).collect()
}

/// The fastest of some cases at a contestant. Cases are measured one after the other, not in turns, so rounds are no
/// pairs.
fn best_technique(run: &Run, server: &str, mut cells: Vec<(&Case, Rounds)>) -> Option<Advice> {
    cells.sort_by(|a, b| median(&b.1).unwrap_or(0.0).total_cmp(&median(&a.1).unwrap_or(0.0)));
    let ((first, rounds), others) = cells.split_first()?;
    let values = |rounds: &Rounds| rounds.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    let compared: Vec<(&Case, Ratio)> = others
        .iter()
        .filter_map(|(case, other)| Some((*case, statistics::change(&values(other), &values(rounds))?)))
        .collect();
    if compared.first()?.1.within_noise() {
        return None;
    }
    let evidence = compared.iter().map(|(case, ratio)| format!("{} as {}", words(*ratio), case.title));
    Some(Advice {
        says: format!("At {}, {} is the fastest technique.", title(run, server), first.title),
        evidence: evidence.collect(),
    })
}

/// Compares the memory that the contestants hold.
fn memory(run: &Run) -> Option<Advice> {
    let mut evidence = Vec::new();
    let mut least = Vec::new();
    for case in &run.scenario.cases {
        let held = |cell: &Cell| {
            #[expect(clippy::cast_precision_loss, reason = "bytes of memory are far below 2^52")]
            let bytes = cell.samples.iter().filter_map(|sample| sample.cost.memory.map(|bytes| bytes as f64));
            Some((title(run, &cell.server), statistics::median(&bytes.collect::<Vec<f64>>())?))
        };
        let mut cells: Vec<(String, f64)> =
            run.cells.iter().filter(|cell| cell.case == case.name).filter_map(held).collect();
        cells.sort_by(|a, b| a.1.total_cmp(&b.1));
        if cells.len() < 2 {
            continue;
        }
        let words = cells.iter().map(|(name, bytes)| format!("{name} {:.1} MB", bytes / 1e6));
        evidence.push(format!("{}: {}", case.title, words.collect::<Vec<_>>().join(", ")));
        if cells[1].1 > cells[0].1 * MEMORY && !least.contains(&cells[0].0) {
            least.push(cells[0].0.clone());
        }
    }
    let says = match &least[..] {
        [] => return None,
        [one] => format!("{one} holds the least memory (PSS of all its processes)."),
        [others @ .., last] => {
            format!("{} and {last} hold the least memory (PSS), each at some.", others.join(", "))
        }
    };
    Some(Advice { says, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    const STEADY: [f64; 8] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.0];

    fn times(factor: f64) -> Vec<f64> {
        STEADY.iter().map(|rate| rate * factor).collect()
    }

    #[test]
    fn the_fastest_contestant_and_technique_with_their_figures() {
        let run = run(&[
            ("light-handler", "hostler", &times(3.0)),
            ("light-handler", "apache-prefork", &times(2.0)),
            ("light-registry", "hostler", &times(2.0)),
            ("light-registry", "apache-prefork", &times(1.99)),
        ]);
        let advice = of(&run);
        let says: Vec<&str> = advice.iter().map(|one| one.says.as_str()).collect();
        assert_eq!(
            says,
            [
                "hostler is the fastest at light-handler.",
                "At hostler, light-handler is the fastest technique.",
            ]
        );
        assert_eq!(
            advice[0].evidence,
            ["light-handler: 1.50 times as fast (1.50 to 1.50) as apache-prefork"]
        );
        assert!(advice[1].evidence[0].starts_with("1.50 times as fast ("), "{advice:?}");
    }

    #[test]
    fn noise_one_round_and_failures_make_no_advice() {
        assert_eq!(of(&run(&[("a", "hostler", &STEADY), ("a", "nginx", &times(1.01))])), []);
        assert_eq!(of(&run(&[("a", "hostler", &[9.0]), ("a", "nginx", &[1.0])])), []);
        assert_eq!(of(&run(&[("a", "hostler", &[0.0; 8]), ("a", "nginx", &[0.0; 8])])), []);
        assert_eq!(of(&run(&[])), []);
    }

    #[test]
    fn who_holds_least() {
        let mut run = run(&[("a", "hostler", &STEADY), ("a", "nginx", &STEADY)]);
        for sample in &mut run.cells[1].samples {
            sample.cost.memory = Some(20 << 20);
        }
        let advice = of(&run);
        assert_eq!(advice[0].says, "nginx holds the least memory (PSS of all its processes).");
        assert_eq!(advice[0].evidence, ["a: nginx 21.0 MB, hostler 52.4 MB"]);
    }
}
