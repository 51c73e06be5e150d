//! The answer where cases are compared server by server: how the one that the lab is about does against *every* other,
//! worse said as loudly as better; and who else leads.

use super::super::figures::{Figures, Metric};
use super::super::number::times;
use super::{adjective, better, is_beyond, leaders, list, ranked, winner};
use crate::run::Run;

/// Whom the sentence is about, if it takes part.
const SUBJECT: &str = "hostler";

/// Over the servers of each case.
pub(super) fn sentence(run: &Run, cells: &[Figures<'_>], metric: Metric) -> String {
    let cases: Vec<Vec<Figures<'_>>> = (0..run.scenario.cases.len())
        .map(|case| cells.iter().filter(|cell| cell.case_number == case).copied().collect())
        .filter(|of_case: &Vec<_>| of_case.len() > 1)
        .collect();
    match cases.as_slice() {
        [] => "Only one server answered: there is nothing to compare it with.".into(),
        [only] => of_one_case(only, metric),
        _ => {
            let subject = of_subject(&cases, metric);
            let parts: Vec<String> = subject.into_iter().chain(of_others(&cases, metric)).collect();
            format!("{}.", parts.join("; "))
        }
    }
}

/// Names the leader, alone or with others, and the one slower than all the rest.
fn of_one_case(cells: &[Figures<'_>], metric: Metric) -> String {
    let ranked = ranked(cells, metric);
    let leaders = leaders(cells, metric);
    let text = |cell: &Figures<'_>| metric.text(cell.median(metric).unwrap_or_default());
    let (Some(best), Some(last)) = (ranked.first(), ranked.last()) else {
        return "There is nothing to compare.".into();
    };
    let part =
        |cell: &Figures<'_>| better(cell, best, metric).map_or_else(String::new, |ratio| times(ratio.value));
    let slowest = if ranked.len() > leaders.len().max(2) {
        let others = &ranked[..ranked.len() - 1];
        let than_all = others.iter().all(|other| is_beyond(other, last, metric));
        let word = if than_all { format!("{} than all", adjective(metric).1) } else { "slowest".to_owned() };
        format!("; {word}: {} ({} of the first)", last.server, part(last))
    } else {
        String::new()
    };
    match leaders.as_slice() {
        [_] => {
            let next = ranked.get(1).map_or("", |next| next.server);
            let by =
                ranked.get(1).and_then(|next| better(best, next, metric)).map_or(1.0, |ratio| ratio.value);
            let (title, by) = (metric.title(), times(by));
            format!(
                "{} is fastest in the one case: {by} as many {title} as the next, {next}{slowest}.",
                best.server
            )
        }
        all if all.len() == ranked.len() => "No server is faster than the others beyond noise.".into(),
        all => {
            let names: Vec<String> =
                all.iter().map(|cell| format!("{} ({})", cell.server, text(cell))).collect();
            format!("Leading, within noise of each other, in {}: {}{slowest}.", metric.title(), list(&names))
        }
    }
}

/// The subject's standing in a case.
enum Standing {
    /// Better than every other: so many times the next.
    Ahead(f64),
    /// Worse than every other: from this part of theirs to that.
    Behind(f64, f64),
    /// Worse than these, with the part of theirs.
    Between(Vec<(String, f64)>),
    /// Neither worse nor better than any.
    Even,
}

fn standing(subject: &Figures<'_>, cells: &[Figures<'_>], metric: Metric) -> Option<Standing> {
    let others = || cells.iter().filter(|cell| cell.server_number != subject.server_number);
    let part = |other: &Figures<'_>| Some(better(subject, other, metric)?.value);
    let parts: Vec<f64> = others().filter_map(part).collect();
    let (least, most) = (parts.iter().copied().reduce(f64::min)?, parts.iter().copied().reduce(f64::max)?);
    let worse: Vec<_> = others().filter(|other| is_beyond(other, subject, metric)).collect();
    Some(if others().all(|other| is_beyond(subject, other, metric)) {
        Standing::Ahead(least)
    } else if worse.len() == parts.len() {
        Standing::Behind(least, most)
    } else if worse.is_empty() {
        Standing::Even
    } else {
        Standing::Between(
            worse.into_iter().filter_map(|other| Some((other.server.to_owned(), part(other)?))).collect(),
        )
    })
}

fn subject<'r>(cells: &[Figures<'r>]) -> Option<Figures<'r>> {
    cells.iter().find(|cell| cell.cell.server == SUBJECT).copied()
}

