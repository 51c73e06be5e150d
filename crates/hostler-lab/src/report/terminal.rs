//! A report for the terminal: tables that fit its width, in columns of text.
//!
//! A table too wide is cut into blocks that each repeat the rows' names; words too long are wrapped. What came from
//! servers is freed of control characters, so that no answer can write to the terminal's own state.

use super::document::Document;
use super::setting;
use super::table::{Entry, Table, Tone};
use crate::run::Run;

mod grid;

/// The least width of a terminal.
const NARROWEST: usize = 40;

/// Styles of text; empty without colour.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    colour: bool,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour && !text.trim().is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.into()
        }
    }

    fn title(self, text: &str) -> String {
        self.wrap("1", text)
    }

    fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn tone(self, tone: Tone, text: &str) -> String {
        match tone {
            Tone::Plain => text.into(),
            Tone::Good => self.wrap("1;32", text),
            Tone::Bad => self.wrap("31", text),
            Tone::Faint => self.faint(text),
        }
    }
}

/// The whole report.
pub(super) fn report(run: &Run, width: usize, colour: bool) -> String {
    let width = width.max(NARROWEST);
    let paint = Paint { colour };
    let document = Document::new(run);
    let mut out = Vec::new();
    head(run, &document, width, paint, &mut out);
    for section in &document.sections {
        for table in &section.tables {
            out.push(String::new());
            grid::table(table, width, paint, &mut out);
        }
        if section.name == "setting" {
            out.push(String::new());
            for (name, value) in setting::facts(run) {
                paragraph(&format!("{name:<12}"), &value, width, |text| text.into(), &mut out);
            }
        }
    }
    listed("Advice", width, paint, &mut out, &advice(run));
    listed(
        "Notes",
        width,
        paint,
        &mut out,
        &run.notes.iter().map(|note| vec![note.clone()]).collect::<Vec<_>>(),
    );
    let mut text = out.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

fn head(run: &Run, document: &Document, width: usize, paint: Paint, out: &mut Vec<String>) {
    let scenario = &run.scenario;
    paragraph("", &format!("{} ({})", scenario.title, scenario.name), width, |text| paint.title(text), out);
    paragraph("", &scenario.source, width, |text| paint.faint(text), out);
    if let Some(why) = &document.incomplete {
        paragraph("", &format!("Incomplete: {why}."), width, |text| paint.tone(Tone::Bad, text), out);
    }
    out.push(String::new());
    paragraph("", &document.answer, width, |text| paint.title(text), out);
    for warning in &document.warnings {
        paragraph("Warning: ", &format!("{warning}."), width, |text| paint.tone(Tone::Bad, text), out);
    }
}

fn advice(run: &Run) -> Vec<Vec<String>> {
    run.advice
        .iter()
        .map(|advice| std::iter::once(&advice.says).chain(&advice.evidence).cloned().collect())
        .collect()
}

/// A title and points below it, each with points of its own.
fn listed(title: &str, width: usize, paint: Paint, out: &mut Vec<String>, points: &[Vec<String>]) {
    if points.is_empty() {
        return;
    }
    out.push(String::new());
    out.push(paint.title(title));
    for point in points {
        for (index, text) in point.iter().enumerate() {
            let mark = if index == 0 { "• " } else { "    " };
            paragraph(
                mark,
                text,
                width,
                |line| if index == 0 { line.into() } else { paint.faint(line) },
                out,
            );
        }
    }
}

/// Text wrapped behind a mark.
fn paragraph(mark: &str, text: &str, width: usize, style: impl Fn(&str) -> String, out: &mut Vec<String>) {
    let indent = mark.chars().count();
    for (index, line) in wrapped(&clean(text), width.saturating_sub(indent).max(20)).iter().enumerate() {
        let before = if index == 0 { mark.to_owned() } else { " ".repeat(indent) };
        out.push(format!("{before}{}", style(line)));
    }
}

/// Text without control characters; line ends are spaces.
fn clean(text: &str) -> String {
    let visible = |char: char| match char {
        _ if char.is_whitespace() => ' ',
        // Also what turns the direction of text around.
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ if char.is_control() => '\u{fffd}',
        _ => char,
    };
    text.chars().map(visible).collect()
}

/// Lines of at most `width` characters; longer words are cut.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        if length > 0 && length + 1 + rest.len() > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        while rest.len() > width {
            lines.push(rest.drain(..width).collect());
        }
        length += rest.len();
        line.extend(rest);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// An entry's text as it is printed.
fn shown(entry: &Entry) -> String {
    clean(&entry.text)
}

/// The columns' titles of a table as they are printed.
fn titles(table: &Table) -> Vec<String> {
    table.columns.iter().map(|column| clean(&column.title)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_and_long_words_are_cut() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}"), "a\u{fffd}[31mb c\u{fffd}");
    }
}
