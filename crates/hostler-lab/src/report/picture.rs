//! One plot as a file of its own, for a page that shows a run and is no report: answers a second of each cell.

use super::escape::escape;
use super::figures::{self, Metric};
use super::html::STYLE;
use super::plot::Size;
use super::plots;
use crate::run::Run;
use std::fmt::Write;

/// Room for the title, and at the sides.
const HEAD: f64 = 58.0;
const MARGIN: f64 = 20.0;

/// As SVG, with its style; `None`: there is nothing to draw.
pub(super) fn svg(run: &Run) -> Option<String> {
    let plot = plots::rates(run, &figures::all(run))?;
    let drawn = plot.picture.svg(Size::Wide, &plot.title);
    let height: f64 =
        drawn.split_once("viewBox=\"0 0 ")?.1.split('"').next()?.split(' ').nth(1)?.parse().ok()?;
    let (width, whole) = (Size::Wide.width() + 2.0 * MARGIN, height + HEAD + MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {whole:.0}\" width=\"{width}\" height=\"{whole:.0}\">\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"var(--card)\"/>\n"
    );
    let about = format!(
        "{}; {}, {} processors, {}{}. {}",
        Metric::Rate.title(),
        run.machine.model,
        run.machine.processors,
        run.started.get(..10).unwrap_or_default(),
        if run.quick { ", quick" } else { "" },
        plot.says
    );
    let line = |out: &mut String, class: &str, y: f64, text: &str| {
        // Can't fail: it is a String.
        let _ = writeln!(out, "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escape(text));
    };
    line(&mut out, "panel", 24.0, &run.scenario.title);
    line(&mut out, "tick", 42.0, &about);
    let place =
        format!("<svg x=\"{MARGIN}\" y=\"{HEAD}\" width=\"{}\" height=\"{height}\"", Size::Wide.width());
    out.push_str(&drawn.replacen("<svg", &place, 1));
    out.push_str("\n</svg>\n");
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::scenario::Shape;

    #[test]
    fn a_picture_has_a_bar_for_each_cell_and_says_when_and_where() {
        let run = sample::run(Shape::Latency, "bench2");
        let picture = svg(&run).unwrap();
        let taken = figures::all(&run).iter().filter(|cell| cell.is_taken()).count();
        assert_eq!(picture.matches("class=\"bar\"").count(), taken);
        assert!(picture.contains(&run.started[..10]) && picture.contains("xmlns="), "{picture}");
        assert_eq!(picture.matches("<svg").count(), picture.matches("</svg>").count());
    }

    #[test]
    fn a_run_without_figures_has_none() {
        let mut run = sample::run(Shape::Latency, "bench2");
        run.cells.clear();
        assert_eq!(svg(&run), None);
    }
}
