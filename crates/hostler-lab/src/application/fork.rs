//! CGI programs in Perl, started for each request or forked from a warm parent.

use super::files::{self, Files, files};
use super::{Technique, probe};
use crate::contestant::Site;
use anyhow::Result;
use std::path::Path;

const FILES: Files = files!["fork": "cgi-perl/plain.pl", "cgi-perl/form.pl"];
const CONFIGURATION: &str = include_str!("../../../../lab/applications/fork/site.conf");
const HOSTLER: &str = include_str!("../../../../lab/applications/fork/hostler.conf");

pub(super) fn techniques() -> Vec<Technique> {
    vec![probe::technique("cgi-perl", probe::perl(&["CGI"], "libcgi-pm-perl"))]
}

pub(super) fn lay_out(root: &Path) -> Result<Site> {
    files::write_all(root, FILES)?;
    files::make_folder(root, Path::new("htdocs"))?;
    Ok(Site {
        root: root.to_owned(),
        configuration: CONFIGURATION.to_owned(),
        own: [("hostler".to_owned(), HOSTLER.to_owned())].into(),
        ..Site::default()
    })
}
