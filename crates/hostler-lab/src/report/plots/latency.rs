//! BENCH2: response time over the number of clients.

use super::{Picture, Plot, look};
use crate::report::figures::Figures;
use crate::report::number::{self, milliseconds};
use crate::report::plot::lines::{Axis, Lines, Point, Series};
use crate::report::plot::scale::Kind;
use crate::report::results::latency::{mean, steps};
use crate::report::table::{Table, faint, plain};
use crate::run::Run;

pub(super) fn plot(run: &Run, cells: &[Figures<'_>]) -> Plot {
    let steps = steps(cells);
    let taken: Vec<&Figures<'_>> = cells.iter().filter(|cell| cell.answers() > 0).collect();
    let series = taken.iter().map(|cell| {
        let name = cell.name(run);
        let points = steps.iter().filter_map(|(clients, phase)| {
            let seconds = mean(cell, *phase)?;
            let tip = format!("{name}: {} ms with {clients} clients", milliseconds(seconds));
            Some(Point { x: f64::from(*clients), y: seconds * 1e3, tip })
        });
        Series { look: look(run, cell), points: points.collect(), name: name.clone(), band: Vec::new() }
    });
    let mut table = Table::new("", "clients");
    for cell in &taken {
        table.column("", cell.name(run));
    }
    for (clients, phase) in &steps {
        let entries = taken.iter().map(|cell| {
            mean(cell, *phase).map_or_else(|| faint(number::NONE), |seconds| plain(milliseconds(seconds)))
        });
        table.row(std::iter::once(plain(clients.to_string())).chain(entries));
    }
    let lines = Lines {
        x: Axis { title: "clients that ask without pause".into(), kind: Kind::FromZeroExact, reach: None },
        y: Axis { title: "mean response time, ms".into(), kind: kind(cells, &steps), reach: None },
        series: series.collect(),
    };
    let scale = if lines.y.kind == Kind::Logarithmic { "; the scale is logarithmic" } else { "" };
    Plot {
        title: "Response time over the number of clients".into(),
        says: format!("Median of the rounds' means; lower is better{scale}."),
        picture: Picture::Lines(lines),
        table,
        half: false,
    }
}

/// Techniques that differ tenfold would hide each other on an even axis.
fn kind(cells: &[Figures<'_>], steps: &[(u32, usize)]) -> Kind {
    let Some((_, last)) = steps.last() else { return Kind::FromZero };
    let means = || cells.iter().filter_map(|cell| mean(cell, *last));
    let most = means().fold(0.0, f64::max);
    let least = means().fold(f64::INFINITY, f64::min);
    if most > least * 8.0 { Kind::Logarithmic } else { Kind::FromZero }
}
