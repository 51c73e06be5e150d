//! Bars with their intervals, in panels that each have a scale of their own: only bars of one panel are compared.

use super::{Drawing, Look, Size, colour_class, cut, text_width};

/// A plot of bars.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Bars {
    pub(in crate::report) panels: Vec<Panel>,
}

/// Bars of one scale.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Panel {
    pub(in crate::report) title: String,
    pub(in crate::report) bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug)]
pub(in crate::report) struct Bar {
    pub(in crate::report) label: String,
    pub(in crate::report) look: Look,
    /// Without: there is none, and `text` says why.
    pub(in crate::report) value: Option<f64>,
    pub(in crate::report) interval: Option<(f64, f64)>,
    /// Beside it.
    pub(in crate::report) text: String,
    /// The tooltip.
    pub(in crate::report) tip: String,
}

const THICK: f64 = 17.0;

/// An interval is drawn as far as so many times the longest bar.
const FAR: f64 = 1.5;

impl Bars {
    /// True if there is anything to draw.
    pub(in crate::report) fn is_empty(&self) -> bool {
        self.panels.iter().flat_map(|panel| &panel.bars).all(|bar| bar.value.is_none())
    }

    /// As SVG.
    pub(in crate::report) fn svg(&self, size: Size, name: &str) -> String {
        let mut drawing = Drawing::default();
        let mut y = 4.0;
        for panel in &self.panels {
            if !panel.title.is_empty() {
                y += 16.0;
                drawing.text("panel", "start", (0.0, y), &cut(&panel.title, (size.width() / 7.4) as usize));
                y += 8.0;
            }
            y = panel.draw(&mut drawing, size, y, self.label_width(size)) + 12.0;
        }
        drawing.svg(size, y, name)
    }

    /// Room for labels on the left; narrow plots have them over the bars.
    fn label_width(&self, size: Size) -> f64 {
        let labels = self.panels.iter().flat_map(|panel| &panel.bars).map(|bar| text_width(&bar.label));
        if size == Size::Narrow { 0.0 } else { labels.fold(0.0, f64::max).min(300.0) + 12.0 }
    }
}

impl Panel {
    /// Returns the end of the scale: intervals far above the bars are cut, or the bars would be invisible.
    fn most(&self) -> f64 {
        let largest = |of: fn(&Bar) -> Option<f64>| {
            self.bars
                .iter()
                .filter_map(of)
                .filter(|value| value.is_finite())
                .fold(f64::MIN_POSITIVE, f64::max)
        };
        let value = largest(|bar| bar.value);
        largest(|bar| bar.interval.map(|(_, high)| high)).clamp(value, value * FAR)
    }

    /// Draws it from `top` on; where it ends.
    fn draw(&self, drawing: &mut Drawing, size: Size, top: f64, left: f64) -> f64 {
        let most = self.most();
        let texts = self.bars.iter().filter(|bar| bar.value.is_some()).map(|bar| text_width(&bar.text));
        let room = size.width() - left - texts.fold(0.0, f64::max) - 16.0;
        let mut y = top;
        for bar in &self.bars {
            if left == 0.0 {
                y += 13.0;
                drawing.text("label", "start", (0.0, y), &cut(&bar.label, (size.width() / 7.0) as usize));
                y += 5.0;
            } else {
                let label = cut(&bar.label, ((left - 12.0) / 7.0).round() as usize);
                drawing.text("label", "end", (left - 10.0, y + THICK - 4.0), &label);
            }
            bar.draw(drawing, (left, y), most, |value| left + (value / most).clamp(0.0, 1.0) * room);
            y += THICK + 7.0;
        }
        drawing.line("axis", (left, top - 1.0), (left, y - 5.0));
        y
    }
}

impl Bar {
    fn draw(&self, drawing: &mut Drawing, at: (f64, f64), most: f64, place: impl Fn(f64) -> f64) {
        let (left, y) = at;
        let Some(value) = self.value.filter(|value| value.is_finite()) else {
            drawing.text("missing", "start", (left + 8.0, y + THICK - 4.0), &cut(&self.text, 60));
            return;
        };
        let end = place(value);
        drawing.add(&format!(
            "<g class=\"{}\"><rect class=\"bar\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{THICK}\" \
             rx=\"2\"><title>{}</title></rect></g>",
            colour_class(self.look),
            (end - left).max(1.0),
            super::escape(&self.tip)
        ));
        let mut text = end;
        if let Some((low, high)) = self.interval.filter(|(low, high)| high > low) {
            let middle = y + THICK / 2.0;
            drawing.line("whisker", (place(low), middle), (place(high), middle));
            // One that is cut has no end.
            for x in [low, high].into_iter().filter(|bound| *bound <= most).map(&place) {
                drawing.line("whisker", (x, middle - 4.0), (x, middle + 4.0));
            }
            text = text.max(place(high));
        }
        drawing.text("value", "start", (text + 7.0, y + THICK - 4.0), &self.text);
    }
}
