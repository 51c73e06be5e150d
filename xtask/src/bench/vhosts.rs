//! 10,000 virtual hosts: how long the configuration takes to check, and whether finding one of them costs.

use crate::bench::contestant::{self, Kind, Running};
use crate::bench::report::{Report, Row};
use crate::bench::site::Site;
use crate::bench::{Options, cases, measure};
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

const HOSTS: u32 = 10_000;
/// Near the end, for those who search in order.
const ASKED_FOR: &str = "site9990.example";

pub(crate) fn run(site: &Site, options: &Options, report: &mut Report) -> Result<()> {
    let many = sections(site);
    for kind in options.present(&[Kind::Hostler, Kind::ApachePrefork], report) {
        eprintln!("virtual-hosts: check with {}", kind.name());
        let port = contestant::free_port()?;
        let file = contestant::write_configuration(kind, site, port, &many)?;
        let (_, rounds) = options.effort();
        let mut seconds = Vec::new();
        for _ in 0..rounds {
            seconds.push(check(kind, &file)?);
        }
        report.check(kind, HOSTS, measure::median(seconds));
    }
    lookup(site, options, report, &many)
}

/// The same request against one virtual host and against the 9,990th of 10,000.
fn lookup(site: &Site, options: &Options, report: &mut Report, many: &str) -> Result<()> {
    for kind in options.present(&[Kind::Hostler], report) {
        let (length, rounds) = options.effort();
        let mut case = cases::all().into_iter().next().context("a case")?;
        case.host = Some(ASKED_FOR);
        let contestants = [Running::start(kind, site, "")?, Running::start(kind, site, many)?];
        measure::same_answers(&contestants, &case)?;
        let mut samples = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            for turn in 0..2 {
                let index = usize::from((round + turn) % 2 == 1);
                eprintln!("virtual-hosts: round {} of {rounds}", round + 1);
                samples[index].push(measure::sample(&contestants[index], &case, length)?);
            }
        }
        let [one, ten_thousand] = samples;
        let rows = vec![
            Row::new("Hostler, 10,000 virtual hosts", ten_thousand),
            Row::new("Hostler, one virtual host", one),
        ];
        report.case(
            "virtual-hosts",
            "4 KB file of the 9,990th of 10,000 virtual hosts, keep-alive, 15 connections",
            rows,
        );
    }
    Ok(())
}

fn sections(site: &Site) -> String {
    let mut text = String::new();
    for number in 0..HOSTS {
        let _ = write!(
            text,
            "<VirtualHost *>\n  ServerName site{number}.example\n  ServerAlias www.site{number}.example\n  \
             DocumentRoot \"{}\"\n</VirtualHost>\n",
            site.path("htdocs").display()
        );
    }
    text
}

/// Seconds that the contestant takes to find its configuration right.
fn check(kind: Kind, file: &std::path::Path) -> Result<f64> {
    let program = kind.program().context("it is installed")?;
    let mut command = Command::new(program);
    if kind == Kind::Hostler {
        command.arg("check");
    } else {
        command.arg("-t");
    }
    let begin = Instant::now();
    let output = command.arg("-f").arg(file).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("{}: {}", kind.name(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(begin.elapsed().as_secs_f64())
}
