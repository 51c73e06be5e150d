//! E1: a light and a heavy program, each as a Registry script and as a handler; and the light one in other ways.

use super::compile::{self, Needs};
use super::files::{self, Files, files};
use super::{Technique, probe};
use crate::contestant::Site;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const FILES: Files = files!["registry":
    "startup.pl",
    "lib/Lab/Light.pm",
    "lib/Lab/Heavy.pm",
    "perl/light.pl",
    "perl/heavy.pl",
    "cgi-perl/hello.pl",
    "cgi-c/hello.c",
    "app.psgi",
    "bare.pl",
    "htdocs/index.html",
];

const CONFIGURATION: &str = include_str!("../../../../lab/applications/registry/site.conf");
const HOSTLER: &str = include_str!("../../../../lab/applications/registry/hostler.conf");

/// Statically linked: the servers are measured, not the dynamic loader.
const HELLO: Needs =
    Needs { headers: &["stdio.h"], libraries: &[], flags: &["-static"], package: "gcc libc6-dev" };

pub(super) fn techniques() -> Vec<Technique> {
    let perl = probe::perl(&["strict"], "perl");
    vec![
        probe::technique("handler", perl.clone()),
        probe::technique("registry", perl.clone()),
        probe::technique("psgi", perl.clone()),
        probe::technique("cgi-perl", perl),
        probe::technique("cgi-c", compile::unavailable(HELLO)),
    ]
}

pub(super) fn lay_out(root: &Path) -> Result<Site> {
    files::write_all(root, FILES)?;
    if compile::unavailable(HELLO).is_none() {
        compile::compile(root, "cgi-c/hello.c", "cgi-c/hello", HELLO)?;
    }
    Ok(Site {
        root: root.to_owned(),
        configuration: CONFIGURATION.to_owned(),
        own: [("hostler".to_owned(), HOSTLER.to_owned())].into(),
        ..Site::default()
    })
}

/// The speed of the heavy program's work without any server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BareWork {
    /// Times a second.
    pub rate: f64,
    /// Seconds of processor time for each time.
    pub processor: f64,
}

/// Measures how many times per second one processor does the heavy program's work without any server, for about as many
/// seconds of CPU time: no server answers more requests than this times its processors.
///
/// # Errors
/// No perl.
pub fn bare_work(seconds: u32) -> Result<f64> {
    let laid_out = bare()?;
    let bare = finished(started(&laid_out, f64::from(seconds), "processor")?)?;
    Ok(1.0 / bare.processor)
}

/// The same work on as many processors at once, for so many seconds by the clock: what a server there cannot surpass.
///
/// # Errors
/// No perl.
pub fn bare_work_everywhere(processors: u32, seconds: f64) -> Result<BareWork> {
    let laid_out = bare()?;
    let children: Result<Vec<Child>> =
        (0..processors.max(1)).map(|_| started(&laid_out, seconds, "clock")).collect();
    let all: Vec<BareWork> = children?.into_iter().map(finished).collect::<Result<_>>()?;
    let rate: f64 = all.iter().map(|bare| bare.rate).sum();
    let used: f64 = all.iter().map(|bare| bare.rate * bare.processor).sum();
    Ok(BareWork { rate, processor: used / rate })
}

fn bare() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("hostler-lab-").tempdir()?;
    files::write_all(folder.path(), FILES)?;
    Ok(folder)
}

fn started(folder: &TempDir, seconds: f64, by: &str) -> Result<Child> {
    let mut command = Command::new("perl");
    command.arg(folder.path().join("bare.pl")).arg(seconds.to_string()).arg(by);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().context("cannot run perl")
}

/// Returns the program's output: the rate, and the CPU seconds of each repetition.
fn finished(child: Child) -> Result<BareWork> {
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut figures = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
    match (output.status.success(), figures.next(), figures.next()) {
        (true, Some(rate), Some(processor)) if rate > 0.0 && processor > 0.0 => {
            Ok(BareWork { rate, processor })
        }
        _ => bail!("the bare work ends: {}", String::from_utf8_lossy(&output.stderr)),
    }
}
