//! E3: siege's fields, of all rounds together.

use crate::report::figures::{self, Figures, Metric};
use crate::report::number::{self, count, figure, percent};
use crate::report::published;
use crate::report::results;
use crate::report::table::{Entry, Table, bad, faint, plain};
use crate::run::Run;

pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let mut tables = vec![summary(run, cells)];
    for (case_number, case) in run.scenario.cases.iter().enumerate() {
        let of_case: Vec<_> = figures::servers(run, cells)
            .into_iter()
            .map(|server| results::cell(cells, case_number, server))
            .collect();
        if of_case.iter().flatten().any(|cell| cell.is_taken()) {
            tables.push(fields(run, cells, &format!("siege's fields: {}", case.title), &of_case));
        }
    }
    tables
}

/// The published table: rate, availability and longest of each.
fn summary(run: &Run, cells: &[Figures<'_>]) -> Table {
    let mut table = Table::new("Transactions per second, availability, longest answer", "");
    for server in figures::servers(run, cells) {
        for title in ["rate/s", "avail.", "longest s"] {
            table.column(figures::title(run, server), title);
        }
    }
    published::columns(run, &mut table);
    results::rows(run, cells, &mut table, |cell, entries| {
        entries.push(results::median(cell, Metric::Rate));
        entries.push(cell.map_or_else(|| faint(number::NONE), availability));
        entries.push(match cell.map(longest) {
            Some(Some(seconds)) => plain(figure(seconds)),
            _ => faint(number::NONE),
        });
    });
    table
}

fn availability(cell: &Figures<'_>) -> Entry {
    let asked = cell.answers() + cell.failures();
    let text = percent_exact(cell.answers(), asked);
    if cell.failures() > 0 { bad(text) } else { plain(text) }
}

/// siege prints two digits: 99.87 % is not 100 %.
fn percent_exact(part: u64, whole: u64) -> String {
    match whole {
        0 => number::NONE.into(),
        _ if part == whole => percent(1.0),
        _ => format!("{:.2} %", part as f64 / whole as f64 * 100.0),
    }
}

fn longest(cell: &Figures<'_>) -> Option<f64> {
    answered(cell).map(|latency| latency.longest).reduce(f64::max)
}

/// Response times of the phases that have any.
fn answered(cell: &Figures<'_>) -> impl Iterator<Item = crate::run::Latency> {
    cell.phases().filter(|phase| phase.answers > 0).map(|phase| phase.latency)
}

/// siege's names of what [`values`] gives, in its order.
const FIELDS: [&str; 12] = [
    "transactions",
    "availability",
    "elapsed time, s",
    "data transferred",
    "response time, s",
    "transaction rate, 1/s",
    "throughput",
    "concurrency",
    "successful transactions",
    "failed transactions",
    "longest transaction, s",
    "shortest transaction, s",
];

fn fields(run: &Run, cells: &[Figures<'_>], title: &str, of_case: &[Option<&Figures<'_>>]) -> Table {
    let mut table = Table::new(title, "");
    for server in figures::servers(run, cells) {
        table.column("", figures::title(run, server));
    }
    let columns: Vec<_> = of_case.iter().map(|cell| cell.map(values)).collect();
    for (index, field) in FIELDS.iter().enumerate() {
        let entries = columns.iter().map(|column| {
            column.as_ref().map_or_else(|| faint(number::NONE), |values| values[index].clone())
        });
        table.row(std::iter::once(plain(*field)).chain(entries));
    }
    table.notes.push("All rounds together.".into());
    table
}

/// The entries of a cell for [`FIELDS`].
fn values(cell: &Figures<'_>) -> Vec<Entry> {
    let (answers, failures) = (cell.answers(), cell.failures());
    let elapsed: f64 = cell.phases().map(|phase| phase.elapsed).sum();
    let bytes: u64 = cell.phases().map(|phase| phase.bytes).sum();
    let waited: f64 = cell.phases().map(|phase| phase.latency.mean * phase.answers as f64).sum();
    let shortest = answered(cell).map(|latency| latency.shortest).reduce(f64::min);
    let rate = |value: f64, text: &dyn Fn(f64) -> String| {
        if answers > 0 && elapsed > 0.0 { plain(text(value)) } else { bad(cell.without_figures()) }
    };
    let time =
        |value: Option<f64>| value.map_or_else(|| bad(cell.without_figures()), |value| plain(figure(value)));
    vec![
        plain(count(answers)),
        availability(cell),
        plain(figure(elapsed)),
        plain(number::bytes(bytes as f64)),
        time((answers > 0).then(|| waited / answers as f64)),
        rate(answers as f64 / elapsed, &figure),
        rate(bytes as f64 / elapsed, &|value| format!("{}/s", number::bytes(value))),
        rate(waited / elapsed, &figure),
        plain(count(answers)),
        if failures > 0 { bad(count(failures)) } else { plain("0") },
        time(longest(cell)),
        time(shortest),
    ]
}
