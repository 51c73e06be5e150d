//! Circumstances that make a run's figures less reliable than they look, shown beside the result and not among the
//! notes: a debug build, a busy machine, clients without a response.

use super::figures;
use crate::run::Run;

/// So many runnable processes for each processor, before anything is loaded, are a busy machine.
const BUSY: f64 = 0.25;

/// Clients that a plan gave so many turns each would all have had one.
const TURNS: u64 = 4;

/// All of them, a sentence each.
pub(super) fn of(run: &Run) -> Vec<String> {
    let mut all: Vec<String> = debug_build(run).into_iter().chain(busy(run)).collect();
    all.extend(starved(run));
    all
}

fn debug_build(run: &Run) -> Option<String> {
    let takes_part =
        |name: &str| run.cells.iter().any(|cell| cell.server == name && !cell.samples.is_empty());
    let debug = |server: &&crate::run::Server| {
        takes_part(&server.name)
            && server.version.as_deref().is_some_and(|version| version.contains("debug build"))
    };
    let server = run.servers.iter().find(debug)?;
    Some(format!(
        "{} was measured, several times slower than what one would install: its figures say nothing (make build)",
        server.version.as_deref().unwrap_or("Hostler")
    ))
}

fn busy(run: &Run) -> Option<String> {
    let (load, processors) = (run.machine.load?, run.machine.processors.max(1));
    let busy = load > BUSY * f64::from(processors);
    let noun = if processors == 1 { "processor" } else { "processors" };
    busy.then(|| {
        format!("the machine was busy when the run began (load {load:.1} on {processors} {noun}): its figures are noisy and too low")
    })
}

/// Clients without any answer: response times are those of the others.
fn starved(run: &Run) -> Vec<String> {
    let mut all = Vec::new();
    for cell in figures::all(run) {
        let worst = cell
            .phases()
            .filter(|phase| phase.starved > 0 && phase.answers >= TURNS * u64::from(phase.clients))
            .max_by_key(|phase| phase.starved);
        if let Some(phase) = worst {
            all.push(format!(
                "{} of {} clients got no answer at all from {} ({}): its response times are those of the others",
                phase.starved, phase.clients, cell.server, cell.case.title
            ));
        }
    }
    all
}
