//! The least that a program can do, in techniques that have a pool: FastCGI, PHP, servlets, WSGI, ASGI. For `cargo xtask bench`.

use super::compile::{self, Needs};
use super::files::{self, Files, files};
use super::{Technique, java, probe};
use crate::contestant::Site;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;

const FILES: Files = files!["hello":
    "fastcgi-c/hello.c",
    "fastcgi/hello.fcgi",
    "php/hello.php",
    "php.ini",
    "java/Hello.java",
    "servlet/WEB-INF/web.xml",
    "wsgi/hello.py",
    "asgi/hello.py",
    "htdocs/index.html",
];

const CONFIGURATION: &str = include_str!("../../../../lab/applications/hello/site.conf");
const SERVLETS: &str = include_str!("../../../../lab/applications/hello/hostler-servlet.conf");
const ASGI: &str = include_str!("../../../../lab/applications/hello/hostler-asgi.conf");
const AJP: &str = include_str!("../../../../lab/applications/hello/ajp.conf");
/// Files that only one contestant reads.
const OWN: [(&str, &str); 6] = [
    ("hostler-ajp", AJP),
    ("apache-ajp", AJP),
    ("apache-fpm", include_str!("../../../../lab/applications/hello/apache-fpm.conf")),
    ("nginx", include_str!("../../../../lab/applications/hello/nginx.conf")),
    ("nginx-http", include_str!("../../../../lab/applications/hello/nginx-http.conf")),
    ("nginx-fpm", include_str!("../../../../lab/applications/hello/nginx-fpm.conf")),
];
/// The programs that are started before nginx.
const PROGRAMS: &str = include_str!("../../../../lab/applications/hello/nginx.sh");

const FASTCGI: Needs =
    Needs { headers: &["fcgiapp.h"], libraries: &["-lfcgi"], flags: &[], package: "libfcgi-dev" };

pub(super) fn techniques() -> Vec<Technique> {
    vec![
        probe::fastcgi("fastcgi-c", compile::unavailable(FASTCGI)),
        probe::fastcgi("fastcgi", probe::perl(&["FCGI"], "libfcgi-perl")),
        probe::php(None),
        probe::servlet("servlet", java::unavailable(None)),
        probe::wsgi(probe::python(("sys", "python3"))),
        probe::asgi(probe::python(("sys", "python3"))),
    ]
}

pub(super) fn lay_out(root: &Path) -> Result<Site> {
    files::write_all(root, FILES)?;
    let mut own: BTreeMap<_, _> =
        OWN.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let (mut first, mut hostler) = (BTreeMap::new(), probe::with_python(ASGI));
    if compile::unavailable(FASTCGI).is_none() {
        compile::compile(root, "fastcgi-c/hello.c", "fastcgi-c/hello", FASTCGI)?;
        first.insert("nginx".to_owned(), PROGRAMS.to_owned());
    }
    if java::unavailable(None).is_none() {
        files::make_folder(root, Path::new("servlet/WEB-INF/classes"))?;
        java::compile(root, "java/Hello.java", "servlet/WEB-INF/classes")?;
        hostler.push_str(SERVLETS);
    }
    own.insert("hostler".to_owned(), hostler);
    Ok(Site {
        root: root.to_owned(),
        configuration: CONFIGURATION.to_owned(),
        own,
        first,
        php_ini: Some("php.ini".into()),
        python: Some("hello"),
        ..Site::default()
    })
}
