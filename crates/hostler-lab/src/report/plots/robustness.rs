//! BENCH3: errors over the rate, and how long answers took meanwhile.

use super::{Picture, Plot, look};
use crate::report::figures::{self, Figures};
use crate::report::number::{self, count, milliseconds, percent};
use crate::report::plot::lines::{Axis, Lines, Point, Series};
use crate::report::plot::scale::Kind;
use crate::report::results::robustness::{errors, p99, rates};
use crate::report::table::{Entry, Table, faint, plain};
use crate::run::Run;

pub(super) fn plots(run: &Run, cells: &[Figures<'_>]) -> Vec<Plot> {
    let taken: Vec<&Figures<'_>> = cells.iter().filter(|cell| cell.is_taken()).collect();
    let places = places(run);
    if places.len() < 2 {
        return Vec::new();
    }
    let mut plots = Vec::new();
    if taken.iter().any(|cell| cell.failures() > 0) {
        plots.push(of_errors(run, &taken, &places));
    }
    plots.push(of_times(run, &taken, &places));
    plots
}

/// The rates at the ends of the plan's phases.
fn places(run: &Run) -> Vec<f64> {
    let Some(case) = run.scenario.cases.first() else { return Vec::new() };
    let phases = figures::plan(run, case).phases.iter();
    phases
        .filter_map(|phase| match phase {
            crate::load::Phase::Open { rate, to_rate, .. } => Some(to_rate.unwrap_or(*rate)),
            crate::load::Phase::Closed { .. } => None,
        })
        .collect()
}

fn of_errors(run: &Run, cells: &[&Figures<'_>], places: &[f64]) -> Plot {
    let part = |cell: &Figures<'_>, phase| {
        errors(cell, phase)
            .filter(|(_, asked)| *asked > 0)
            .map(|(failed, asked)| failed as f64 / asked as f64)
    };
    let tip = |cell: &Figures<'_>, phase| {
        errors(cell, phase).map_or_else(String::new, |(failed, asked)| {
            format!("{} of {} failed", count(failed), count(asked))
        })
    };
    Plot {
        title: "Errors over the rate".into(),
        says: "Failed requests of all that were sent, all rounds together; lower is better.".into(),
        picture: Picture::Lines(Lines {
            x: rate_axis(),
            y: Axis { title: "failed, % of requests".into(), kind: Kind::FromZero, reach: None },
            series: series(run, cells, places, |cell, phase| {
                Some((part(cell, phase)? * 100.0, tip(cell, phase)))
            }),
        }),
        table: table(run, cells, |cell, phase| {
            part(cell, phase).map_or_else(|| faint(number::NONE), |part| plain(percent(part)))
        }),
        half: false,
    }
}

fn of_times(run: &Run, cells: &[&Figures<'_>], places: &[f64]) -> Plot {
    Plot {
        title: "99th percentile over the rate".into(),
        says: "From the time at which a request was to be sent; median of the rounds; lower is better."
            .into(),
        picture: Picture::Lines(Lines {
            x: rate_axis(),
            y: Axis { title: "p99 of the response time, ms".into(), kind: Kind::Logarithmic, reach: None },
            series: series(run, cells, places, |cell, phase| {
                p99(cell, phase).map(|seconds| (seconds * 1e3, format!("{} ms", milliseconds(seconds))))
            }),
        }),
        table: table(run, cells, |cell, phase| {
            p99(cell, phase).map_or_else(|| faint(number::NONE), |seconds| plain(milliseconds(seconds)))
        }),
        half: false,
    }
}

fn rate_axis() -> Axis {
    Axis { title: "requests sent a second".into(), kind: Kind::Linear, reach: None }
}

fn series(
    run: &Run,
    cells: &[&Figures<'_>],
    places: &[f64],
    value: impl Fn(&Figures<'_>, usize) -> Option<(f64, String)>,
) -> Vec<Series> {
    let line = |cell: &&Figures<'_>| {
        let name = cell.name(run);
        let point = |(phase, rate): (usize, &f64)| {
            let (y, tip) = value(cell, phase)?;
            Some(Point { x: *rate, y, tip: format!("{name}: {tip} at {} a second", number::figure(*rate)) })
        };
        let points = places.iter().enumerate().filter_map(point).collect();
        Series { look: look(run, cell), points, name, band: Vec::new() }
    };
    cells.iter().map(line).collect()
}

fn table(run: &Run, cells: &[&Figures<'_>], entry: impl Fn(&Figures<'_>, usize) -> Entry) -> Table {
    let mut table = Table::new("", "requests/s");
    for cell in cells {
        table.column("", cell.name(run));
    }
    for (phase, rate) in rates(run).into_iter().enumerate() {
        table.row(std::iter::once(plain(rate)).chain(cells.iter().map(|cell| entry(cell, phase))));
    }
    table
}
