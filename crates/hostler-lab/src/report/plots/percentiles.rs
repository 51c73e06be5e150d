//! Response times by percentile: how long the unlucky wait.

use super::{Picture, Plot, look};
use crate::report::figures::{self, Figures};
use crate::report::histogram;
use crate::report::number::{self, milliseconds};
use crate::report::plot::lines::{Axis, Lines, Point, Series};
use crate::report::plot::scale::Kind;
use crate::report::table::{Table, faint, plain};
use crate::run::Run;
use hdrhistogram::Histogram;

/// Parts that have a marker, a tip, and a row in the table.
const PARTS: [f64; 10] = [0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999];

/// A cell with its histogram.
type CellHistogram<'f, 'r> = (&'f Figures<'r>, Histogram<u64>);

/// One for each case, or, where techniques are compared, one of all.
pub(in crate::report) fn plots(run: &Run, cells: &[Figures<'_>]) -> Vec<Plot> {
    let known: Vec<CellHistogram<'_, '_>> =
        cells.iter().filter_map(|cell| Some((cell, histogram::merged(&cell.cell.samples)?))).collect();
    if known.is_empty() {
        return Vec::new();
    }
    if figures::are_peers(run) {
        return vec![plot(run, "Response times by percentile", &known.iter().collect::<Vec<_>>(), false)];
    }
    let of_case = |number: usize| {
        let of_case: Vec<&CellHistogram<'_, '_>> =
            known.iter().filter(|(cell, _)| cell.case_number == number).collect();
        let first = of_case.first()?;
        Some(plot(run, &first.0.case.title, &of_case, true))
    };
    let mut plots: Vec<Plot> = (0..run.scenario.cases.len()).filter_map(of_case).collect();
    if let [only] = plots.as_mut_slice() {
        only.half = false;
    }
    plots
}

fn plot(run: &Run, title: &str, cells: &[&CellHistogram<'_, '_>], half: bool) -> Plot {
    let name = |cell: &Figures<'_>| if half { cell.server.to_owned() } else { cell.name(run) };
    let series = cells.iter().map(|(cell, histogram)| series(&name(cell), histogram, look(run, cell)));
    let mut table = Table::new("", "within");
    for (cell, _) in cells {
        table.column("", format!("{}, ms", name(cell)));
    }
    for part in PARTS {
        let entries = cells.iter().map(|(_, histogram)| {
            if reaches(histogram, part) {
                plain(milliseconds(histogram::seconds(histogram, part)))
            } else {
                faint(number::NONE)
            }
        });
        table.row(std::iter::once(plain(percentile(part))).chain(entries));
    }
    Plot {
        title: title.into(),
        says: "A point says: so many of the answers came within this time. Both axes are logarithmic; lower is better."
            .into(),
        picture: Picture::Lines(Lines {
            x: Axis { title: "part of the answers".into(), kind: Kind::Percentile, reach: None },
            y: Axis { title: "response time, ms".into(), kind: Kind::Logarithmic, reach: None },
            series: series.collect(),
        }),
        table,
        half,
    }
}

fn series(name: &str, histogram: &Histogram<u64>, look: crate::report::plot::Look) -> Series {
    let point = |part: f64| {
        let seconds = histogram::seconds(histogram, part);
        let tip = format!("{name}: {} of the answers within {} ms", percentile(part), milliseconds(seconds));
        // A microsecond is the generator's least.
        Point { x: part, y: (seconds * 1e3).max(0.001), tip }
    };
    let parts = PARTS.into_iter().filter(|part| reaches(histogram, *part));
    Series { name: name.into(), look, points: parts.map(point).collect(), band: Vec::new() }
}

/// Returns whether there are enough answers for a percentile to be more than the longest one.
fn reaches(histogram: &Histogram<u64>, part: f64) -> bool {
    (1.0 - part) * histogram.len() as f64 >= 1.0 - 1e-9 || part <= 0.5
}

fn percentile(part: f64) -> String {
    format!("{} %", number::plain((part * 1e6).round() / 1e4))
}
