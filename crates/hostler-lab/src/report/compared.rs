//! Ratios with their 95 % intervals: server against server, technique against technique.

use super::figures::{self, Figures, Metric};
use super::number::{self, times};
use super::table::{Entry, Table, bad, faint, good, plain};
use super::verdict;
use crate::method::statistics::Ratio;
use crate::run::Run;

/// The tables of ratios; none where there is nothing to compare.
pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let metric = Metric::of_run(run);
    let mut tables = vec![servers(run, cells, metric)];
    if figures::are_peers(run) {
        tables.push(techniques(run, cells, metric));
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Pairs of servers in each case.
fn servers(run: &Run, cells: &[Figures<'_>], metric: Metric) -> Table {
    let mut table = Table::new(format!("Ratios, by {}", metric.title()), "");
    table.words("compared");
    ratio_columns(&mut table);
    for (one, other) in figures::pairs(cells) {
        let mut row = vec![plain(&one.case.title), plain(format!("{} : {}", one.server, other.server))];
        row.extend(entries(verdict::better(one, other, metric), metric));
        table.row(row);
    }
    table.notes.push(note(run));
    table
}

/// Every cell against the best one.
fn techniques(run: &Run, cells: &[Figures<'_>], metric: Metric) -> Table {
    let mut table = Table::new(format!("All against the best, by {}", metric.title()), "");
    table.column("", "median");
    ratio_columns(&mut table);
    let ranked = verdict::ranked(cells, metric);
    let Some(best) = ranked.first() else { return table };
    if ranked.len() < 2 {
        return table;
    }
    for cell in &ranked {
        let value = cell.median(metric).map_or_else(|| number::NONE.into(), |value| metric.text(value));
        let mut row = vec![plain(cell.name(run)), plain(value)];
        if std::ptr::eq(cell.cell, best.cell) {
            row.extend([faint("1"), faint(""), good("best")]);
        } else {
            row.extend(entries(verdict::better(cell, best, metric), metric));
        }
        table.row(row);
    }
    table
}

fn ratio_columns(table: &mut Table) {
    table.column("", "ratio");
    table.column("", "95 % interval");
    table.words("");
}

/// Ratio, interval and what they say.
fn entries(ratio: Option<Ratio>, metric: Metric) -> [Entry; 3] {
    let Some(ratio) = ratio else {
        return [faint(number::NONE), faint(number::NONE), faint("no pair of rounds")];
    };
    let interval = match ratio.interval {
        Some((low, high)) => plain(format!("{}–{}", short(low), short(high))),
        None => faint("one round"),
    };
    let (more, less) = verdict::adjective(metric);
    let says = match ratio {
        _ if ratio.within_noise() => faint("within noise"),
        _ if ratio.value > 1.0 => good(more),
        _ => bad(less),
    };
    [plain(times(ratio.value)), interval, says]
}

fn short(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { number::figure(value) }
}

fn note(run: &Run) -> String {
    let rounds = run.cells.iter().map(|cell| cell.samples.len()).max().unwrap_or_default();
    format!(
        "Over 1: the first of the two is better. Rounds are compared in pairs ({rounds} taken); a ratio whose interval \
         contains 1 could have been made by noise."
    )
}
