//! The tables of each shape: the published tables' own, with the published figures beside ours.

mod include;
mod isolation;
pub(super) mod latency;
mod load;
pub(super) mod registry;
pub(super) mod resilience;
pub(super) mod robustness;

use super::figures::{self, Figures, Metric};
use super::number::{self, milliseconds};
use super::published;
use super::table::{Entry, Table, Tone, bad, faint, plain};
use super::verdict;
use crate::run::Run;
use crate::scenario::{Case, Shape};

/// The explanation of a dagger.
const DAGGER: &str =
    "† The generator used more than 90 % of its CPU time: the server may be able to do more.";

/// The main tables of a run.
pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let mut tables = match run.scenario.report {
        Shape::Registry => registry::tables(run, cells),
        Shape::Include => include::tables(run, cells),
        Shape::Isolation => isolation::tables(run, cells),
        Shape::Load => load::tables(run, cells),
        Shape::Latency => latency::tables(run, cells),
        Shape::Robustness => robustness::tables(run, cells),
        Shape::Resilience => resilience::tables(run, cells),
        Shape::Comparison => vec![comparison(run, cells)],
    };
    // BENCH1's own table says it.
    if run.scenario.report != Shape::Load {
        tables.extend(limits(run, cells));
    }
    if let Some(first) = tables.first_mut() {
        first.notes.extend(absent(run, cells));
    }
    for table in &mut tables {
        if table.rows.iter().flatten().any(|entry| entry.text.ends_with('†')) {
            table.notes.push(DAGGER.into());
        }
    }
    tables
}

