//! BENCH2: mean response time for each number of clients.

use crate::method::statistics;
use crate::report::figures::{self, Figures};
use crate::report::number::{self, milliseconds};
use crate::report::published;
use crate::report::table::{Table, bad, faint, plain};
use crate::run::Run;

pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let mut table = Table::new("Mean response time for each number of clients, ms", "clients");
    let taken: Vec<&Figures<'_>> = cells.iter().filter(|cell| cell.is_taken()).collect();
    for cell in &taken {
        table.column(&cell.case.title, figures::server_title(run, &cell.cell.server));
    }
    for (clients, phase) in steps(cells) {
        let entries = taken.iter().map(|cell| match mean(cell, phase) {
            Some(seconds) => plain(milliseconds(seconds)),
            None if cell.cell.samples.iter().any(|sample| sample.phases.len() > phase) => bad("no answer"),
            None => faint(number::NONE),
        });
        table.row(std::iter::once(plain(clients.to_string())).chain(entries));
    }
    // A load that rises has no steps: where it came to is in a table of its own.
    let steps = Some(table).filter(|_| !run.saturation);
    steps.into_iter().chain(published::table(run)).collect()
}

/// Numbers of clients with their phase, as the longest round has them.
pub(in crate::report) fn steps(cells: &[Figures<'_>]) -> Vec<(u32, usize)> {
    let samples = cells.iter().flat_map(|cell| &cell.cell.samples);
    let longest = samples.max_by_key(|sample| sample.phases.len());
    longest
        .map(|sample| sample.phases.iter().enumerate().map(|(index, phase)| (phase.clients, index)).collect())
        .unwrap_or_default()
}

/// Median over the rounds of a phase's mean response time, in seconds.
pub(in crate::report) fn mean(cell: &Figures<'_>, phase: usize) -> Option<f64> {
    let phases = cell.cell.samples.iter().filter_map(|sample| sample.phases.get(phase));
    let means: Vec<f64> = phases.filter(|phase| phase.answers > 0).map(|phase| phase.latency.mean).collect();
    statistics::median(&means)
}