/// The subject against every other server.
fn of_subject(cases: &[Vec<Figures<'_>>], metric: Metric) -> Vec<String> {
    let Some(name) = cases.iter().find_map(|cells| subject(cells)).map(|cell| cell.server) else {
        return Vec::new();
    };
    let others = cases.iter().map(Vec::len).max().unwrap_or_default() - 1;
    let other =
        || cases.iter().flatten().find(|cell| cell.cell.server != SUBJECT).map_or("", |cell| cell.server);
    let every = if others == 1 { other().to_owned() } else { format!("all {others} others") };
    let (mut ahead, mut even) = (Vec::new(), 0);
    let (mut behind, mut between): (Vec<(f64, f64, &str)>, Vec<String>) = (Vec::new(), Vec::new());
    let mut silent = 0;
    for cells in cases {
        let Some(cell) = subject(cells) else {
            silent += 1;
            continue;
        };
        match standing(&cell, cells, metric) {
            Some(Standing::Ahead(by)) => ahead.push(by),
            Some(Standing::Behind(least, most)) => behind.push((least, most, cell.case.title.as_str())),
            Some(Standing::Between(worse)) => {
                let worse: Vec<String> =
                    worse.iter().map(|(server, part)| format!("{server} ({})", times(*part))).collect();
                between.push(format!("{} in {}", list(&worse), cell.case.title));
            }
            Some(Standing::Even) => even += 1,
            None => {}
        }
    }
    let ((better, worse), title) = (adjective(metric), metric.title());
    let mut says = Vec::new();
    if !ahead.is_empty() {
        let next = if others == 1 { "" } else { " as the next" };
        says.push(format!(
            "{better} than {every} in {}: {} as many {title}{next}",
            of(ahead.len(), cases.len()),
            span(&ahead)
        ));
    }
    if !behind.is_empty() {
        let of = of(behind.len(), cases.len());
        says.push(format!("{worse} than {every} in {of}: {}", lag(&behind, title)));
    }
    if !between.is_empty() {
        says.push(format!("{worse} than {}", between.join(", than ")));
    }
    if even > 0 {
        says.push(format!("within noise of the best in {}", of(even, cases.len())));
    }
    if silent > 0 {
        says.push(format!("without an answer in {}", of(silent, cases.len())));
    }
    if let Some(first) = says.first_mut() {
        *first = format!("{name} is {first}");
    }
    says
}

/// States how far behind, and in which cases: `0.41 to 0.55 × as many requests/s (static, ...)`.
fn lag(behind: &[(f64, f64, &str)], title: &str) -> String {
    let parts: Vec<f64> = behind.iter().flat_map(|(least, most, _)| [*least, *most]).collect();
    let names: Vec<String> = behind.iter().map(|(.., case)| (*case).to_owned()).collect();
    format!("{} as many {title} ({})", span(&parts), list(&names))
}

/// Names others that are ahead of all the rest.
fn of_others(cases: &[Vec<Figures<'_>>], metric: Metric) -> Vec<String> {
    let mut winners: Vec<(usize, &str, Vec<f64>)> = Vec::new();
    for of_case in cases {
        let Some(best) = winner(of_case, metric).filter(|best| best.cell.server != SUBJECT) else { continue };
        let ahead = ranked(of_case, metric).get(1).and_then(|next| better(&best, next, metric));
        let ahead = ahead.map_or(1.0, |ratio| ratio.value);
        match winners.iter_mut().find(|(number, ..)| *number == best.server_number) {
            Some((_, _, by)) => by.push(ahead),
            None => winners.push((best.server_number, best.server, vec![ahead])),
        }
    }
    // Of two, the other's lead is the subject's lag.
    let two =
        cases.iter().all(|cells| cells.len() == 2 && cells.iter().any(|cell| cell.cell.server == SUBJECT));
    winners.retain(|_| !two);
    winners.sort_by_key(|(_, _, by)| std::cmp::Reverse(by.len()));
    let mut says: Vec<String> = winners
        .iter()
        .map(|(_, server, by)| {
            let title = metric.title();
            format!(
                "{server} is fastest in {}: {} as many {title} as the next",
                of(by.len(), cases.len()),
                span(by)
            )
        })
        .collect();
    if says.is_empty() && !cases.iter().flatten().any(|cell| cell.cell.server == SUBJECT) {
        says.push("No server is faster than the others beyond noise".into());
    }
    says
}

fn of(count: usize, all: usize) -> String {
    match count {
        2 if all == 2 => "both cases".into(),
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
