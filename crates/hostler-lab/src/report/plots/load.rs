//! BENCH1: traffic while clients join.

use super::{Picture, Plot, look};
use crate::load::Second;
use crate::report::figures::Figures;
use crate::report::number::{self, figure};
use crate::report::plot::lines::{Axis, Lines, Point, Series};
use crate::report::plot::scale::Kind;
use crate::report::table::{Table, faint, plain};
use crate::run::Run;

/// Seconds that traffic is taken the mean of.
const SMOOTH: usize = 5;

/// Rows of its table at most.
const ROWS: usize = 60;

pub(super) fn traffic(run: &Run, cells: &[Figures<'_>]) -> Plot {
    let taken: Vec<(&Figures<'_>, &[Second])> = cells.iter().map(|cell| (cell, seconds(cell))).collect();
    let series = taken
        .iter()
        .filter(|(_, seconds)| !seconds.is_empty())
        .map(|(cell, seconds)| series(run, cell, seconds))
        .collect();
    let axis = |title: &str, kind| Axis { title: title.into(), kind, reach: None };
    Plot {
        title: "Traffic while the load rises".into(),
        says: format!(
            "Last round; kilobytes of bodies per second, mean of {SMOOTH} seconds. A line ends with its run."
        ),
        picture: Picture::Lines(Lines {
            x: axis("seconds since the begin", Kind::FromZeroExact),
            y: axis("kB/s", Kind::FromZero),
            series,
        }),
        table: table(run, &taken),
        half: false,
    }
}

fn seconds<'r>(cell: &Figures<'r>) -> &'r [Second] {
    cell.cell.samples.last().map_or(&[], |sample| sample.seconds.as_slice())
}

fn series(run: &Run, cell: &Figures<'_>, seconds: &[Second]) -> Series {
    let name = cell.name(run);
    let tips = seconds.len().div_ceil(30).max(1);
    let point = |(index, second): (usize, &Second)| {
        let y = smoothed(seconds, index);
        let at = index + 1;
        let tip = if index % tips == 0 {
            format!("{name}: {} kB/s at {at} s with {} clients", figure(y), second.clients)
        } else {
            String::new()
        };
        Point { x: at as f64, y, tip }
    };
    let points = seconds.iter().enumerate().map(point).collect();
    Series { look: look(run, cell), points, name, band: Vec::new() }
}

/// Kilobytes a second around a second.
fn smoothed(seconds: &[Second], index: usize) -> f64 {
    let from = (index + 1).saturating_sub(SMOOTH);
    let window = &seconds[from..=index];
    window.iter().map(|second| second.bytes as f64).sum::<f64>() / window.len() as f64 / 1e3
}

fn table(run: &Run, taken: &[(&Figures<'_>, &[Second])]) -> Table {
    let mut table = Table::new("", "second");
    let shown: Vec<_> = taken.iter().filter(|(_, seconds)| !seconds.is_empty()).collect();
    for (cell, _) in &shown {
        table.column(&cell.name(run), "clients");
        table.column(&cell.name(run), "kB/s");
    }
    let length = shown.iter().map(|(_, seconds)| seconds.len()).max().unwrap_or_default();
    for index in (0..length).step_by(length.div_ceil(ROWS).max(1)) {
        let entries = shown.iter().flat_map(|(_, seconds)| match seconds.get(index) {
            Some(second) => [plain(second.clients.to_string()), plain(figure(smoothed(seconds, index)))],
            None => [faint(number::NONE), faint(number::NONE)],
        });
        table.row(std::iter::once(plain((index + 1).to_string())).chain(entries));
    }
    table
}
