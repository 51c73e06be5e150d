//! Reports, made from runs: tables for the terminal, a page for the browser, CSV.
//!
//! Nothing is reported that is not in the [`Run`]; nothing here measures, opens files or sockets. A run becomes tables
//! and plots (`document`), which the terminal and the page show each in its way.

mod compared;
mod costs;
mod csv;
mod document;
mod escape;
mod figures;
mod histogram;
mod html;
mod load;
mod metric;
mod number;
mod picture;
mod plot;
mod plots;
mod published;
mod results;
#[cfg(test)]
mod sample;
mod setting;
mod table;
mod terminal;
#[cfg(test)]
mod tests;
mod verdict;
mod warnings;

use crate::run::Run;

/// The tables of a run as text, `width` columns wide at most; `colour`: with ANSI colours.
#[must_use]
pub fn terminal(run: &Run, width: usize, colour: bool) -> String {
    terminal::report(run, width, colour)
}

/// The run as one page that needs nothing else: style, plots and figures are in it.
#[must_use]
pub fn html(run: &Run) -> String {
    html::page(run)
}

/// Answers a second of each cell as one picture (SVG) that needs nothing else; `None`: nothing was measured.
#[must_use]
pub fn picture(run: &Run) -> Option<String> {
    picture::svg(run)
}

/// The run's samples as tables: file name and text (RFC 4180) of each.
#[must_use]
pub fn csv(run: &Run) -> Vec<(String, String)> {
    csv::tables(run)
}
