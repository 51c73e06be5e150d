//! Plots on the page: drawn twice, for a wide and for a narrow window, with their figures behind them.

use super::table;
use crate::report::escape::escape;
use crate::report::plot::{self, Size};
use crate::report::plots::Plot;
use std::fmt::Write;

/// Some plots; those that take half of the page stand beside each other.
pub(super) fn figures(plots: &[Plot], out: &mut String) {
    let mut beside = false;
    for plot in plots {
        if plot.half && !beside {
            // What all of them say is said once, over them.
            let _ = writeln!(out, "<p class=\"note\">{}</p>\n<div class=\"halves\">", escape(&plot.says));
        }
        if !plot.half && beside {
            out.push_str("</div>\n");
        }
        beside = plot.half;
        figure(plot, out);
    }
    if beside {
        out.push_str("</div>\n");
    }
}

fn figure(plot: &Plot, out: &mut String) {
    let class = if plot.half { " class=\"half\"" } else { "" };
    let _ = write!(out, "<figure{class}>\n<figcaption><h3>{}</h3>", escape(&plot.title));
    if !plot.half {
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
