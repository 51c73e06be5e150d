//! CGI programs in Perl and scripts in PHP, started for each request or forked from a warm parent.

use super::files::{self, Files, files};
use super::{Technique, probe, wordpress};
use crate::contestant::Site;
use anyhow::Result;
use std::path::Path;

const FILES: Files = files!["fork": "cgi-perl/plain.pl", "cgi-perl/form.pl", "php/hello.php"];
const CONFIGURATION: &str = include_str!("../../../../lab/applications/fork/site.conf");
const HOSTLER: &str = include_str!("../../../../lab/applications/fork/hostler.conf");
const APACHE: &str = include_str!("../../../../lab/applications/fork/apache.conf");
/// PHP's settings, the same as for its warm workers.
const PHP_INI: &str = include_str!("../../../../lab/applications/hello/php.ini");

pub(super) fn techniques() -> Vec<Technique> {
    vec![
        probe::technique("cgi-perl", probe::perl(&["CGI"], "libcgi-pm-perl")),
        probe::php_cgi(wordpress::no_php_cgi()),
    ]
}

pub(super) fn lay_out(root: &Path) -> Result<Site> {
    files::write_all(root, FILES)?;
    files::make_folder(root, Path::new("htdocs"))?;
    files::write(root, "php.ini", PHP_INI.as_bytes())?;
    wordpress::copy_php_cgi(root)?;
    Ok(Site {
        root: root.to_owned(),
        configuration: CONFIGURATION.to_owned(),
        own: [("hostler", HOSTLER), ("apache", APACHE)]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into(),
        ..Site::default()
    })
}
