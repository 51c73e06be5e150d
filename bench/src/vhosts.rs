//! 10,000 virtual hosts: how long the configuration takes to check, and whether finding one of them costs.

use crate::report::Report;
use crate::stage::{Stage, present, title};
use crate::{Options, lab};
use anyhow::{Context, Result, bail};
use hostler_lab::contestant;
use hostler_lab::method::statistics::median;
use std::fmt::Write;
use std::fs;
use std::path::Path;
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

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    let stage = Stage::new("include", &sections("@ROOT@/htdocs"))?;
    for name in present(&["hostler", "apache-prefork"], report) {
        // It runs while its configuration is checked: its folders are there, and an idle server takes no time.
        let _server = stage.start(name)?;
        let file = stage.logs(name).join("server.conf");
        let seconds: Vec<f64> = (0..options.times()).map(|_| check(name, &file)).collect::<Result<_>>()?;
        report.line(
            format!("{}: checking a configuration of {HOSTS} virtual hosts", title(name)),
            format!("{:.2} s", median(&seconds).unwrap_or(f64::NAN)),
        );
    }
    fs::create_dir_all("target/bench")?;
    fs::write(
        "target/bench/virtual-hosts.toml",
        SCENARIO.replace("@SECTIONS@", &sections("@ROOT@/htdocs").replace('"', "")),
    )?;
    lab::measure("target/bench/virtual-hosts.toml", "target/bench/virtual-hosts", options, report)
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
