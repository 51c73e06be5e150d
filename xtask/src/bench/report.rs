//! The results for docs/performance.md: what the lab printed, and a table of what was measured here.

use crate::bench::contestant::Kind;
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
    /// Reports of the lab.
    runs: Vec<String>,
    single: Vec<(String, String)>,
    absent: Vec<Kind>,
}

impl Report {
    /// Adds a report of the lab.
    pub(crate) fn run(&mut self, report: String) {
        self.runs.push(report);
    }

    pub(crate) fn idle(&mut self, kind: Kind, count: u32, kilobytes: f64, total: u64) {
        self.line(
            format!("{}: memory (PSS) for each of {count} idle keep-alive connections", kind.name()),
            format!("{kilobytes:.1} KiB ({} MiB in all)", total / 1024),
        );
    }

    pub(crate) fn check(&mut self, kind: Kind, hosts: u32, seconds: f64) {
        self.line(
            format!("{}: checking a configuration of {hosts} virtual hosts", kind.name()),
            format!("{seconds:.2} s"),
        );
    }

    pub(crate) fn start(&mut self, kind: Kind, middle: f64, longest: f64) {
        self.line(
            format!("{}: start to first answer", kind.name()),
            format!("{middle:.0} ms (longest {longest:.0} ms)"),
        );
    }

    /// Remembers that a contestant is not installed.
    pub(crate) fn absent(&mut self, kind: Kind) {
        if !self.absent.contains(&kind) {
            eprintln!("{} is not installed", kind.name());
            self.absent.push(kind);
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

    fn line(&mut self, what: String, result: String) {
        eprintln!("{what}: {result}");
        self.single.push((what, result));
    }

    fn markdown(&self) -> String {
        let mut text = commit();
        for kind in &self.absent {
            let _ = writeln!(text, "- {}: not installed, not measured", kind.name());
        }
        for run in &self.runs {
            let _ = write!(text, "\n```text\n{}\n```\n", run.trim_end());
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
}
