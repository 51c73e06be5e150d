//! BENCH1: clients served and mean traffic.

use crate::report::figures::{self, Figures, Metric};
use crate::report::number;
use crate::report::results;
use crate::report::table::{Table, faint, plain};
use crate::run::Run;

pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let mut table = Table::new("Clients served and mean traffic", "");
    table.column("", "clients");
    table.column("", "least–most");
    table.column("", "traffic kB/s");
    table.column("", "requests/s");
    table.words("it ended when");
    results::cell_rows(run, cells, &mut table, |cell| {
        let values = cell.values(Metric::Clients);
        let least = values.iter().copied().reduce(f64::min);
        let most = values.iter().copied().reduce(f64::max);
        let spread = least.zip(most).map_or_else(
            || number::NONE.into(),
            |(least, most)| match (figures::whole(least), figures::whole(most)) {
                (least, most) if least == most => least,
                (least, most) => format!("{least}–{most}"),
            },
        );
        vec![
            plain(cell.name(run)),
            results::median(Some(cell), Metric::Clients),
            faint(spread),
            results::median(Some(cell), Metric::Traffic),
            results::median(Some(cell), Metric::Rate),
            faint(ending(cell)),
        ]
    });
    table.notes.push("kB are 1,000 bytes of bodies. Medians of the rounds.".into());
    vec![table]
}

/// Why the last round ended.
fn ending(cell: &Figures<'_>) -> String {
    let last = cell.cell.samples.last();
    match (last.map(|sample| &sample.stopped), &cell.cell.failed) {
        (Some(Some(limit)), _) => limit.clone(),
        (Some(None), _) => "the plan was done: no limit broke".into(),
        (None, Some(failed)) => failed.clone(),
        (None, None) => "not taken".into(),
    }
}
