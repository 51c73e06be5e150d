//! The plots of a run: each with a sentence on how to read it, and its figures as a table.

mod bars;
mod latency;
mod load;
pub(super) mod percentiles;
mod resilience;
mod robustness;

use super::figures::{self, Figures, Metric};
use super::plot::bars::Bars;
use super::plot::lines::Lines;
use super::plot::{COLOURS, Look, Size};
use super::table::Table;
use crate::run::Run;
use crate::scenario::Shape;

/// A plot.
pub(super) struct Plot {
    pub(super) title: String,
    /// The instructions for reading the plot.
    pub(super) says: String,
    pub(super) picture: Picture,
    /// Its figures.
    pub(super) table: Table,
    /// True if two of it stand beside each other where there is room.
    pub(super) half: bool,
}

/// The drawing.
pub(super) enum Picture {
    Lines(Lines),
    Bars(Bars),
}

impl Picture {
    pub(super) fn svg(&self, size: Size, name: &str) -> String {
        match self {
            Self::Lines(lines) => lines.svg(size, name),
            Self::Bars(bars) => bars.svg(size, name),
        }
    }

    /// Names and looks of its lines, if there are several; bars have their names beside them.
    pub(super) fn legend(&self) -> Vec<(&str, Look)> {
        match self {
            Self::Lines(lines) if lines.series.len() > 1 => {
                lines.series.iter().map(|series| (series.name.as_str(), series.look)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Lines(lines) => lines.is_empty(),
            Self::Bars(bars) => bars.is_empty(),
        }
    }
}

/// The plots of the results.
pub(super) fn results(run: &Run, cells: &[Figures<'_>]) -> Vec<Plot> {
    let metric = Metric::of_run(run);
    if run.saturation {
        return drawn(vec![bars::plot(run, cells, metric), load::traffic(run, cells)]);
    }
    let plots = match run.scenario.report {
        Shape::Registry | Shape::Include | Shape::Isolation | Shape::Comparison => {
            vec![bars::plot(run, cells, metric)]
        }
        Shape::Load => vec![bars::plot(run, cells, metric), load::traffic(run, cells)],
        Shape::Latency => vec![latency::plot(run, cells)],
        Shape::Robustness => robustness::plots(run, cells),
        Shape::Resilience => resilience::plots(run, cells),
    };
    drawn(plots)
}

/// Answers a second, whatever the run's report has; `None`: there are none.
pub(super) fn rates(run: &Run, cells: &[Figures<'_>]) -> Option<Plot> {
    drawn(vec![bars::plot(run, cells, Metric::Rate)]).pop()
}

/// The plots of the costs.
pub(super) fn costs(run: &Run, cells: &[Figures<'_>]) -> Vec<Plot> {
    let plots = [Metric::Processor, Metric::Memory]
        .map(|metric| Plot { half: true, ..bars::plot(run, cells, metric) });
    drawn(plots.into())
}

/// Plots that have something to show.
fn drawn(plots: Vec<Plot>) -> Vec<Plot> {
    plots.into_iter().filter(|plot| !plot.picture.is_empty()).collect()
}

/// Chooses a cell's appearance. Where techniques are compared, each cell has a colour of its own while there are
/// enough; otherwise each technique has one. Servers differ by dashes.
fn look(run: &Run, cell: &Figures<'_>) -> Look {
    let style = cell.server_number;
    if !figures::are_peers(run) {
        return Look { colour: style, style };
    }
    let all = figures::all(run);
    let own = all.iter().filter(|one| one.is_taken());
    let place = own.clone().position(|one| (one.case_number, one.server_number) == (cell.case_number, style));
    let colour = place.filter(|_| own.count() <= COLOURS).unwrap_or(cell.case_number);
    Look { colour, style }
}
