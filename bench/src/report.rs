//! docs/performance.md, all of it: bench/head.md, what was measured on what, the aims, what the lab printed, and tables of
//! what was measured here.

use crate::aims;
use crate::begun::RunStart;
use crate::figures::{Figure, Figures};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;

const HEAD: &str = include_str!("../head.md");
const FILE: &str = "docs/performance.md";
const FOLDER: &str = "target/bench";
/// The file for a partial run.
const PARTIAL: &str = "target/bench/performance.md";

/// Everything that was found.
#[derive(Default)]
pub(crate) struct Report {
    /// Blocks of Markdown, in the order of their measurement.
    blocks: Vec<String>,
    single: Vec<(String, String)>,
    absent: Vec<String>,
    /// For the aims.
    pub(crate) figures: Figures,
}

impl Report {
    /// Adds a report of the lab.
    pub(crate) fn run(&mut self, report: &str) {
        self.blocks.push(format!("```text\n{}\n```\n", report.trim_end()));
    }

    /// Adds a table under a sentence that says what it is.
    pub(crate) fn table(&mut self, about: &str, head: &[&str], rows: &[Vec<String>]) {
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("{about}\n\n{}", line(head.to_vec()));
        text.push_str(&line(vec!["---"; head.len()]).replace(' ', ""));
        for row in rows {
            text.push_str(&line(row.iter().map(String::as_str).collect()));
        }
        eprintln!("{text}");
        self.blocks.push(text);
    }

    /// Adds a line to the table of single figures.
    pub(crate) fn line(&mut self, what: String, result: String) {
        eprintln!("{what}: {result}");
        self.single.push((what, result));
    }

    /// Remembers what could not be measured: a contestant, or a whole part.
    pub(crate) fn absent(&mut self, what: &str, why: &str) {
        let line = format!("{what}: {why}, not measured");
        if !self.absent.contains(&line) {
            eprintln!("{line}");
            self.absent.push(line);
        }
    }

    /// Records a figure that an aim may be about.
    pub(crate) fn figure(&mut self, name: &str, figure: Figure) {
        self.figures.measured.insert(name.to_owned(), figure);
    }

    /// Prints the tables, and writes them: a whole run of one commit to docs/performance.md, anything else below target.
    pub(crate) fn publish(&self, begun: &RunStart, partial: Option<&str>) -> Result<()> {
        let text = self.markdown(begun)?;
        println!("{text}");
        let file = match partial {
            None => FILE,
            Some(why) => {
                eprintln!("not written to {FILE}: {why}; see {PARTIAL}");
                fs::create_dir_all(FOLDER)?;
                PARTIAL
            }
        };
        fs::write(file, text).with_context(|| file.to_owned())
    }

    fn markdown(&self, begun: &RunStart) -> Result<String> {
        let mut text = format!("{HEAD}\n{}", begun.markdown());
        for line in &self.absent {
            let _ = writeln!(text, "- {line}");
        }
        let _ = write!(text, "\n## Aims\n\n{}\n## Figures\n", aims::table(&self.figures)?);
        for block in &self.blocks {
            let _ = write!(text, "\n{block}");
        }
        if !self.single.is_empty() {
            text.push_str("\n| what | result |\n|---|---|\n");
            for (what, result) in &self.single {
                let _ = writeln!(text, "| {what} | {result} |");
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_head_the_aims_and_the_figures() {
        let mut report = Report::default();
        report.table("Two of them:", &["a", "b"], &[vec!["1".into(), "2".into()]]);
        report.line("c".into(), "3".into());
        report.figure("idle/hostler", Figure::of(3.0));
        let begun = RunStart {
            commit: "abc".into(),
            changed: false,
            date: "2026-11-22T10:00:00Z".into(),
            build: "release".into(),
            machine: hostler_lab::run::Machine::default(),
        };
        let text = report.markdown(&begun).unwrap();
        assert!(
            text.starts_with("# Performance\n") && text.contains("\n- Hostler's commit: abc\n"),
            "{text}"
        );
        assert!(text.contains("an idle keep-alive connection: at most 10 KiB | yes | 3.00 KiB |"), "{text}");
        assert!(text.contains("\nTwo of them:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"), "{text}");
        assert!(text.ends_with("\n| what | result |\n|---|---|\n| c | 3 |\n"), "{text}");
    }
}
