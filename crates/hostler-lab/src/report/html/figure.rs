//! Plots on the page: drawn twice, for a wide and for a narrow window, with their figures behind them.

use super::table;
use crate::report::escape::escape;
use crate::report::plot::{self, Size};
use crate::report::plots::Plot;
use std::fmt::Write;

/// Some plots; those that take half of the page stand beside each other.
pub(super) fn figures(plots: &[Plot], out: &mut String) {
    let mut beside = false;
    for (index, plot) in plots.iter().enumerate() {
        if plot.half && !beside {
            out.push_str("<div class=\"halves\">\n");
        }
        if !plot.half && beside {
            out.push_str("</div>\n");
        }
        beside = plot.half;
        // What several say alike is said once.
        let said = index > 0 && plots[index - 1].says == plot.says;
        figure(plot, said, out);
    }
    if beside {
        out.push_str("</div>\n");
    }
}

fn figure(plot: &Plot, said: bool, out: &mut String) {
    let class = if plot.half { " class=\"half\"" } else { "" };
    let _ = write!(out, "<figure{class}>\n<figcaption><h3>{}</h3>", escape(&plot.title));
    if !said {
        let _ = write!(out, "<p>{}</p>", escape(&plot.says));
    }
    let legend = plot.picture.legend();
    if !legend.is_empty() {
        out.push_str("<ul class=\"legend\">");
        for (name, look) in legend {
            let _ = write!(out, "<li>{}{}</li>", plot::swatch(look), escape(name));
        }
        out.push_str("</ul>");
    }
    out.push_str("</figcaption>\n");
    if !plot.half {
        out.push_str(&plot.picture.svg(Size::Wide, &plot.title));
    }
    out.push_str(&plot.picture.svg(Size::Narrow, &plot.title));
    out.push_str("\n<details><summary>Figures</summary>\n");
    table::table(&plot.table, out);
    out.push_str("</details>\n</figure>\n");
}
