//! A report as sections: what the terminal prints and the page shows, in one order.

use super::figures::{self, Figures};
use super::plots::{self, Plot};
use super::table::Table;
use super::{compared, costs, results, setting, verdict, warnings};
use crate::run::Run;

/// A report.
pub(super) struct Document {
    /// The answer in a sentence.
    pub(super) answer: String,
    /// Why the run is not complete.
    pub(super) incomplete: Option<String>,
    /// Circumstances that make the figures less reliable than they look.
    pub(super) warnings: Vec<String>,
    /// Its sections.
    pub(super) sections: Vec<Section>,
}

/// A section.
pub(super) struct Section {
    /// For links.
    pub(super) name: &'static str,
    /// Over it.
    pub(super) title: &'static str,
    /// The page's plots.
    pub(super) plots: Vec<Plot>,
    /// Its tables.
    pub(super) tables: Vec<Table>,
}

impl Document {
    pub(super) fn new(run: &Run) -> Self {
        let cells = figures::all(run);
        Self {
            answer: verdict::sentence(run, &cells),
            incomplete: run.incomplete.clone(),
            warnings: warnings::of(run),
            sections: sections(run, &cells),
        }
    }
}

fn sections(run: &Run, cells: &[Figures<'_>]) -> Vec<Section> {
    let section = |name, title, plots, tables| Section { name, title, plots, tables };
    let failures = costs::errors(run, cells).into_iter().chain(costs::failed(run, cells)).collect();
    let mut sections = vec![
        section("results", "Results", plots::results(run, cells), results::tables(run, cells)),
        section("compared", "Compared", Vec::new(), compared::tables(run, cells)),
        section(
            "times",
            "Response times",
            plots::percentiles::plots(run, cells),
            vec![costs::percentiles(run, cells)],
        ),
        section("costs", "Costs", plots::costs(run, cells), vec![costs::costs(run, cells)]),
        section("failures", "Failures", Vec::new(), failures),
        section("setting", "Measured on what", Vec::new(), vec![setting::servers(run), setting::cases(run)]),
    ];
    for section in &mut sections {
        section.tables.retain(|table| !table.rows.is_empty());
    }
    sections.retain(|section| !section.tables.is_empty() || !section.plots.is_empty());
    sections
}
