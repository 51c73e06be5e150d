//! 10,000 virtual hosts: how long the configuration takes to check, and whether finding one of them costs.

use crate::Options;
use crate::drive::{Page, Rounds, Sample, order};
use crate::figures::Figure;
use crate::report::Report;
use crate::stage::{Stage, present, title};
use anyhow::{Context, Result, bail};
use hostler_lab::contestant::{self, Running};
use hostler_lab::method::statistics::median;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const HOSTS: u32 = 10_000;

/// The first, and one near the end, for those who search in order.
const ASKED: [&str; 2] = ["site0.example", "site9990.example"];
const CLIENTS: u32 = 15;

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    let stage = Stage::new("include", &sections("@ROOT@/htdocs"))?;
    for name in present(&["hostler", "apache-prefork"], report) {
        // It runs while its configuration is checked: its folders are there, and an idle server takes no time.
        let server = stage.start(name)?;
        let file = stage.logs(name).join("server.conf");
        let seconds: Vec<f64> = (0..options.times()).map(|_| check(name, &file)).collect::<Result<_>>()?;
        let middle = median(&seconds).unwrap_or(f64::NAN);
        report.figure(&format!("check/{name}"), Figure::of(middle));
        report.line(
            format!("{}: checking a configuration of {HOSTS} virtual hosts", title(name)),
            format!("{middle:.2} s"),
        );
        if name == "hostler" {
            first_and_late(&server, options, report)?;
        }
    }
    Ok(())
}

/// Both at one server, in turns: minutes apart, a machine that others share would differ more than the two do.
fn first_and_late(server: &Running, options: &Options, report: &mut Report) -> Result<()> {
    let pages =
        ASKED.each_ref().map(|host| Page { server, hosts: std::slice::from_ref(host), path: "/small.html" });
    for page in &pages {
        page.warm_up(CLIENTS, options.seconds())?;
    }
    let mut found = [Rounds::default(), Rounds::default()];
    for round in 0..2 * options.rounds() {
        for turn in order(round, 2) {
            found[turn].0.push(pages[turn].closed(CLIENTS, options.seconds())?);
        }
    }
    let [first, late] = &found;
    let (rate, processor) = (|sample: &Sample| sample.rate, |sample: &Sample| sample.processor);
    for (name, of) in [("rate", rate as fn(&Sample) -> f64), ("processor", processor)] {
        if let Some(figure) = late.ratio(of, first, of) {
            report.figure(&format!("virtual-hosts/{name}"), figure);
        }
    }
    let about = format!(
        "A file of 4 KB of the first of {HOSTS} virtual hosts and of the 9,990th, {CLIENTS} clients, at one server in turns \
         (second to first, with its 95 % interval):"
    );
    let head = ["first, requests/s", "9,990th", "9,990th : first", "processor time, 9,990th : first"];
    let row = vec![
        format!("{:.0}", first.middle(rate)),
        format!("{:.0}", late.middle(rate)),
        late.against(rate, first, rate),
        late.against(processor, first, processor),
    ];
    report.table(&about, &head, &[row]);
    Ok(())
}

fn sections(root: &str) -> String {
    let mut text = String::new();
    for number in 0..HOSTS {
        let _ = write!(
            text,
            "<VirtualHost *>\n  ServerName site{number}.example\n  ServerAlias www.site{number}.example\n  \
             DocumentRoot \"{root}\"\n</VirtualHost>\n"
        );
    }
    text
}

/// Seconds that the contestant takes to find its configuration right.
fn check(name: &str, file: &Path) -> Result<f64> {
    let program = contestant::program(name).context("it is installed")?;
    let how = if name == "hostler" { "check" } else { "-t" };
    let begin = Instant::now();
    let output = Command::new(program).arg(how).arg("-f").arg(file).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(begin.elapsed().as_secs_f64())
}
