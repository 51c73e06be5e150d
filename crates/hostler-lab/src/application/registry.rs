//! E1: a light and a heavy program, each as a Registry script and as a handler; and the light one in other ways.

use super::compile::{self, Needs};
use super::files::{self, Files, files};
use super::{Technique, probe};
use crate::contestant::Site;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

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

/// How often a second one processor does the heavy program's work without any server, measured for about as many
/// seconds of processor time: no server answers more of them than this times its processors.
///
/// # Errors
/// No perl.
pub fn bare_work(seconds: u32) -> Result<f64> {
    let folder = tempfile::Builder::new().prefix("hostler-lab-").tempdir()?;
    files::write_all(folder.path(), FILES)?;
    let mut command = Command::new("perl");
    command.arg(folder.path().join("bare.pl")).arg(seconds.to_string()).stdin(Stdio::null());
    let output = command.output().context("cannot run perl")?;
    if !output.status.success() {
        bail!("the bare work ends: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}
