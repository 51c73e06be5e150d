//! Reports, made from runs: tables for the terminal, a page for the browser, CSV.
//!
//! Nothing is reported that is not in the [`Run`]; nothing here measures, opens files or sockets.

use crate::run::Run;

/// The tables of a run as text, `width` columns wide at most; `colour`: with ANSI colours.
#[must_use]
pub fn terminal(run: &Run, width: usize, colour: bool) -> String {
    let _ = (width, colour);
    run.scenario.title.clone()
}

/// The run as one page that needs nothing else: style, plots and figures are in it.
#[must_use]
pub fn html(run: &Run) -> String {
    run.scenario.title.clone()
}

/// The run's samples as tables: file name and text (RFC 4180) of each.
#[must_use]
pub fn csv(run: &Run) -> Vec<(String, String)> {
    let _ = run;
    Vec::new()
}
