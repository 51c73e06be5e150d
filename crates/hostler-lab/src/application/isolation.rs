//! E3: two virtual hosts, each with a user of its own: small programs that say who they are, a Django site, WordPress.

use super::files::{self, Files, files};
use super::{LaidOut, Server, Technique, probe, wordpress};
use crate::contestant::Site;
use anyhow::Result;
use rustix::process::geteuid;
use std::path::Path;

const FILES: Files = files!["isolation":
    "lib/Lab/WhoAmI.pm",
    "cgi-bin/hello.pl",
    "htdocs/index.html",
    "django/site.wsgi",
    "django/shop/__init__.py",
    "django/shop/settings.py",
    "django/shop/urls.py",
    "django/shop/views.py",
    "django/shop/templates/home.html",
];
const CONFIGURATION: &str = include_str!("../../../../lab/applications/isolation/site.conf");

pub(super) fn techniques() -> Vec<Technique> {
    let root = (!geteuid().is_root()).then(|| ROOT.to_owned());
    let perl = root.clone().or_else(|| probe::perl(&["strict"], "perl"));
    let django = root.clone().or_else(|| probe::python(("django", "python3-django")));
    let wordpress = root.clone().or_else(wordpress::unavailable);
    vec![
        probe::technique("handler", perl.clone()),
        probe::technique("cgi-perl", perl),
        probe::wsgi(django),
        probe::php(wordpress.clone()),
        probe::technique("php-cgi", wordpress.or_else(wordpress::no_php_cgi)),
        probe::technique("static", root),
    ]
}

const ROOT: &str = "needs root to change users; run the lab as root";
pub(super) fn lay_out(root: &Path) -> Result<LaidOut> {
    files::write_all(root, FILES)?;
    let database = if wordpress::unavailable().is_none() { Some(wordpress::lay_out(root)?) } else { None };
    let configuration = CONFIGURATION.to_owned();
    let site = Site { root: root.to_owned(), configuration, ..Site::default() };
    Ok(LaidOut { site, database: database.map(Server::Mariadb) })
}
