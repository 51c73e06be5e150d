//! The lines of a map: `directive value "title" x,y x,y ...`, read as functions of their text.

use super::shapes::Point;
use std::borrow::Cow;

/// Corners of a polygon.
const CORNERS: usize = 100;
/// Longest line, in bytes.
const LONGEST: usize = 8192;

/// The fault of a map.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MapError {
    /// This line lacks a field, or is too long.
    Line(usize),
    /// A base that is none, or a place above all.
    Place(&'static str),
    /// Its menu would be longer than so many megabytes.
    Menu(usize),
}

impl MapError {
    pub(super) fn told(&self, uri: &str) -> String {
        match self {
            Self::Line(line) => {
                format!("AH00679: map file {uri}, line {line} syntax error: requires at least two fields")
            }
            Self::Menu(most) => format!("the menu of map file {uri} would be longer than {most} MiB"),
            Self::Place(what) => format!("invalid {what} in map file: {uri}"),
        }
    }
}

/// The shape of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Polygon,
    Circle,
    Rectangle,
    Point,
    /// Of no shape that there is: it leads nowhere, and stands in menus.
    Other,
}

/// A line.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    Blank,
    Comment(&'a [u8]),
    Base(&'a [u8]),
    Default { value: &'a [u8], title: Option<&'a [u8]> },
    Area { shape: Shape, value: &'a [u8], title: Option<&'a [u8]>, points: Vec<Point> },
}

/// The lines with their numbers, trimmed; those that end with a backslash go on in the next.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, [u8]>)> {
    let mut physical = (1..).zip(text.strip_suffix(b"\n").unwrap_or(text).split(|&b| b == b'\n'));
    std::iter::from_fn(move || {
        let (mut number, first) = physical.next()?;
        let mut line = Cow::Borrowed(first.trim_ascii());
        while line.ends_with(b"\\") && line.len() < LONGEST {
            let Some((next, rest)) = physical.next() else { break };
            number = next;
            let owned = line.to_mut();
            owned.pop();
            owned.extend_from_slice(rest.trim_ascii_end());
        }
        Some((number, line))
    })
}

/// Reads a line.
pub(super) fn line(number: usize, line: &[u8]) -> Result<Line<'_>, MapError> {
    if line.is_empty() {
        return Ok(Line::Blank);
    }
    if let Some(comment) = line.strip_prefix(b"#") {
        return Ok(Line::Comment(comment));
    }
    if line.len() > LONGEST {
        return Err(MapError::Line(number));
    }
    let (directive, rest) = word(line).ok_or(MapError::Line(number))?;
    let (value, rest) = word(rest).unwrap_or((rest, b""));
    if value.is_empty() {
        return Err(MapError::Line(number));
    }
    if directive.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"base")) {
        return Ok(Line::Base(value));
    }
    let (title, rest) = quoted(rest);
    if directive.eq_ignore_ascii_case(b"default") {
        return Ok(Line::Default { value, title });
    }
    let (points, rest) = points(rest);
    let title = title.or_else(|| quoted(rest).0);
    Ok(Line::Area { shape: shape(directive), value, title, points })
}

fn shape(directive: &[u8]) -> Shape {
    match &directive.to_ascii_lowercase()[..] {
        b"poly" => Shape::Polygon,
        b"circle" => Shape::Circle,
        b"rect" => Shape::Rectangle,
        b"point" => Shape::Point,
        _ => Shape::Other,
    }
}

/// A word that something follows, and what that is.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(u8::is_ascii_whitespace)?;
    Some((&text[..end], text[end..].trim_ascii_start()))
}

/// A text in quotes, if it comes first; one that does not end goes to the end.
fn quoted(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let Some(inside) = text.trim_ascii_start().strip_prefix(b"\"") else { return (None, text) };
    match inside.iter().position(|&b| b == b'"') {
        Some(end) => (Some(&inside[..end]), &inside[end + 1..]),
        None => (Some(inside), b""),
    }
}

/// Pairs of numbers, as many as come.
fn points(mut text: &[u8]) -> (Vec<Point>, &[u8]) {
    let mut all = Vec::new();
    while all.len() < CORNERS {
        let Some((x, rest)) = number(text.trim_ascii_start()) else { break };
        let separators = rest.iter().take_while(|&&b| b == b',' || b == b' ').count();
        let Some((y, rest)) = number(rest[separators..].trim_ascii_start()).filter(|_| separators > 0) else {
            break;
        };
        all.push((x, y));
        text = rest;
    }
    (all, text)
}

/// A number that comes first.
pub(super) fn number(text: &[u8]) -> Option<(f64, &[u8])> {
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let digits = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = sign + digits(sign);
    let whole = end - sign;
    let mut fraction = 0;
    if text.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if whole + fraction == 0 || end > 40 {
        return None;
    }
    let number = std::str::from_utf8(&text[..end]).ok()?.parse().ok()?;
    Some((number, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_words_titles_and_points() {
        let area = |text: &'static str| match line(1, text.as_bytes()) {
            Ok(Line::Area { shape, value, title, points }) => (shape, value, title, points.len()),
            other => panic!("{other:?}"),
        };
        assert_eq!(area("rect /a 1,2 3,4"), (Shape::Rectangle, &b"/a"[..], None, 2));
        assert_eq!(area("poly /a \"A b\" 1,2 3 4 5, 6"), (Shape::Polygon, &b"/a"[..], Some(&b"A b"[..]), 3));
        assert_eq!(area("circle /a 1,2 1,3 \"late\""), (Shape::Circle, &b"/a"[..], Some(&b"late"[..]), 2));
        assert_eq!(area("point /a 1"), (Shape::Point, &b"/a"[..], None, 0));
        assert_eq!(line(1, b"base_uri map"), Ok(Line::Base(b"map")));
        assert_eq!(line(1, b"default /x \"t"), Ok(Line::Default { value: b"/x", title: Some(b"t") }));
        assert_eq!(line(7, b"rect"), Err(MapError::Line(7)));
        let many = format!("poly /a {}", "1,2 ".repeat(500));
        assert!(matches!(line(1, many.as_bytes()), Ok(Line::Area { points, .. }) if points.len() == CORNERS));
    }

    #[test]
    fn lines_are_joined() {
        let all: Vec<_> =
            lines(b" a b \nrect \\\n/a\n\n#x").map(|(n, line)| (n, line.into_owned())).collect();
        let expected: [(usize, &[u8]); 4] = [(1, b"a b"), (3, b"rect /a"), (4, b""), (5, b"#x")];
        assert_eq!(all, expected.map(|(n, line)| (n, line.to_vec())));
    }
}
