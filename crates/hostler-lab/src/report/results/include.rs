//! E2: rates, and each as a part of another's.

use crate::report::figures::{self, Figures, Metric};
use crate::report::number::{self, percent};
use crate::report::published;
use crate::report::results;
use crate::report::table::{Table, bad, faint, plain};
use crate::run::Run;

pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let mut table = Table::new("Requests per second", "");
    for server in figures::servers(run, cells) {
        table.column(figures::title(run, server), "requests/s");
    }
    let parts = parts(run, cells);
    for (first, second) in &parts {
        table.column(&format!("{} of {}", figures::title(run, *first), figures::title(run, *second)), "%");
    }
    published::columns(run, &mut table);
    for (case_number, case) in run.scenario.cases.iter().enumerate() {
        let of = |server| results::cell(cells, case_number, server);
        let mut entries = vec![plain(&case.title)];
        entries.extend(
            figures::servers(run, cells).into_iter().map(|server| results::median(of(server), Metric::Rate)),
        );
        for (first, second) in &parts {
            let rate = |server: usize| of(server).map(|cell| cell.median(Metric::Rate));
            entries.push(match (rate(*first), rate(*second)) {
                (Some(Some(first)), Some(Some(second))) => plain(percent(first / second)),
                (None, _) | (_, None) => faint(number::NONE),
                _ => bad("no answer"),
            });
        }
        entries.extend(published::entries(run, case));
        table.row(entries);
    }
    published::rows(run, &mut table);
    results::emphasize(run, cells, &mut table, Metric::Rate);
    vec![table]
}

/// Returns the pairs of which ratios are shown: Hostler to each other one, otherwise the first to each.
fn parts(run: &Run, cells: &[Figures<'_>]) -> Vec<(usize, usize)> {
    let servers = figures::servers(run, cells);
    let hostler = servers.iter().copied().find(|number| run.scenario.contestants[*number] == "hostler");
    let Some(base) = hostler.or_else(|| servers.first().copied()) else { return Vec::new() };
    let others = servers.into_iter().filter(|number| *number != base);
    others.map(|number| if hostler.is_some() { (base, number) } else { (number, base) }).collect()
}
