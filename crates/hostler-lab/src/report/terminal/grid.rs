//! A table as lines of text.

use super::{Paint, clean, paragraph, shown, titles, wrapped};
use crate::report::table::{Table, Tone};

/// Between columns.
const GAP: usize = 2;

/// A column of words is not made narrower than this to fit.
const WORDS_LEAST: usize = 16;

/// Prints a table, in blocks if it is too wide.
pub(super) fn table(table: &Table, width: usize, paint: Paint, out: &mut Vec<String>) {
    paragraph("", &table.title, width, |text| paint.title(text), out);
    let widths = widths(table, width);
    for (index, block) in blocks(table, &widths, width).iter().enumerate() {
        if index > 0 {
            out.push(String::new());
        }
        let widths = &widened(table, block, &widths, width);
        group_lines(table, block, widths, paint, out);
        let titles = titles(table);
        let heads: Vec<(String, Tone)> =
            block.iter().map(|column| (titles[*column].clone(), Tone::Faint)).collect();
        lines(table, block, widths, &heads, paint, out);
        let rule: usize = block.iter().map(|column| widths[*column]).sum::<usize>() + GAP * (block.len() - 1);
        out.push(paint.faint(&"─".repeat(rule.min(width))));
        for row in &table.rows {
            let entries: Vec<(String, Tone)> =
                block.iter().map(|column| (shown(&row[*column]), row[*column].tone)).collect();
            lines(table, block, widths, &entries, paint, out);
        }
    }
    for note in &table.notes {
        paragraph("  ", note, width, |text| paint.faint(text), out);
    }
}

/// The columns' widths: as wide as their entries; words give way if the table would not fit.
fn widths(table: &Table, width: usize) -> Vec<usize> {
    let titles = titles(table);
    let mut widths: Vec<usize> = (0..table.columns.len())
        .map(|column| {
            let entries = table.rows.iter().map(|row| shown(&row[column]).chars().count());
            entries.chain([titles[column].chars().count()]).max().unwrap_or_default()
        })
        .collect();
    for (first, count) in table.groups() {
        // A group's title is wrapped, but its longest word must have room.
        let longest =
            clean(&table.columns[first].group).split_whitespace().map(|word| word.chars().count()).max();
        let inside = widths[first..first + count].iter().sum::<usize>() + GAP * (count - 1);
        widths[first + count - 1] += longest.unwrap_or_default().min(width / 3).saturating_sub(inside);
    }
    widths[0] = widths[0].min((width / 2).max(WORDS_LEAST));
    for column in (1..widths.len()).rev().filter(|column| table.columns[*column].words) {
        let all: usize = widths.iter().sum::<usize>() + GAP * (widths.len() - 1);
        let most = widths[column].saturating_sub(all.saturating_sub(width)).max(WORDS_LEAST);
        widths[column] = widths[column].min(most);
    }
    widths
}

/// The widths with words made as wide as they would be, as far as the block leaves room.
fn widened(table: &Table, block: &[usize], widths: &[usize], width: usize) -> Vec<usize> {
    let mut widths = widths.to_vec();
    let mut spare =
        width.saturating_sub(block.iter().map(|column| widths[*column] + GAP).sum::<usize>() - GAP);
    for column in block.iter().copied().filter(|column| table.columns[*column].words) {
        let natural =
            table.rows.iter().map(|row| shown(&row[column]).chars().count()).max().unwrap_or_default();
        let more = natural.saturating_sub(widths[column]).min(spare);
        widths[column] += more;
        spare -= more;
    }
    widths
}

/// Columns of each block: the first one, and as many groups as fit beside it.
fn blocks(table: &Table, widths: &[usize], width: usize) -> Vec<Vec<usize>> {
    let mut blocks = vec![vec![0]];
    let mut used = widths[0];
    for (first, count) in table.groups().into_iter().filter(|(first, _)| *first > 0) {
        let wide: usize = widths[first..first + count].iter().map(|width| width + GAP).sum();
        if used + wide > width && blocks.last().is_some_and(|block| block.len() > 1) {
            blocks.push(vec![0]);
            used = widths[0];
        }
        used += wide;
        if let Some(block) = blocks.last_mut() {
            block.extend(first..first + count);
        }
    }
    blocks
}

/// The lines with the groups' titles, if the block has any.
fn group_lines(table: &Table, block: &[usize], widths: &[usize], paint: Paint, out: &mut Vec<String>) {
    let spans: Vec<(Vec<String>, usize)> = table
        .groups()
        .into_iter()
        .filter(|(first, _)| block.contains(first))
        .map(|(first, count)| {
            let wide = widths[first..first + count].iter().sum::<usize>() + GAP * (count - 1);
            (wrapped(&clean(&table.columns[first].group), wide), wide)
        })
        .collect();
    let height = spans.iter().map(|(lines, _)| lines.len()).max().unwrap_or_default();
    for line in 0..height {
        let mut parts = Vec::new();
        for (lines, wide) in &spans {
            // Stand at the bottom, over the columns' titles.
            let text = (line + lines.len()).checked_sub(height).and_then(|index| lines.get(index));
            let text = text.map_or("", String::as_str);
            parts.push(format!("{text:>wide$}"));
        }
        out.push(paint.title(&parts.join(&" ".repeat(GAP))));
    }
}

/// A row, in as many lines as its words need.
fn lines(
    table: &Table,
    block: &[usize],
    widths: &[usize],
    entries: &[(String, Tone)],
    paint: Paint,
    out: &mut Vec<String>,
) {
    let cells: Vec<Vec<String>> =
        block.iter().zip(entries).map(|(column, (text, _))| wrapped(text, widths[*column].max(1))).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default().max(1);
    for line in 0..height {
        let mut parts = Vec::new();
        for ((column, text), (_, tone)) in block.iter().zip(&cells).zip(entries) {
            let wide = widths[*column];
            let text = text.get(line).map_or("", String::as_str);
            let padded = if table.columns[*column].words {
                format!("{text:<wide$}")
            } else {
                format!("{text:>wide$}")
            };
            parts.push(paint.tone(*tone, &padded));
        }
        out.push(parts.join(&" ".repeat(GAP)));
    }
}
