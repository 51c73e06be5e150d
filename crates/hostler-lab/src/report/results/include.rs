//! E2: rates, and each as a part of another's.

use crate::report::figures::{self, Figures, Metric};
use crate::report::number::{self, percent};
use crate::report::published;
use crate::report::results;
use crate::report::table::{Table, bad, faint, plain};
use crate::run::Run;

pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let mut table = Table::new("Requests per second", "");
    for server in &run.scenario.contestants {
        table.column(figures::server_title(run, server), "requests/s");
    }
    let parts = parts(run);
    for (first, second) in &parts {
        let title = |number: usize| figures::server_title(run, &run.scenario.contestants[number]);
        table.column(&format!("{} of {}", title(*first), title(*second)), "%");
    }
    published::columns(run, &mut table);
    for (case_number, case) in run.scenario.cases.iter().enumerate() {
        let of = |server| results::cell(cells, case_number, server);
        let mut entries = vec![plain(&case.title)];
        entries.extend(
            (0..run.scenario.contestants.len()).map(|server| results::median(of(server), Metric::Rate)),
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

/// Who is set as a part of whom: Hostler of each other one, or else each of the first.
fn parts(run: &Run) -> Vec<(usize, usize)> {
    let names = &run.scenario.contestants;
    let hostler = names.iter().position(|name| name == "hostler");
    let base = hostler.unwrap_or(0);
    let others = (0..names.len()).filter(|number| *number != base);
    others.map(|number| if hostler.is_some() { (base, number) } else { (number, base) }).collect()
}
