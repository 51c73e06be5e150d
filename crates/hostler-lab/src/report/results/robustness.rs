//! BENCH3: errors at each rate.

use crate::load::Phase;
use crate::method::statistics;
use crate::report::figures::{self, Figures};
use crate::report::number::{self, count, figure, milliseconds};
use crate::report::published;
use crate::report::table::{Entry, Table, bad, faint, plain};
use crate::run::Run;

pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let mut errors = Table::new("Errors at each rate, all rounds together", "requests/s");
    let mut slow = Table::new("99th percentile of the response time at each rate, ms", "requests/s");
    let taken: Vec<&Figures<'_>> = cells.iter().filter(|cell| cell.is_taken()).collect();
    for cell in &taken {
        for table in [&mut errors, &mut slow] {
            table.column(&cell.case.title, figures::server_title(run, &cell.cell.server));
        }
    }
    for (phase, rate) in rates(run).into_iter().enumerate() {
        errors.row(std::iter::once(plain(&rate)).chain(taken.iter().map(|cell| failures(cell, phase))));
        slow.row(std::iter::once(plain(&rate)).chain(taken.iter().map(|cell| match p99(cell, phase) {
            Some(seconds) => plain(milliseconds(seconds)),
            None => absent(cell, phase),
        })));
    }
    let mut tables = vec![errors];
    tables.push(slow);
    tables.extend(published::table(run));
    tables
}

/// The rates of the plan's phases, of the first case.
pub(in crate::report) fn rates(run: &Run) -> Vec<String> {
    let Some(case) = run.scenario.cases.first() else { return Vec::new() };
    let name = |phase: &Phase| match phase {
        Phase::Open { rate, to_rate: None, .. } => figure(*rate),
        Phase::Open { rate, to_rate: Some(to), .. } => format!("{} to {}", figure(*rate), figure(*to)),
        Phase::Closed { clients, to_clients: None, .. } => format!("{clients} clients"),
        Phase::Closed { clients, to_clients: Some(to), .. } => format!("{clients} to {to} clients"),
    };
    figures::plan(run, case).phases.iter().map(name).collect()
}

/// Errors and requests of a phase, of all rounds.
pub(in crate::report) fn errors(cell: &Figures<'_>, phase: usize) -> Option<(u64, u64)> {
    let phases = cell.cell.samples.iter().filter_map(|sample| sample.phases.get(phase));
    phases
        .map(|phase| (phase.errors.sum(), phase.errors.sum() + phase.answers))
        .reduce(|all, one| (all.0 + one.0, all.1 + one.1))
}

/// Median over the rounds of a phase's 99th percentile, in seconds.
pub(in crate::report) fn p99(cell: &Figures<'_>, phase: usize) -> Option<f64> {
    let phases = cell.cell.samples.iter().filter_map(|sample| sample.phases.get(phase));
    let values: Vec<f64> = phases.filter(|phase| phase.answers > 0).map(|phase| phase.latency.p99).collect();
    statistics::median(&values)
}

fn failures(cell: &Figures<'_>, phase: usize) -> Entry {
    match errors(cell, phase) {
        Some((0, 0)) => bad("no answer"),
        Some((0, asked)) => plain(format!("0 of {}", count(asked))),
        Some((failed, asked)) => bad(format!("{} of {}", count(failed), count(asked))),
        None => absent(cell, phase),
    }
}

fn absent(cell: &Figures<'_>, phase: usize) -> Entry {
    if cell.cell.samples.iter().any(|sample| sample.phases.len() > phase) {
        bad(cell.without_figures())
    } else {
        faint(number::NONE)
    }
}
