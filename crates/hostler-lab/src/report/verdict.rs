//! The answer in a sentence: who is best beyond noise, and by how much; or that nobody is.

use super::figures::{self, Figures, Metric};
use super::number::times;
use crate::method::statistics::{self, Ratio};
use crate::run::Run;
use crate::scenario::Shape;

/// How many times better one is than the other: over 1 is better, whether more or less of the metric is.
pub(super) fn better(one: &Figures<'_>, other: &Figures<'_>, metric: Metric) -> Option<Ratio> {
    let (one, other) = (one.rounds(metric), other.rounds(metric));
    if metric.more_is_better() { statistics::ratio(&one, &other) } else { statistics::ratio(&other, &one) }
}

/// The cells with figures, the best first.
pub(super) fn ranked<'r>(cells: &[Figures<'r>], metric: Metric) -> Vec<Figures<'r>> {
    let mut ranked: Vec<(f64, Figures<'r>)> =
        cells.iter().filter_map(|cell| Some((cell.median(metric)?, *cell))).collect();
    ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
    if metric.more_is_better() {
        ranked.reverse();
    }
    ranked.into_iter().map(|(_, cell)| cell).collect()
}

/// The best, if it is beyond noise better than each of the others, and there is another.
pub(super) fn winner<'r>(cells: &[Figures<'r>], metric: Metric) -> Option<Figures<'r>> {
    let ranked = ranked(cells, metric);
    let (best, others) = ranked.split_first()?;
    let beyond =
        |other| better(best, other, metric).is_some_and(|ratio| ratio.value > 1.0 && !ratio.within_noise());
    (!others.is_empty() && others.iter().all(beyond)).then_some(*best)
}

/// What a better one is called.
pub(super) fn adjective(metric: Metric) -> (&'static str, &'static str) {
    match metric {
        Metric::Clients => ("more", "fewer"),
        Metric::Deviation => ("steadier", "less steady"),
        _ => ("faster", "slower"),
    }
}

/// The answer to the scenario's question.
pub(super) fn sentence(run: &Run, cells: &[Figures<'_>]) -> String {
    if cells.iter().all(|cell| cell.answers() == 0) {
        return "Nothing was answered: there is nothing to compare.".into();
    }
    let metric = Metric::of_shape(run.scenario.report);
    let mut sentence =
        if figures::are_peers(run) { of_peers(run, cells, metric) } else { of_servers(run, cells, metric) };
    if run.scenario.report == Shape::Robustness {
        sentence = format!("{} {sentence}", errors(cells));
    }
    sentence
}

/// Over cells that all do the same work.
fn of_peers(run: &Run, cells: &[Figures<'_>], metric: Metric) -> String {
    let ranked = ranked(cells, metric);
    let (Some(best), Some(last)) = (ranked.first(), ranked.last()) else {
        return "Nothing was answered: there is nothing to compare.".into();
    };
    let name = best.name(run);
    let value = metric.text(best.median(metric).unwrap_or_default());
    let Some(next) = ranked.get(1) else {
        return format!("Only {name} answered ({} {value}): nothing to compare it with.", metric.title());
    };
    let ahead = if winner(cells, metric).is_some() {
        let by = better(best, next, metric).map_or_else(String::new, |ratio| times(ratio.value));
        format!("{by} {}", against(metric, &next.name(run)))
    } else {
        format!("within noise of {}", next.name(run))
    };
    let behind = match better(best, last, metric) {
        Some(ratio) if ranked.len() > 2 => format!("; {} is last, by {}", last.name(run), times(ratio.value)),
        _ => String::new(),
    };
    format!("Best is {name} with {} {value}: {ahead}{behind}.", with_article(metric))
}

fn with_article(metric: Metric) -> String {
    match metric {
        Metric::Clients | Metric::Rate => metric.title().into(),
        _ => format!("a {}", metric.title()),
    }
}

fn against(metric: Metric, next: &str) -> String {
    match metric {
        Metric::Clients => format!("as many as {next}"),
        Metric::Deviation => format!("steadier than {next}"),
        _ => format!("as fast as {next}"),
    }
}

/// Over the servers of each case.
fn of_servers(run: &Run, cells: &[Figures<'_>], metric: Metric) -> String {
    let cases: Vec<Vec<Figures<'_>>> = (0..run.scenario.cases.len())
        .map(|case| {
            cells.iter().filter(|cell| cell.case_number == case && cell.answers() > 0).copied().collect()
        })
        .filter(|of_case: &Vec<_>| of_case.len() > 1)
        .collect();
    if cases.is_empty() {
        return "Only one server answered: there is nothing to compare it with.".into();
    }
    let mut winners: Vec<(usize, &str, Vec<f64>)> = Vec::new();
    for of_case in &cases {
        let Some(best) = winner(of_case, metric) else { continue };
        let ahead = ranked(of_case, metric).get(1).and_then(|next| better(&best, next, metric));
        let ahead = ahead.map_or(1.0, |ratio| ratio.value);
        match winners.iter_mut().find(|(number, ..)| *number == best.server_number) {
            Some((_, _, by)) => by.push(ahead),
            None => winners.push((best.server_number, best.server, vec![ahead])),
        }
    }
    winners.sort_by_key(|(_, _, by)| std::cmp::Reverse(by.len()));
    let won: usize = winners.iter().map(|(_, _, by)| by.len()).sum();
    let mut parts: Vec<String> = winners
        .iter()
        .map(|(_, server, by)| {
            format!("{server} is fastest in {} ({} the next)", of(by.len(), cases.len()), span(by))
        })
        .collect();
    match (won, cases.len() - won) {
        (_, 0) => {}
        (0, _) => parts.push("No server is faster than the others beyond noise".into()),
        (_, noisy) => parts.push(format!("{} within noise", of(noisy, cases.len()))),
    }
    format!("{}.", parts.join("; "))
}

fn of(count: usize, all: usize) -> String {
    match (count, all) {
        (1, 1) => "the one case".into(),
        _ if count == all => format!("all {all} cases"),
        _ => format!("{count} of {all} cases"),
    }
}

/// From the least to the largest: `1.4 to 2.1 ×`.
fn span(by: &[f64]) -> String {
    let least = by.iter().copied().fold(f64::INFINITY, f64::min);
    let most = by.iter().copied().fold(0.0, f64::max);
    if most - least < 0.005 { times(most) } else { format!("{least:.2} to {}", times(most)) }
}

/// BENCH3's own question: who failed.
fn errors(cells: &[Figures<'_>]) -> String {
    let asked: u64 = cells.iter().map(|cell| cell.answers() + cell.failures()).sum();
    let failed = cells.iter().filter(|cell| cell.failures() > 0).count();
    match failed {
        0 => format!("No request of {} failed.", super::number::count(asked)),
        _ => format!("{failed} of {} had failed requests.", cells.len()),
    }
}