/// The points at which the limit of a rising load broke.
fn limits(run: &Run, cells: &[Figures<'_>]) -> Option<Table> {
    let mut table = Table::new("Where the limit broke", "");
    table.column("", "round");
    table.column("", "best second");
    table.words("limit");
    let stopped = |cell: &Figures<'_>| cell.cell.samples.iter().any(|sample| sample.stopped.is_some());
    for cell in cells.iter().filter(|cell| run.saturation || stopped(cell)) {
        for sample in &cell.cell.samples {
            let best = Metric::Peak.of(sample);
            let best = best.map_or_else(|| faint(number::NONE), |best| plain(Metric::Peak.text(best)));
            let limit =
                sample.stopped.clone().map_or_else(|| faint("the plan was done: no limit broke"), plain);
            table.row([plain(cell.name(run)), plain((sample.round + 1).to_string()), best, limit]);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Servers that the tables have no column of, and why.
fn absent(run: &Run, cells: &[Figures<'_>]) -> Vec<String> {
    let taken = figures::servers(run, cells);
    let missing = (0..run.scenario.contestants.len()).filter(|number| !taken.contains(number));
    missing
        .map(|number| {
            let name = &run.scenario.contestants[number];
            let server = run.servers.iter().find(|server| server.name == *name);
            let why = server.and_then(|server| server.unavailable.clone());
            let why =
                why.or_else(|| cells.iter().find(|cell| cell.server_number == number)?.cell.failed.clone());
            format!("Not here: {}: {}.", figures::title(run, number), why.as_deref().unwrap_or("not taken"))
        })
        .collect()
}

/// A user's own page: rate and response times.
fn comparison(run: &Run, cells: &[Figures<'_>]) -> Table {
    let mut table = Table::new("Rate and response time", "");
    for server in figures::servers(run, cells) {
        for title in ["requests/s", "mean ms", "p99 ms"] {
            table.column(figures::title(run, server), title);
        }
    }
    published::columns(run, &mut table);
    rows(run, cells, &mut table, |cell, entries| {
        entries.push(median(cell, Metric::Rate));
        entries.push(median(cell, Metric::Mean));
        entries.push(percentile(cell, 2));
    });
    table
}

/// Adds a row for each case with `add`'s entries of each server, then the published ones.
fn rows(
    run: &Run,
    cells: &[Figures<'_>],
    table: &mut Table,
    add: impl Fn(Option<&Figures<'_>>, &mut Vec<Entry>),
) {
    for (case_number, case) in run.scenario.cases.iter().enumerate() {
        let mut entries = vec![plain(&case.title)];
        for server in figures::servers(run, cells) {
            add(cell(cells, case_number, server), &mut entries);
        }
        entries.extend(published::entries(run, case));
        table.row(entries);
    }
    published::rows(run, table);
    if let Some(metric) = decisive(run) {
        emphasize(run, cells, table, metric);
    }
}

/// The metric whose best figure is emphasized in rows of cases.
fn decisive(run: &Run) -> Option<Metric> {
    (!figures::are_peers(run)).then(|| Metric::of_run(run))
}

/// Marks the best server of each row, where it is beyond noise.
fn emphasize(run: &Run, cells: &[Figures<'_>], table: &mut Table, metric: Metric) {
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|index| matches!(table.columns[*index].title.as_str(), "rps" | "requests/s" | "rate/s"))
        .collect();
    let servers = figures::servers(run, cells);
    for case in 0..run.scenario.cases.len() {
        let of_case: Vec<Figures<'_>> =
            cells.iter().filter(|cell| cell.case_number == case).copied().collect();
        let Some(winner) = verdict::winner(&of_case, metric) else { continue };
        let place = servers.iter().position(|number| *number == winner.server_number);
        let Some(column) = place.and_then(|place| columns.get(place)) else { continue };
        if let Some(entry) = table.rows.get_mut(case).and_then(|row| row.get_mut(*column)) {
            entry.tone = Tone::Good;
        }
    }
}

/// Adds the published columns, and a row for each cell with `add`'s entries and the published ones. A case that has not
/// been taken at any server has a row without figures.
fn cell_rows(run: &Run, cells: &[Figures<'_>], table: &mut Table, add: impl Fn(&Figures<'_>) -> Vec<Entry>) {
    let ours = table.columns.len();
    published::columns(run, table);
    for (number, case) in run.scenario.cases.iter().enumerate() {
        let of_case = || cells.iter().filter(|cell| cell.case_number == number);
        for cell in of_case().filter(|cell| cell.is_taken()) {
            let mut entries = add(cell);
            entries.extend(published::entries(run, case));
            table.row(entries);
        }
        if !of_case().any(Figures::is_taken) {
            let why = of_case().next().map_or("not taken", Figures::without_figures);
            table.row(untaken(run, case, why, ours));
        }
    }
    published::rows(run, table);
}

/// The row of a case without figures: `columns` of ours, then the published ones.
fn untaken(run: &Run, case: &Case, why: &str, columns: usize) -> Vec<Entry> {
    let mut entries = vec![faint(&case.title), faint(why)];
    entries.resize(columns, faint(number::NONE));
    entries.extend(published::entries(run, case));
    entries
}

/// The cell of a case at a server.
fn cell<'f, 'r>(cells: &'f [Figures<'r>], case: usize, server: usize) -> Option<&'f Figures<'r>> {
    cells.iter().find(|cell| cell.case_number == case && cell.server_number == server)
}

/// A metric's median as an entry: times in milliseconds, traffic in kilobytes; with a dagger where the generator may
/// have been the limit.
pub(super) fn median(cell: Option<&Figures<'_>>, metric: Metric) -> Entry {
    let Some(cell) = cell else { return faint(number::NONE) };
    let Some(value) = cell.median(metric) else { return bad(cell.without_figures()) };
    let mut text = match metric {
        Metric::Mean | Metric::Deviation => milliseconds(value),
        Metric::Traffic => number::figure(value / 1e3),
        Metric::Clients => figures::whole(value),
        _ => number::figure(value),
    };
    if matches!(metric, Metric::Rate | Metric::Traffic | Metric::Clients) && cell.generator_bound() {
        text.push_str(" †");
    }
    plain(text)
}

/// One of [`Figures::percentiles`] in milliseconds.
pub(super) fn percentile(cell: Option<&Figures<'_>>, place: usize) -> Entry {
    let Some(cell) = cell else { return faint(number::NONE) };
    match cell.percentiles() {
        Some(found) => plain(milliseconds(found[place])),
        None => bad(cell.without_figures()),
    }
}
