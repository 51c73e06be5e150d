//! Plots as SVG that stands inside a page: colours are the page's variables, so that light and dark both work, and
//! no series differs from another in colour alone (dashes, markers, names beside the lines).

pub(super) mod bars;
mod labels;
pub(super) mod lines;
pub(super) mod scale;

use super::escape::escape;
use std::fmt::Write;

/// The number of colours in the page's style.
pub(super) const COLOURS: usize = 16;

/// Dashes of lines, by style; the first is none.
pub(super) const DASHES: [&str; 4] = ["", "7 4", "2 4", "10 3 2 3"];

/// The appearance of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Number of its colour.
    pub(super) colour: usize,
    /// Number of its dashes and marker.
    pub(super) style: usize,
}

/// For how much room a plot is drawn; the page shows what fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// The page's whole width.
    Wide,
    /// A phone's width, or half of the page.
    Narrow,
}

impl Size {
    pub(super) fn width(self) -> f64 {
        match self {
            Self::Wide => 880.0,
            Self::Narrow => 400.0,
        }
    }
}

/// A drawing that grows.
#[derive(Default)]
pub(super) struct Drawing {
    body: String,
}

impl Drawing {
    /// Adds markup; coordinates and classes only, never text from outside.
    pub(super) fn add(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Adds a line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// Adds text; `anchor` is `start`, `middle` or `end`.
    pub(super) fn text(&mut self, class: &str, anchor: &str, at: (f64, f64), text: &str) {
        let _ = write!(
            self.body,
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            at.0,
            at.1,
            escape(text)
        );
    }

    /// Adds a series' marker.
    pub(super) fn marker(&mut self, look: Look, at: (f64, f64)) {
        self.add(&marker(look.style, at));
    }

    /// Adds something to point at, with what it then says.
    pub(super) fn tip(&mut self, at: (f64, f64), text: &str) {
        let _ = write!(
            self.body,
            "<circle class=\"tip\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"9\"><title>{}</title></circle>",
            at.0,
            at.1,
            escape(text)
        );
    }

    /// The finished SVG.
    pub(super) fn svg(self, size: Size, height: f64, name: &str) -> String {
        let class = match size {
            Size::Wide => "wide",
            Size::Narrow => "narrow",
        };
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {} {height:.0}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            size.width(),
            escape(name),
            self.body
        )
    }
}

/// Opens a group in a series' colour.
pub(super) fn colour_class(look: Look) -> String {
    format!("c{}", look.colour % COLOURS)
}

/// A marker's markup: circle, square, triangle, diamond.
pub(super) fn marker(style: usize, at: (f64, f64)) -> String {
    let (x, y) = at;
    match style % 4 {
        0 => format!("<circle class=\"mark\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\"/>"),
        1 => format!(
            "<rect class=\"mark\" x=\"{:.1}\" y=\"{:.1}\" width=\"6.4\" height=\"6.4\"/>",
            x - 3.2,
            y - 3.2
        ),
        2 => format!("<path class=\"mark\" d=\"M{x:.1} {:.1}l4.2 7.4h-8.4z\"/>", y - 4.6),
        _ => format!("<path class=\"mark\" d=\"M{x:.1} {:.1}l4.4 4.4l-4.4 4.4l-4.4 -4.4z\"/>", y - 4.4),
    }
}

/// A short piece of a series' line, for legends.
pub(super) fn swatch(look: Look) -> String {
    format!(
        "<svg class=\"swatch {}\" viewBox=\"0 0 34 12\" aria-hidden=\"true\"><path class=\"curve\" d=\"M1 6H33\" \
         stroke-dasharray=\"{}\"/>{}</svg>",
        colour_class(look),
        DASHES[look.style % DASHES.len()],
        marker(look.style, (17.0, 6.0))
    )
}

/// Text cut to so many characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Width of text of the plots' size, nearly.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 7.0
}
