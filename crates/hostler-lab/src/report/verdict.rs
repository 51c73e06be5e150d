//! The answer in a sentence: who is best beyond noise, and by how much; or that nobody is.

mod servers;

use super::figures::{self, Figures, Metric};
use super::number::{count, times};
use super::results;
use crate::method::statistics::{self, Ratio};
use crate::run::Run;
use crate::scenario::Shape;

/// Returns how many times better one is than the other: over 1 is better, whether the metric is to be high or low.
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
    (!others.is_empty() && others.iter().all(|other| is_beyond(best, other, metric))).then_some(*best)
}

/// The best, and those that are no worse beyond noise; the best first.
pub(super) fn leaders<'r>(cells: &[Figures<'r>], metric: Metric) -> Vec<Figures<'r>> {
    let mut ranked = ranked(cells, metric);
    if let Some(best) = ranked.first().copied() {
        ranked.retain(|cell| !is_beyond(&best, cell, metric));
    }
    ranked
}

/// Returns whether one is better than the other beyond noise.
fn is_beyond(one: &Figures<'_>, other: &Figures<'_>, metric: Metric) -> bool {
    better(one, other, metric).is_some_and(|ratio| ratio.value > 1.0 && !ratio.within_noise())
}

/// Names in a sentence.
fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// Returns the adjectives for a better and a worse one.
pub(super) fn adjective(metric: Metric) -> (&'static str, &'static str) {
    match metric {
        Metric::Clients => ("more", "fewer"),
        Metric::Deviation => ("steadier", "less steady"),
        _ => ("faster", "slower"),
    }
}

/// The answer to the scenario's question.
pub(super) fn sentence(run: &Run, cells: &[Figures<'_>]) -> String {
    let answered: Vec<Figures<'_>> = cells.iter().filter(|cell| cell.answers() > 0).copied().collect();
    if answered.is_empty() {
        return "Nothing was answered: there is nothing to compare.".into();
    }
    let metric = Metric::of_run(run);
    let says = match answered.as_slice() {
        [only] => format!("Only {} answered: there is nothing to compare it with.", named(run, only)),
        _ if figures::are_peers(run) => of_peers(run, &answered, metric),
        _ => servers::sentence(run, &answered, metric),
    };
    match run.scenario.report {
        Shape::Robustness => format!("{} {says}", errors(run, cells)),
        Shape::Registry => format!("{says}{}", results::registry::sentence(run, cells)),
        _ => says,
    }
}

/// A cell as a sentence calls it: `mod_perl handler on Hostler`.
fn named(run: &Run, cell: &Figures<'_>) -> String {
    if run.scenario.contestants.len() < 2 {
        cell.case.title.clone()
    } else {
        format!("{} on {}", cell.case.title, cell.server)
    }
}

/// Over cells that all do the same work.
fn of_peers(run: &Run, cells: &[Figures<'_>], metric: Metric) -> String {
    let ranked = ranked(cells, metric);
    let [best, next, .., last] = ranked.as_slice() else { return of_two(run, &ranked, metric) };
    if metric == Metric::Clients && unbroken(cells) > 1 {
        return of_unbroken(run, cells, last);
    }
    let (first, worst) = match metric {
        Metric::Clients => ("Serves the most", "fewest"),
        Metric::Deviation => ("Steadiest", "least steady"),
        _ => ("Fastest", "slowest"),
    };
    let text = |cell: &Figures<'_>| metric.text(cell.median(metric).unwrap_or_default());
    let leaders = leaders(&ranked, metric);
    // Where noise could have made all of it, there is no group to name.
    if leaders.len() > 1 && leaders.len() < ranked.len() {
        let names: Vec<String> =
            leaders.iter().map(|cell| format!("{} ({})", named(run, cell), text(cell))).collect();
        return format!(
            "{first}, within noise of each other: {}, in {}; {worst}: {} ({}).",
            list(&names),
            metric.title(),
            named(run, last),
            text(last)
        );
    }
    format!(
        "{first}: {} ({} {}), {}; {worst}: {} ({}).",
        named(run, best),
        metric.title(),
        text(best),
        ahead(run, cells, best, next, metric),
        named(run, last),
        text(last)
    )
}

/// Of two cells that answered.
fn of_two(run: &Run, ranked: &[Figures<'_>], metric: Metric) -> String {
    let [best, next] = ranked else { return "There is nothing to compare.".into() };
    let text = metric.text(best.median(metric).unwrap_or_default());
    format!(
        "Best: {} ({} {text}), {}.",
        named(run, best),
        metric.title(),
        ahead(run, ranked, best, next, metric)
    )
}

/// States how far the best is ahead of the next: beyond noise, or not.
fn ahead(run: &Run, cells: &[Figures<'_>], best: &Figures<'_>, next: &Figures<'_>, metric: Metric) -> String {
    let name = named(run, next);
    match better(best, next, metric) {
        Some(ratio) if winner(cells, metric).is_some() => {
            let by = times(ratio.value);
            match metric {
                Metric::Clients => format!("{by} as many as {name}"),
                Metric::Deviation => format!("{by} as steady as {name}"),
                _ => format!("{by} as fast as {name}"),
            }
        }
        _ => format!("within noise of {name}"),
    }
}

/// Cells whose rounds all ended because the plan did.
fn unbroken(cells: &[Figures<'_>]) -> usize {
    cells.iter().filter(|cell| cell.cell.samples.iter().all(|sample| sample.stopped.is_none())).count()
}

/// The sentence for several contestants that served all clients: the load was too small to distinguish them.
fn of_unbroken(run: &Run, cells: &[Figures<'_>], last: &Figures<'_>) -> String {
    let whole = unbroken(cells);
    if whole == cells.len() {
        return format!(
            "All {whole} served every client that came: this load is too small to tell them apart."
        );
    }
    let clients = Metric::Clients.text(last.median(Metric::Clients).unwrap_or_default());
    format!(
        "{whole} of {} served every client that came: this load is too small to tell them apart; fewest: {} ({clients}).",
        cells.len(),
        named(run, last)
    )
}

/// BENCH3's own question: who failed.
fn errors(run: &Run, cells: &[Figures<'_>]) -> String {
    let asked: u64 = cells.iter().map(|cell| cell.answers() + cell.failures()).sum();
    let failed: Vec<String> =
        cells.iter().filter(|cell| cell.failures() > 0).map(|cell| named(run, cell)).collect();
    match failed.len() {
        0 => format!("No request of {} failed.", count(asked)),
        1..=3 => format!("Requests failed at: {}.", failed.join(", ")),
        number => {
            format!("Requests failed at {number} of {}.", cells.iter().filter(|cell| cell.is_taken()).count())
        }
    }
}
