//! Bars with intervals: one for each cell.

use super::{Picture, Plot, look};
use crate::method::statistics;
use crate::report::figures::{self, Figures, Metric};
use crate::report::number;
use crate::report::plot::bars::{Bar, Bars, Panel};
use crate::report::table::{Table, faint, plain};
use crate::run::Run;
use crate::scenario::Shape;

/// Bars of figures that differ by more than this do not share a scale, where they need not be compared.
const SPAN: f64 = 25.0;

pub(super) fn plot(run: &Run, cells: &[Figures<'_>], metric: Metric) -> Plot {
    let taken: Vec<Figures<'_>> = cells.iter().filter(|cell| cell.is_taken()).copied().collect();
    let panels = panels(run, &taken, metric);
    let better = if metric.more_is_better() { "longer is better" } else { "shorter is better" };
    let scales = if panels.len() > 1 { "; each group has a scale of its own" } else { "" };
    Plot {
        title: capital(metric.title()),
        says: format!("Median of the rounds with its 95 % interval; {better}{scales}."),
        table: table(run, &taken, metric),
        picture: Picture::Bars(Bars { panels }),
        half: false,
    }
}

fn panels(run: &Run, cells: &[Figures<'_>], metric: Metric) -> Vec<Panel> {
    let mut keys: Vec<String> = Vec::new();
    let key = |cell: &Figures<'_>| panel_key(run, cells, metric, cell);
    for cell in cells {
        if !keys.contains(&key(cell)) {
            keys.push(key(cell));
        }
    }
    let panel = |name: &String| {
        let of_panel: Vec<&Figures<'_>> = cells.iter().filter(|cell| key(cell) == *name).collect();
        let one_case = of_panel.iter().all(|cell| cell.case_number == of_panel[0].case_number);
        let one_server = of_panel.iter().all(|cell| cell.server_number == of_panel[0].server_number);
        let label = |cell: &Figures<'_>| match (one_case, one_server) {
            (true, _) => cell.server.to_owned(),
            (false, true) => cell.case.title.clone(),
            (false, false) => cell.name(run),
        };
        let title = if one_case { of_panel[0].case.title.clone() } else { name.clone() };
        Panel { title, bars: of_panel.iter().map(|cell| bar(run, cell, metric, label(cell))).collect() }
    };
    keys.iter().map(panel).collect()
}

/// Cells of one key share a scale: what a reader compares.
fn panel_key(run: &Run, cells: &[Figures<'_>], metric: Metric, cell: &Figures<'_>) -> String {
    match run.scenario.report {
        Shape::Registry => cell.case.name.split('-').next().unwrap_or_default().to_owned(),
        Shape::Include => cell.case.technique.clone(),
        Shape::Isolation => cell.case.name.clone(),
        _ if figures::are_peers(run) => String::new(),
        _ => {
            let values = || cells.iter().filter_map(|cell| cell.median(metric)).filter(|value| *value > 0.0);
            let most = values().fold(0.0, f64::max);
            let least = values().fold(f64::INFINITY, f64::min);
            if most > least * SPAN { cell.case.name.clone() } else { String::new() }
        }
    }
}

fn bar(run: &Run, cell: &Figures<'_>, metric: Metric, label: String) -> Bar {
    let values = cell.values(metric);
    let value = statistics::median(&values);
    let interval = interval(&values);
    let text = match value {
        Some(value) if metric == Metric::Rate && cell.generator_bound() => {
            format!("{} †", metric.text(value))
        }
        Some(value) => metric.text(value),
        None if cell.answers() == 0 => cell.without_figures().into(),
        None => "not measured".into(),
    };
    let mut tip = format!("{}: {text}", cell.name(run));
    if let Some((low, high)) = interval {
        tip.push_str(&format!(
            " (95 %: {} to {}; {} rounds)",
            metric.text(low),
            metric.text(high),
            values.len()
        ));
    }
    Bar { label, look: look(run, cell), value, interval, text, tip }
}

/// An interval never reaches below nothing.
fn interval(values: &[f64]) -> Option<(f64, f64)> {
    statistics::interval(values).map(|(low, high)| (low.max(0.0), high))
}

fn table(run: &Run, cells: &[Figures<'_>], metric: Metric) -> Table {
    let mut table = Table::new("", "");
    for title in ["median", "from", "to", "rounds"] {
        table.column(if title == "from" || title == "to" { "95 % interval" } else { "" }, title);
    }
    for cell in cells {
        let values = cell.values(metric);
        let text =
            |value: Option<f64>| value.map_or_else(|| faint(number::NONE), |value| plain(metric.text(value)));
        let interval = interval(&values);
        table.row([
            plain(cell.name(run)),
            text(statistics::median(&values)),
            text(interval.map(|(low, _)| low)),
            text(interval.map(|(_, high)| high)),
            plain(values.len().to_string()),
        ]);
    }
    table
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
