//! The results for docs/performance.md: what the lab printed, and tables of what was measured here.

use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::process::Command;

const FILE: &str = "docs/performance.md";
const BEGIN: &str = "<!-- written by `cargo xtask bench`: begin -->";
const END: &str = "<!-- written by `cargo xtask bench`: end -->";

/// Everything that was found.
#[derive(Default)]
pub(crate) struct Report {
    /// Blocks of Markdown, in the order of their measurement.
    blocks: Vec<String>,
    single: Vec<(String, String)>,
    absent: Vec<String>,
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

    /// Prints the tables, and unless `only_print` puts them into docs/performance.md.
    pub(crate) fn publish(&self, only_print: bool) -> Result<()> {
        let text = self.markdown();
        println!("{text}");
        if only_print {
            eprintln!("not written to {FILE}: this was not a full run");
            return Ok(());
        }
        let old = fs::read_to_string(FILE).with_context(|| FILE.to_owned())?;
        fs::write(FILE, replaced(&old, &text)?)?;
        Ok(())
    }

    fn markdown(&self) -> String {
        let mut text = commit();
        for line in &self.absent {
            let _ = writeln!(text, "- {line}");
        }
        for block in &self.blocks {
            let _ = write!(text, "\n{block}");
        }
        if !self.single.is_empty() {
            text.push_str("\n| what | result |\n|---|---|\n");
            for (what, result) in &self.single {
                let _ = writeln!(text, "| {what} | {result} |");
            }
        }
        text
    }
}

/// What was measured; machine and versions are in the lab's reports.
fn commit() -> String {
    let git = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let commit =
        git.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    format!("- Hostler's commit: {commit}\n")
}

/// `old` with the part between the markers replaced.
fn replaced(old: &str, new: &str) -> Result<String> {
    let (before, rest) = old.split_once(BEGIN).with_context(|| format!("{FILE} has no line {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{FILE} has no line {END}"))?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", new.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_between_the_markers_changes() {
        let old = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        assert_eq!(replaced(&old, "new\n").unwrap(), format!("above\n{BEGIN}\n\nnew\n\n{END}\nbelow\n"));
        assert!(replaced("no markers", "new").is_err());
    }

    #[test]
    fn tables_and_single_figures_follow_one_another() {
        let mut report = Report::default();
        report.table("Two of them:", &["a", "b"], &[vec!["1".into(), "2".into()]]);
        report.line("c".into(), "3".into());
        let text = report.markdown();
        assert!(text.contains("\nTwo of them:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"), "{text}");
        assert!(text.ends_with("\n| what | result |\n|---|---|\n| c | 3 |\n"), "{text}");
    }
}
