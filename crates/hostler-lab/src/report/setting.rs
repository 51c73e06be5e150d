//! The setting of a run: machine, servers, generator, and how to repeat it.

use super::number::{bytes, figure};
use super::table::{Table, bad, faint, plain};
use crate::run::Run;

/// Names and values of what a reader needs to judge a run, or to repeat it.
pub(super) fn facts(run: &Run) -> Vec<(&'static str, String)> {
    let machine = &run.machine;
    let mut facts = vec![
        ("began", run.started.clone()),
        ("machine", machine.name.clone()),
        ("processors", format!("{} × {}", machine.processors, machine.model)),
        ("memory", bytes(machine.memory as f64)),
        ("system", machine.kernel.clone()),
        ("rounds", rounds(run)),
        (
            "cap",
            run.cpu.map_or_else(|| "none".into(), |cpu| format!("{cpu} of one processor for each server")),
        ),
        ("database", run.database.clone().unwrap_or_else(|| "none".into())),
        ("seed", seeds(run)),
        ("generator", run.generator.version.clone()),
        ("its limit", limit(run)),
        ("repeat it", run.command.clone()),
    ];
    facts.retain(|(_, value)| !value.is_empty() && value != "none");
    facts
}

/// `ABBA, 4 of each, quick`.
fn rounds(run: &Run) -> String {
    let taken = run.cells.iter().map(|cell| cell.samples.len()).max().unwrap_or_default();
    let mut text = format!("{taken} of {} of each cell, all contestants in turn", run.scenario.rounds);
    if run.quick {
        text = format!("{taken} of each cell, all contestants in turn (--quick)");
    }
    if run.saturation {
        text.push_str("; load raised until a limit broke (--saturation)");
    }
    text
}

fn limit(run: &Run) -> String {
    match run.generator.limit {
        Some(limit) => format!("{} requests/s here, against {}", figure(limit), run.generator.limit_of),
        None => "not measured".into(),
    }
}

/// Seeds of the think times; one where all are the same.
fn seeds(run: &Run) -> String {
    let mut seeds: Vec<u64> =
        run.scenario.cases.iter().map(|case| super::figures::plan(run, case).seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// The servers with their versions, and what would help those that are not here.
pub(super) fn servers(run: &Run) -> Table {
    let mut table = Table::new("Servers", "");
    table.words("name");
    table.words("version");
    for server in &run.servers {
        let version = match (&server.unavailable, &server.version) {
            (Some(why), _) => bad(why.clone()),
            (None, Some(version)) => plain(version.clone()),
            (None, None) => bad("not installed"),
        };
        table.row([plain(&server.title), faint(&server.name), version]);
    }
    table
}

/// The load of each case: what was asked for.
pub(super) fn cases(run: &Run) -> Table {
    let mut table = Table::new("Cases", "");
    table.words("technique");
    table.words("asked for");
    table.words("load");
    for case in &run.scenario.cases {
        let asked = format!("{} {}", if case.form.is_some() { "POST" } else { "GET" }, case.path);
        let load = super::load::describe(super::figures::plan(run, case));
        table.row([plain(&case.title), plain(&case.technique), plain(asked), faint(load)]);
    }
    table
}
