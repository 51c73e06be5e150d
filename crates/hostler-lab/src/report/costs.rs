//! Costs, failures, and the generator's own share.

use super::figures::{self, Figures, Metric};
use super::number::{self, count, percent};
use super::results;
use super::table::{Entry, Table, bad, faint, plain};
use crate::run::Run;

/// Response times of all rounds together.
pub(super) fn percentiles(run: &Run, cells: &[Figures<'_>]) -> Table {
    let mut table = Table::new("Response times, ms", "");
    table.column("", "mean");
    for title in ["p50", "p90", "p99", "p99.9", "longest"] {
        table.column("", title);
    }
    for cell in cells.iter().filter(|cell| cell.is_taken()) {
        let mut row = vec![plain(cell.name(run)), results::median(Some(cell), Metric::Mean)];
        row.extend(match cell.percentiles() {
            Some(found) => found.map(|seconds| plain(number::milliseconds(seconds))),
            None => std::array::from_fn(|_| bad(cell.without_figures())),
        });
        table.row(row);
    }
    table
}

/// Processor, memory, system calls, context switches.
pub(super) fn costs(run: &Run, cells: &[Figures<'_>]) -> Table {
    let mut table = Table::new("What it cost the server", "");
    for (group, title) in [
        ("per request", "CPU µs"),
        ("per request", "system calls"),
        ("per request", "switches"),
        ("all processes", "memory"),
        ("all processes", "count"),
        ("generator", "CPU"),
    ] {
        table.column(group, title);
    }
    for cell in cells.iter().filter(|cell| cell.is_taken()) {
        let processor = measured(cell, Metric::Processor, |seconds| number::figure(seconds * 1e6));
        table.row([
            plain(cell.name(run)),
            processor,
            measured(cell, Metric::SystemCalls, number::figure),
            measured(cell, Metric::ContextSwitches, number::figure),
            measured(cell, Metric::Memory, number::bytes),
            measured(cell, Metric::Processes, figures::whole),
            generator(cell),
        ]);
    }
    table.notes.push(
        "Memory: shared pages counted in parts (PSS), at the end of a round. Medians of the rounds.".into(),
    );
    if cells.iter().any(Figures::generator_bound) {
        table.notes.push(
            "† The generator used more than 90 % of its CPU time: the server may be able to do more.".into(),
        );
    }
    table
}

fn measured(cell: &Figures<'_>, metric: Metric, text: impl Fn(f64) -> String) -> Entry {
    match cell.median(metric) {
        Some(value) => plain(text(value)),
        None if cell.answers() == 0 => bad(cell.without_figures()),
        None => faint("not measured"),
    }
}

fn generator(cell: &Figures<'_>) -> Entry {
    match cell.generator_share() {
        Some(share) if cell.generator_bound() => bad(format!("{} †", percent(share))),
        Some(share) => plain(percent(share)),
        None => faint(number::NONE),
    }
}

/// Failures by kind; cells without any are left out.
pub(super) fn errors(run: &Run, cells: &[Figures<'_>]) -> Option<Table> {
    let mut table = Table::new("Failed requests by kind, all rounds together", "");
    for title in ["connect", "broken", "timeout", "4xx", "5xx", "wrong", "of requests"] {
        table.column("", title);
    }
    for cell in cells.iter().filter(|cell| cell.failures() > 0) {
        let sum =
            |of: fn(&crate::load::Errors) -> u64| cell.phases().map(|phase| of(&phase.errors)).sum::<u64>();
        let kinds = [
            sum(|errors| errors.connect),
            sum(|errors| errors.broken),
            sum(|errors| errors.timeout),
            sum(|errors| errors.status_4xx),
            sum(|errors| errors.status_5xx),
            sum(|errors| errors.wrong),
        ];
        let kinds = kinds.map(|kind| if kind == 0 { faint("0") } else { bad(count(kind)) });
        let asked = plain(count(cell.answers() + cell.failures()));
        table.row(std::iter::once(plain(cell.name(run))).chain(kinds).chain([asked]));
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Cells that could not be taken, or not to the end, and why; cases of one server that say the same stand together.
pub(super) fn failed(run: &Run, cells: &[Figures<'_>]) -> Option<Table> {
    let mut table = Table::new("What could not be measured", "");
    table.words("cases");
    table.column("", "rounds");
    table.words("why");
    let mut rows: Vec<(&Figures<'_>, &str, Vec<&str>)> = Vec::new();
    for cell in cells {
        let Some(why) = &cell.cell.failed else { continue };
        let taken = cell.cell.samples.len();
        let same = rows.iter_mut().find(|(first, says, _)| {
            first.server_number == cell.server_number && says == why && first.cell.samples.len() == taken
        });
        match same {
            Some((_, _, cases)) => cases.push(&cell.case.title),
            None => rows.push((cell, why, vec![&cell.case.title])),
        }
    }
    for (first, why, cases) in rows {
        let cases = if cases.len() == run.scenario.cases.len() { "all".into() } else { cases.join("; ") };
        let taken = first.cell.samples.len().to_string();
        table.row([plain(first.server), plain(cases), plain(taken), bad(why)]);
    }
    (!table.rows.is_empty()).then_some(table)
}
