//! E1: average time and rate of each case, and what Registry costs over a handler.

use crate::report::figures::{self, Figures, Metric};
use crate::report::number::{self, percent};
use crate::report::published;
use crate::report::results;
use crate::report::table::{Entry, Table, bad, faint, plain};
use crate::run::Run;

pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let mut table = Table::new("Average time and rate", "");
    for server in figures::servers(run, cells) {
        table.column(figures::title(run, server), "avtime ms");
        table.column(figures::title(run, server), "rps");
    }
    published::columns(run, &mut table);
    results::rows(run, cells, &mut table, |cell, entries| {
        entries.push(results::median(cell, Metric::Mean));
        entries.push(results::median(cell, Metric::Rate));
    });
    std::iter::once(table).chain(gap(run, cells)).collect()
}

/// States Registry's cost in a sentence that follows another: its rates as parts of the handlers' at each server.
pub(in crate::report) fn sentence(run: &Run, cells: &[Figures<'_>]) -> String {
    let pairs = pairs(run);
    let mut parts = Vec::new();
    for server in figures::servers(run, cells) {
        let rate = |case| results::cell(cells, case, server)?.median(Metric::Rate);
        let of_handler = |(registry, handler): &(usize, usize)| Some(rate(*registry)? / rate(*handler)?);
        let found: Vec<f64> = pairs.iter().filter_map(of_handler).collect();
        let least = found.iter().copied().reduce(f64::min);
        let most = found.iter().copied().reduce(f64::max);
        if let Some((least, most)) = least.zip(most) {
            let (least, most) = (percent(least), percent(most));
            let span =
                if least == most { most } else { format!("{} to {most}", least.trim_end_matches(" %")) };
            parts.push((span, figures::title(run, server)));
        }
    }
    let Some(((span, server), others)) = parts.split_first() else { return String::new() };
    let others = others.iter().map(|(span, server)| format!(", {span} on {server}"));
    format!(" Registry's rate is {span} of the handler's on {server}{}.", others.collect::<String>())
}

/// Registry's rate as a part of the handler's, and the time that it adds to each request.
fn gap(run: &Run, cells: &[Figures<'_>]) -> Option<Table> {
    let pairs = pairs(run);
    if pairs.is_empty() {
        return None;
    }
    let mut table = Table::new("Registry against handler: part of its rate, and time that it adds", "");
    for server in figures::servers(run, cells) {
        table.column(figures::title(run, server), "of rps");
        table.column(figures::title(run, server), "adds ms");
    }
    let columns = published_columns(run);
    for column in &columns {
        table.column(&published::group(column), "of rps");
    }
    for (registry, handler) in pairs {
        let title = run.scenario.cases[registry].title.replace("registry", "").replace("Registry", "");
        let mut entries = vec![plain(title.trim())];
        for server in figures::servers(run, cells) {
            let of = |case| results::cell(cells, case, server);
            entries.extend(gap_entries(of(registry), of(handler)));
        }
        for column in &columns {
            let of = |case: usize| published_rate(run, &run.scenario.cases[case].name, column);
            let part = of(registry).zip(of(handler)).map(|(registry, handler)| percent(registry / handler));
            entries.push(faint(part.unwrap_or_default()));
        }
        table.row(entries);
    }
    Some(table)
}

/// A server's two entries.
fn gap_entries(registry: Option<&Figures<'_>>, handler: Option<&Figures<'_>>) -> [Entry; 2] {
    let (Some(registry), Some(handler)) = (registry, handler) else {
        return [faint(number::NONE), faint(number::NONE)];
    };
    let both = |metric| registry.median(metric).zip(handler.median(metric));
    match (both(Metric::Rate), both(Metric::Mean)) {
        (Some(rate), Some(mean)) => {
            [plain(percent(rate.0 / rate.1)), plain(number::milliseconds(mean.0 - mean.1))]
        }
        _ => [bad("no answer"), bad("no answer")],
    }
}

/// Cases that differ in `registry` and `handler` only: numbers of both.
fn pairs(run: &Run) -> Vec<(usize, usize)> {
    let cases = &run.scenario.cases;
    let handler_of = |name: &str| {
        let other = name.replace("registry", "handler");
        cases.iter().position(|case| other != name && case.name == other)
    };
    cases.iter().enumerate().filter_map(|(index, case)| Some((index, handler_of(&case.name)?))).collect()
}

/// Published columns that have rates.
fn published_columns(run: &Run) -> Vec<&str> {
    let mut columns: Vec<&str> = Vec::new();
    for figure in run.scenario.published.iter().filter(|figure| is_rate(&figure.unit)) {
        if !columns.contains(&figure.column.as_str()) {
            columns.push(&figure.column);
        }
    }
    columns
}

fn published_rate(run: &Run, row: &str, column: &str) -> Option<f64> {
    let figures = run.scenario.published.iter();
    let mut rates = figures.filter(|figure| figure.column == column && is_rate(&figure.unit));
    rates.find(|figure| figure.row == row).map(|figure| figure.value).filter(|value| *value > 0.0)
}

fn is_rate(unit: &str) -> bool {
    matches!(unit, "rps" | "requests/s" | "1/s")
}
