//! Lines over an axis, with bands of deviation, markers, and names beside their ends.

use super::scale::{Kind, Scale};
use super::{DASHES, Drawing, Look, Size, colour_class, cut, labels, text_width};

/// More points than this have no markers.
const MARKED: usize = 32;

/// Room for what stands above and below the lines.
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;

/// A plot of lines.
#[derive(Clone, Debug)]
pub(in crate::report) struct Lines {
    pub(in crate::report) x: Axis,
    pub(in crate::report) y: Axis,
    pub(in crate::report) series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug)]
pub(in crate::report) struct Axis {
    pub(in crate::report) title: String,
    pub(in crate::report) kind: Kind,
    /// A figure that the axis must reach, so that plots side by side have the same one.
    pub(in crate::report) reach: Option<f64>,
}

/// A line.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Series {
    pub(in crate::report) name: String,
    pub(in crate::report) look: Look,
    pub(in crate::report) points: Vec<Point>,
    /// Lower and upper bound around it, at the points' places; or none.
    pub(in crate::report) band: Vec<(f64, f64)>,
}

/// A point.
#[derive(Clone, Debug)]
pub(in crate::report) struct Point {
    pub(in crate::report) x: f64,
    pub(in crate::report) y: f64,
    /// The tooltip; empty: none.
    pub(in crate::report) tip: String,
}

/// The area in which the lines are drawn.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Lines {
    /// True if there is anything to draw.
    pub(in crate::report) fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    /// As SVG.
    pub(in crate::report) fn svg(&self, size: Size, name: &str) -> String {
        let height = self.height(size);
        let frame = self.frame(size, height);
        let mut drawing = Drawing::default();
        self.axes(&mut drawing, &frame, size);
        for series in &self.series {
            draw(series, &frame, &mut drawing);
        }
        if size == Size::Wide {
            self.names(&mut drawing, &frame);
        }
        for series in &self.series {
            for point in series.points.iter().filter(|point| !point.tip.is_empty()) {
                drawing.tip((frame.x.at(point.x), frame.y.at(point.y)), &point.tip);
            }
        }
        drawing.svg(size, height, name)
    }

    /// High enough that no name leaves the plot upwards.
    fn height(&self, size: Size) -> f64 {
        match size {
            Size::Wide => (TOP + labels::APART * self.series.len() as f64 + BOTTOM).max(380.0),
            Size::Narrow => 300.0,
        }
    }

    fn frame(&self, size: Size, height: f64) -> Frame {
        let longest = self.series.iter().map(|series| text_width(&cut(&series.name, 34))).fold(0.0, f64::max);
        let names = if size == Size::Wide && self.series.len() > 1 { longest + 16.0 } else { 14.0 };
        let (left, right, top, bottom) = (58.0, size.width() - names, TOP, height - BOTTOM);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let bands = self.series.iter().flat_map(|series| &series.band).flat_map(|(low, high)| [*low, *high]);
        let x = points().map(|point| point.x).chain(self.x.reach);
        let y = points().map(|point| point.y).chain(bands).chain(self.y.reach);
        Frame {
            left,
            right,
            top,
            bottom,
            x: Scale::new(self.x.kind, x, left + 6.0, right - 6.0),
            y: Scale::new(self.y.kind, y, bottom, top),
        }
    }

    fn axes(&self, drawing: &mut Drawing, frame: &Frame, size: Size) {
        for (value, name) in frame.y.ticks(6.0) {
            let y = frame.y.at(value);
            drawing.line("grid", (frame.left, y), (frame.right, y));
            drawing.text("tick", "end", (frame.left - 8.0, y + 4.0), &name);
        }
        drawing.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
        let count = if size == Size::Wide { 10.0 } else { 5.0 };
        for (value, name) in frame.x.ticks(count) {
            let x = frame.x.at(value);
            drawing.line("axis", (x, frame.bottom), (x, frame.bottom + 5.0));
            drawing.text("tick", "middle", (x, frame.bottom + 19.0), &name);
        }
        drawing.text("axis-title", "start", (4.0, 14.0), &self.y.title);
        drawing.text("axis-title", "end", (frame.right, frame.bottom + 38.0), &self.x.title);
    }

    /// The series' names beside their last points.
    fn names(&self, drawing: &mut Drawing, frame: &Frame) {
        let named: Vec<&Series> = self.series.iter().filter(|series| !series.points.is_empty()).collect();
        if self.series.len() < 2 {
            return;
        }
        let wanted: Vec<f64> =
            named.iter().filter_map(|series| series.points.last()).map(|last| frame.y.at(last.y)).collect();
        for (series, y) in named.iter().zip(labels::spread(&wanted, frame.top, frame.bottom)) {
            drawing.add(&format!("<g class=\"{}\">", colour_class(series.look)));
            drawing.text("name", "start", (frame.right + 8.0, y + 4.0), &cut(&series.name, 34));
            drawing.add("</g>");
        }
    }
}

/// Draws a series: its band, its line, its markers.
fn draw(series: &Series, frame: &Frame, drawing: &mut Drawing) {
    let places: Vec<(f64, f64)> =
        series.points.iter().map(|point| (frame.x.at(point.x), frame.y.at(point.y))).collect();
    drawing.add(&format!("<g class=\"{}\">", colour_class(series.look)));
    if series.band.len() == places.len() && places.len() > 1 {
        let upper = places.iter().zip(&series.band).map(|((x, _), (_, high))| (*x, frame.y.at(*high)));
        let lower = places.iter().zip(&series.band).rev().map(|((x, _), (low, _))| (*x, frame.y.at(*low)));
        drawing.add(&format!("<path class=\"band\" d=\"{}Z\"/>", path(upper.chain(lower))));
    }
    let dashes = DASHES[series.look.style % DASHES.len()];
    drawing.add(&format!(
        "<path class=\"curve\" stroke-dasharray=\"{dashes}\" d=\"{}\"/>",
        path(places.iter().copied())
    ));
    if places.len() <= MARKED {
        for place in &places {
            drawing.marker(series.look, *place);
        }
    }
    drawing.add("</g>");
}

/// A path through places.
fn path(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (index, (x, y)) in places.enumerate() {
        path.push_str(&format!("{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' }));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::{Axis, Kind, Lines, Point, Series, Size, TOP, labels};

    #[test]
    fn names_of_many_lines_stay_beside_them() {
        let axis = || Axis { title: String::new(), kind: Kind::FromZero, reach: None };
        let line = |n: usize| Series {
            name: format!("line {n}"),
            points: vec![
                Point { x: 1.0, y: 90.0, tip: String::new() },
                Point { x: 2.0, y: 100.0, tip: String::new() },
            ],
            ..Series::default()
        };
        for count in [2, 29, 60] {
            let lines = Lines { x: axis(), y: axis(), series: (0..count).map(line).collect() };
            let frame = lines.frame(Size::Wide, lines.height(Size::Wide));
            let wanted = vec![frame.y.at(100.0); count];
            let placed = labels::spread(&wanted, frame.top, frame.bottom);
            assert!(placed.iter().all(|place| *place >= TOP), "{count}: {placed:?}");
        }
    }
}
