//! BENCH4: running mean and deviation, a plot for each cell, all with one scale.

use super::{Picture, Plot, look};
use crate::report::figures::Figures;
use crate::report::number::milliseconds;
use crate::report::plot::lines::{Axis, Lines, Point, Series};
use crate::report::plot::scale::Kind;
use crate::report::results::resilience::{Running, WINDOW, requests, running};
use crate::report::table::{Table, plain};
use crate::run::Run;

/// Points of a line at most.
const POINTS: usize = 240;

/// Points of a line that say something when pointed at, and rows of its table.
const TIPS: usize = 24;

pub(super) fn plots(run: &Run, cells: &[Figures<'_>]) -> Vec<Plot> {
    let kept: Vec<(&Figures<'_>, Vec<Running>)> = cells
        .iter()
        .map(|cell| (cell, thinned(running(requests(cell)))))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    // Techniques may differ tenfold, which would make all others flat: the servers of each share a scale.
    let reach = |case: usize| {
        let of_case = kept.iter().filter(|(cell, _)| cell.case_number == case).flat_map(|(_, line)| line);
        of_case.map(|running| running.mean + running.deviation).fold(0.0, f64::max) * 1e3
    };
    kept.iter().map(|(cell, line)| plot(run, cell, line, reach(cell.case_number))).collect()
}

/// Evenly picked, with the last one.
fn thinned(all: Vec<Running>) -> Vec<Running> {
    let step = all.len().div_ceil(POINTS).max(1);
    let last = all.last().copied();
    let mut thinned: Vec<Running> = all.into_iter().step_by(step).collect();
    if thinned.last() != last.as_ref() {
        thinned.extend(last);
    }
    thinned
}

fn plot(run: &Run, cell: &Figures<'_>, line: &[Running], reach: f64) -> Plot {
    let step = line.len().div_ceil(TIPS).max(1);
    let point = |(index, running): (usize, &Running)| {
        let tip = format!(
            "{} ms ± {} ms at {} s",
            milliseconds(running.mean),
            milliseconds(running.deviation),
            crate::report::number::figure(running.at)
        );
        let tip = if index % step == 0 { tip } else { String::new() };
        Point { x: running.at, y: running.mean * 1e3, tip }
    };
    // Response times are never below nothing.
    let band = |running: &Running| {
        let low = (running.mean - running.deviation).max(0.0);
        (low * 1e3, (running.mean + running.deviation) * 1e3)
    };
    let series = Series {
        name: cell.name(run),
        look: look(run, cell),
        points: line.iter().enumerate().map(point).collect(),
        band: line.iter().map(band).collect(),
    };
    let mut table = Table::new("", "second");
    table.column("", "running mean, ms");
    table.column("", "deviation, ms");
    for running in line.iter().step_by(step) {
        let seconds = plain(format!("{:.1}", running.at));
        table.row([seconds, plain(milliseconds(running.mean)), plain(milliseconds(running.deviation))]);
    }
    Plot {
        title: cell.name(run),
        says: format!(
            "Mean of the last {WINDOW} response times, with one deviation on both sides; flat and thin is good. The \
             servers of one technique share a scale; techniques do not."
        ),
        picture: Picture::Lines(Lines {
            x: Axis { title: "seconds".into(), kind: Kind::FromZeroExact, reach: None },
            y: Axis {
                title: "running mean ± deviation, ms".into(),
                kind: Kind::FromZero,
                reach: Some(reach),
            },
            series: vec![series],
        }),
        table,
        half: true,
    }
}
