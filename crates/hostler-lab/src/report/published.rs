//! Published figures, to stand beside ours.

use super::number;
use super::table::{Entry, Table, faint};
use crate::run::Run;
use crate::scenario::{Case, Published};

/// Adds a column for each published column and unit, under what they are called: `mod_perl 1.3` with `ms`.
pub(super) fn columns(run: &Run, table: &mut Table) {
    for (column, unit) in kinds(run) {
        table.column(&group(column), unit);
    }
}

/// Returns the heading of a published column.
pub(super) fn group(column: &str) -> String {
    if column.starts_with("published") { column.into() } else { format!("published: {column}") }
}

/// The published entries of a case's row.
pub(super) fn entries(run: &Run, case: &Case) -> Vec<Entry> {
    let of = |column: &str, unit: &str| {
        let same = |figure: &&Published| figure.column == column && figure.unit == unit;
        let figures = || run.scenario.published.iter().filter(same);
        figures()
            .find(|figure| figure.row == case.name)
            .or_else(|| figures().find(|figure| figure.row == case.title || figure.row == case.technique))
    };
    kinds(run)
        .into_iter()
        .map(|(column, unit)| {
            faint(of(column, unit).map_or_else(String::new, |figure| number::plain(figure.value)))
        })
        .collect()
}

/// Adds a row for each published row that none of our cases has: techniques that are not available here.
pub(super) fn rows(run: &Run, table: &mut Table) {
    let ours = table.columns.len() - kinds(run).len();
    for row in missing(run) {
        let mut entries = vec![faint(row), faint("not available")];
        entries.resize(ours, faint(number::NONE));
        for (column, unit) in kinds(run) {
            let figure = run
                .scenario
                .published
                .iter()
                .find(|figure| figure.row == row && figure.column == column && figure.unit == unit);
            entries.push(faint(figure.map_or_else(String::new, |figure| number::plain(figure.value))));
        }
        table.row(entries);
    }
}

/// All of them as they are, for shapes whose tables have no room beside ours.
pub(super) fn table(run: &Run) -> Option<Table> {
    let kinds = kinds(run);
    if kinds.is_empty() {
        return None;
    }
    let mut table = Table::new("Published", "");
    for (column, unit) in &kinds {
        table.column(column, *unit);
    }
    let mut rows: Vec<&str> = run.scenario.published.iter().map(|figure| figure.row.as_str()).collect();
    rows.sort_by_key(|row| run.scenario.published.iter().position(|figure| figure.row == *row));
    rows.dedup();
    for row in rows {
        let title =
            run.scenario.cases.iter().find(|case| case.name == row).map_or(row, |case| case.title.as_str());
        let values = kinds.iter().map(|(column, unit)| {
            let same =
                |figure: &&Published| figure.row == row && figure.column == *column && figure.unit == *unit;
            let found = run.scenario.published.iter().find(same);
            faint(found.map_or_else(String::new, |figure| number::plain(figure.value)))
        });
        table.row(std::iter::once(super::table::plain(title)).chain(values));
    }
    Some(table)
}

/// Columns with their units, in the scenario's order.
fn kinds(run: &Run) -> Vec<(&str, &str)> {
    let mut kinds: Vec<(&str, &str)> = Vec::new();
    for figure in &run.scenario.published {
        let kind = (figure.column.as_str(), figure.unit.as_str());
        if !kinds.contains(&kind) {
            // Units of one column stand together.
            let place =
                kinds.iter().rposition(|(column, _)| *column == kind.0).map_or(kinds.len(), |last| last + 1);
            kinds.insert(place, kind);
        }
    }
    kinds
}

/// Published rows that are no case, title or technique of ours.
fn missing(run: &Run) -> Vec<&str> {
    let mut rows = Vec::new();
    for figure in &run.scenario.published {
        let row = figure.row.as_str();
        let ours = |case: &Case| case.name == row || case.title == row || case.technique == row;
        if !run.scenario.cases.iter().any(ours) && !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}
