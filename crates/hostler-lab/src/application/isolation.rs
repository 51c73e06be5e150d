//! E3: two virtual hosts, each with a user of its own.

use super::files::{self, Files, files};
use super::{Technique, probe};
use crate::contestant::Site;
use anyhow::Result;
use rustix::process::geteuid;
use std::path::Path;

const FILES: Files = files!["isolation": "lib/Lab/WhoAmI.pm", "cgi-bin/hello.pl", "htdocs/index.html"];
const CONFIGURATION: &str = include_str!("../../../../lab/applications/isolation/site.conf");

pub(super) fn techniques() -> Vec<Technique> {
    let why = if geteuid().is_root() { probe::perl(&["strict"], "perl") } else { Some(ROOT.to_owned()) };
    vec![
        probe::technique("handler", why.clone()),
        probe::technique("cgi-perl", why.clone()),
        probe::technique("static", why),
    ]
}

const ROOT: &str = "needs root to change users; run the lab as root";

pub(super) fn lay_out(root: &Path) -> Result<Site> {
    files::write_all(root, FILES)?;
    Ok(Site { root: root.to_owned(), configuration: CONFIGURATION.to_owned(), ..Site::default() })
}
