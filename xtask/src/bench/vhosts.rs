//! 10,000 virtual hosts: how long the configuration takes to check, and whether finding one of them costs.

use crate::bench::contestant::{self, Kind};
use crate::bench::report::Report;
use crate::bench::site::Site;
use crate::bench::{Options, lab, measure, present};
use crate::cargo;
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

const HOSTS: u32 = 10_000;

/// A file of the first virtual host, and of one near the end, for those who search in order.
const SCENARIO: &str = r#"
name = "virtual-hosts"
title = "10,000 virtual hosts"
question = "Does it cost anything to find one of many virtual hosts?"
report = "comparison"
contestants = ["hostler"]
application = "include"
rounds = 8
quick = { rounds = 4, scale = 0.5 }
configuration = """
@SECTIONS@"""

[plan]
warm_up = 0.5
phases = [{ kind = "closed", clients = 15, seconds = 2 }]

[[case]]
name = "first"
title = "4 KB file of the first virtual host"
technique = "static"
path = "/small.html"
hosts = ["site0.example"]

[[case]]
name = "late"
title = "4 KB file of the 9,990th"
technique = "static"
path = "/small.html"
hosts = ["site9990.example"]
"#;

pub(crate) fn run(site: &Site, options: &Options, report: &mut Report) -> Result<()> {
    let many = sections(&site.path("htdocs").to_string_lossy());
    for kind in present(&[Kind::Hostler, Kind::ApachePrefork], report) {
        eprintln!("virtual-hosts: check with {}", kind.name());
        let port = contestant::free_port()?;
        let file = contestant::write_configuration(kind, site, port, &many)?;
        let mut seconds = Vec::new();
        for _ in 0..options.times() {
            seconds.push(check(kind, &file)?);
        }
        report.check(kind, HOSTS, measure::median(seconds));
    }
    let folder = cargo::workspace().join("target/bench");
    fs::create_dir_all(&folder)?;
    fs::write(
        folder.join("virtual-hosts.toml"),
        SCENARIO.replace("@SECTIONS@", &sections("@ROOT@/htdocs").replace('"', "")),
    )?;
    report.run(lab::measure("target/bench/virtual-hosts.toml", "target/bench/virtual-hosts", options.quick)?);
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
