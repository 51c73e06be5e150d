//! The results as Markdown: tables for docs/performance.md, and what issue-sized goals say about them.

use crate::bench::contestant::Kind;
use crate::bench::measure::{Sample, median};
use crate::bench::wrk;
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::process::Command;

const FILE: &str = "docs/performance.md";
const BEGIN: &str = "<!-- written by `cargo xtask bench`: begin -->";
const END: &str = "<!-- written by `cargo xtask bench`: end -->";
/// Above this share of its core the load generator, not the server, may have set the limit.
const GENERATOR_LIMIT: f64 = 0.95;

/// One contestant's rounds of one case.
pub(crate) struct Row {
    name: String,
    samples: Vec<Sample>,
}

impl Row {
    pub(crate) fn new(name: &str, samples: Vec<Sample>) -> Self {
        Self { name: name.to_owned(), samples }
    }

    fn rate(&self) -> f64 {
        median(self.samples.iter().map(|sample| sample.rate))
    }

    fn p99(&self) -> f64 {
        median(self.samples.iter().map(|sample| sample.p99))
    }

    /// This row's rate as a part of `other`'s, round by round: median, lowest, highest.
    fn ratio(&self, other: &Self) -> (f64, f64, f64) {
        let rounds: Vec<f64> =
            self.samples.iter().zip(&other.samples).map(|(a, b)| a.rate / b.rate).collect();
        let (low, high) = range(&rounds);
        (median(rounds), low, high)
    }
}

struct Case {
    name: &'static str,
    description: &'static str,
    rows: Vec<Row>,
}

/// Everything that was found.
#[derive(Default)]
pub(crate) struct Report {
    cases: Vec<Case>,
    single: Vec<(String, String)>,
    absent: Vec<Kind>,
}

impl Report {
    /// Adds a case's rows, in the order of the table; ratios are to the first.
    pub(crate) fn case(&mut self, name: &'static str, description: &'static str, rows: Vec<Row>) {
        for row in &rows {
            eprintln!("{name}: {} {:.0}/s, p99 {:.2} ms", row.name, row.rate(), row.p99());
        }
        self.cases.push(Case { name, description, rows });
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
        let mut text = machine();
        for kind in &self.absent {
            let _ = writeln!(text, "- {}: not installed, not measured", kind.name());
        }
        self.cases.iter().for_each(|case| case_table(&mut text, case));
        if !self.single.is_empty() {
            text.push_str("\n| what | result |\n|---|---|\n");
            for (what, result) in &self.single {
                let _ = writeln!(text, "| {what} | {result} |");
            }
        }
        self.derived(&mut text);
        text
    }

    /// Ratios between cases.
    fn derived(&self, text: &mut String) {
        let hostler = |case: &str| {
            let rows = &self.cases.iter().find(|known| known.name == case)?.rows;
            rows.iter().find(|row| row.name == Kind::Hostler.name())
        };
        let mut lines = Vec::new();
        if let (Some(ssi), Some(file)) = (hostler("ssi"), hostler("static-15")) {
            lines.push(format!(
                "Hostler's SSI page reaches {:.0} % of its own static rate.",
                100.0 * ssi.ratio(file).0
            ));
        }
        if let (Some(kept), Some(closed)) = (hostler("ssi"), hostler("ssi-close")) {
            let factor = kept.ratio(closed).0;
            lines
                .push(format!("With keep-alive Hostler's SSI page is {factor:.2} times as fast as without."));
        }
        if !lines.is_empty() {
            let _ = write!(text, "\n{}\n", lines.join("\n"));
        }
    }
}

fn case_table(text: &mut String, case: &Case) {
    let _ = write!(
        text,
        "\n### `{}`: {}\n\n| | requests/s | lowest to highest | p99 ms | CPU µs/request | rate of the first (rounds) |\n\
         |---|---:|---:|---:|---:|---:|\n",
        case.name, case.description
    );
    let mut limited = false;
    for row in &case.rows {
        let (low, high) = range(&row.samples.iter().map(|sample| sample.rate).collect::<Vec<_>>());
        let at_limit = median(row.samples.iter().map(|sample| sample.generator)) > GENERATOR_LIMIT;
        limited |= at_limit;
        let ratio = match case.rows.first() {
            Some(first) if first.name != row.name => {
                let (middle, low, high) = first.ratio(row);
                format!("{middle:.2} ({low:.2} to {high:.2})")
            }
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "| {} | {:.0}{} | {low:.0} to {high:.0} | {:.2} | {:.1} | {ratio} |",
            row.name,
            row.rate(),
            if at_limit { " †" } else { "" },
            row.p99(),
            median(row.samples.iter().map(|sample| sample.processor)),
        );
    }
    if limited {
        text.push_str("\n† the load generator used its whole core: the server may be able to do more.\n");
    }
}

/// Machine and versions.
fn machine() -> String {
    let field = |file: &str, name: &str| -> String {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or("unknown", |(_, value)| value.trim()).to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut text = format!(
        "- Machine: {cores} cores ({}), {} of memory, Linux {}; load generator on the same machine\n",
        field("/proc/cpuinfo", "model name"),
        field("/proc/meminfo", "MemTotal"),
        kernel.trim()
    );
    let git = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let commit =
        git.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let versions = [Kind::Hostler, Kind::Nginx, Kind::ApacheEvent, Kind::Starman]
        .iter()
        .filter_map(|kind| kind.version());
    let _ =
        writeln!(text, "- Versions: {}; Hostler's commit {commit}", versions.collect::<Vec<_>>().join("; "));
    let _ = writeln!(text, "- Load: {}, one thread", wrk::version().unwrap_or_default());
    text
}

/// `old` with the part between the markers replaced.
fn replaced(old: &str, new: &str) -> Result<String> {
    let (before, rest) = old.split_once(BEGIN).with_context(|| format!("{FILE} has no line {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{FILE} has no line {END}"))?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", new.trim()))
}

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, rates: &[f64]) -> Row {
        let sample = |rate: &f64| Sample { rate: *rate, p99: 1.0, processor: 2.0, generator: 0.5 };
        Row::new(name, rates.iter().map(sample).collect())
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let (middle, low, high) = row("a", &[10.0, 30.0, 20.0]).ratio(&row("b", &[10.0, 10.0, 10.0]));
        assert!((middle - 2.0).abs() < 1e-9 && (low - 1.0).abs() < 1e-9 && (high - 3.0).abs() < 1e-9);
    }

    #[test]
    fn only_the_part_between_the_markers_changes() {
        let old = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        assert_eq!(replaced(&old, "new\n").unwrap(), format!("above\n{BEGIN}\n\nnew\n\n{END}\nbelow\n"));
        assert!(replaced("no markers", "new").is_err());
    }
}
