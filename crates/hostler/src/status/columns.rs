//! Tables for people: columns as wide as their widest entry, two spaces apart, the first to the left and numbers to
//! the right.

use std::fmt::Write;

/// Lines of a table; the first row is its head.
pub(super) fn lines(rows: &[Vec<String>]) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match at {
                0 => write!(line, "{cell:width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// A row of words.
pub(super) fn row<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_in_line() {
        let text = lines(&[row(["SITE", "N"]), row(["www-data", "1"]), row(["x", "100"])]);
        assert_eq!(text, "SITE        N\nwww-data    1\nx         100\n");
    }
}
