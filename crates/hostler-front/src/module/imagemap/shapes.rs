//! Points and areas of a picture.

use super::map::{Shape, number};

/// Across and down.
pub(super) type Point = (f64, f64);

/// The point that a query names (`?x,y`); `None`: none, or the corner that browsers without a pointer send.
pub(super) fn point(query: &[u8]) -> Option<Point> {
    let start = query.iter().position(|b| b.is_ascii_digit() || *b == b',')?;
    let (x, _) = number(&query[start..])?;
    let comma = query.iter().position(|&b| b == b',')?;
    let rest = &query[comma + 1..];
    let start = rest.iter().position(u8::is_ascii_digit)?;
    let (y, _) = number(&rest[start..])?;
    (x != 0.0 || y != 0.0).then_some((x, y))
}

/// Returns whether an area has a point.
pub(super) fn has(shape: Shape, point: Point, points: &[Point]) -> bool {
    match (shape, points) {
        (Shape::Polygon, _) => in_polygon(point, points),
        (Shape::Circle, [middle, edge, ..]) => distance(point, *middle) <= distance(*edge, *middle),
        (Shape::Rectangle, [a, b, ..]) => {
            let within = |n: f64, a: f64, b: f64| n >= a.min(b) && n <= a.max(b);
            within(point.0, a.0, b.0) && within(point.1, a.1, b.1)
        }
        _ => false,
    }
}

/// The square of how far two points are apart.
pub(super) fn distance(a: Point, b: Point) -> f64 {
    (a.0 - b.0) * (a.0 - b.0) + (a.1 - b.1) * (a.1 - b.1)
}

/// By how often a line from the point crosses the edge.
fn in_polygon((x, y): Point, corners: &[Point]) -> bool {
    let mut crossings = 0;
    for (n, &(x1, y1)) in corners.iter().enumerate() {
        let (x2, y2) = corners[(n + 1) % corners.len()];
        let d = (y - y1) * (x2 - x1) - (x - x1) * (y2 - y1);
        if (y1 >= y) != (y2 >= y) {
            crossings += usize::from(if y2 - y1 >= 0.0 { d >= 0.0 } else { d <= 0.0 });
        }
        let is_between = |n: f64, a: f64, b: f64| a.min(b) <= n && n <= a.max(b);
        if d == 0.0 && is_between(x, x1, x2) && is_between(y, y1, y2) {
            return true;
        }
    }
    crossings % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_name_points() {
        assert_eq!(point(b"10,20"), Some((10.0, 20.0)));
        assert_eq!(point(b"x=1.5,y=2"), Some((1.5, 2.0)));
        for none in [&b""[..], b"0,0", b"1", b"1,", b",2", b"a,b"] {
            assert_eq!(point(none), None);
        }
    }

    #[test]
    fn areas_have_points() {
        let corners = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)];
        let inside = |shape, x, y| has(shape, (x, y), &corners);
        assert!(inside(Shape::Polygon, 2.0, 2.0) && inside(Shape::Polygon, 5.0, 5.0));
        assert!(!inside(Shape::Polygon, 6.0, 6.0));
        assert!(inside(Shape::Circle, 0.0, 10.0) && !inside(Shape::Circle, 8.0, 8.0));
        assert!(has(Shape::Rectangle, (1.0, 2.0), &[(3.0, 3.0), (0.0, 1.0)]));
        assert!(!has(Shape::Rectangle, (1.0, 2.0), &corners[..1]));
    }
}
