//! `examples/django`, set up by its own `prepare.sh` in its own environment: what its visitors and its administrator do.

use crate::wordpress::{Visitor, between};
use hostler_tests::{SITE_UID, Site, is_root, needs_program};
use std::fs;
use std::path::Path;
use std::process::Command;

const PICTURE: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// Sets it up below the site's folder, and gives its configuration without what the harness says itself; `None`: Django
/// can't be fetched here.
fn prepared(site: &Site, database: &str) -> Option<String> {
    let folder = site.path("django");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/django/prepare.sh");
    let mut command = Command::new(script);
    command.arg(&folder).arg("1").env("DJANGO_SUPERUSER_PASSWORD", "one-secret").env("PIP_TIMEOUT", "10");
    command.env("DATABASE", database);
    if is_root() {
        command.arg(SITE_UID.to_string());
    }
    let output = command.output().expect("prepare.sh runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let is_missing = said.contains("python3-venv")
        || said.contains("No matching distribution")
        || said.contains("connect");
    if !output.status.success() && is_missing {
        hostler_tests::skipped(
            module_path!(),
            "Django can't be fetched from PyPI (or there is no python3-venv)",
        );
        return None;
    }
    assert!(output.status.success(), "{said}");
    let config = fs::read_to_string(folder.join("httpd.conf")).expect("prepare.sh has written it");
    let words =
        ["Listen", "ErrorLog", "PidFile", "CustomLog", "LogFormat", "User", "Group", "ServerRoot", "AddType"];
    let own = |line: &&str| !words.iter().any(|word| line.starts_with(word));
    Some(config.lines().filter(own).collect::<Vec<_>>().join("\n"))
}

/// A form with a file, and the token that the page has.
fn post(visitor: &mut Visitor<'_>, page: &str, name: &str, words: &str) -> (u16, String) {
    let token = between(page, "csrfmiddlewaretoken\" value=\"", "\"").to_owned();
    let field = |name: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file = format!(
        "--b\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"{name}\"\r\nContent-Type: image/gif\r\n\r\n"
    );
    let fields = field("csrfmiddlewaretoken", &token) + &field("words", words) + &file;
    let body = [fields.as_bytes(), PICTURE, b"\r\n--b--\r\n"].concat();
    visitor.send("/", "Content-Type: multipart/form-data; boundary=b\r\n", &body)
}

/// Visitors post, the administrator logs in and sees it.
fn visited(server: &hostler_tests::Server) {
    let mut visitor = Visitor { server, cookies: Vec::new() };
    let (status, page) = visitor.get("/");
    assert!(status == 200 && page.contains("Nothing is on the board"), "{page}\n{}", server.error_log());
    assert!(visitor.get("/").1.contains("seen this page 2 times"), "its session is kept");

    assert_eq!(post(&mut visitor, &page, "x.html", "a page").0, 422);
    let (status, said) = post(&mut visitor, &page, "dot.gif", "For <sale>: \u{fc}");
    assert_eq!(status, 302, "{said}\n{}", server.error_log());
    let page = visitor.get("/").1;
    assert!(page.contains("For &lt;sale&gt;: \u{fc}") && page.contains("is on the board"), "{page}");
    let picture = between(&page, "<img src=\"", "\"").to_owned();
    let sent = server.get(&picture);
    assert_eq!((sent.status, sent.body.as_slice()), (200, PICTURE), "{picture}");
    assert_eq!(sent.field("X-Content-Type-Options"), Some("nosniff"));
    // Without the token of the page nothing is taken.
    assert_eq!(visitor.form("/", "words=x").0, 403);

    let mut admin = Visitor { server, cookies: Vec::new() };
    assert_eq!(admin.get("/admin/").0, 302);
    let page = admin.get("/admin/login/?next=/admin/").1;
    let token = between(&page, "csrfmiddlewaretoken\" value=\"", "\"").to_owned();
    let form = |password: &str| {
        format!("csrfmiddlewaretoken={token}&username=admin&password={password}&next=/admin/")
    };
    assert_eq!(admin.form("/admin/login/", &form("wrong")).0, 200);
    assert_eq!(admin.form("/admin/login/", &form("one-secret")).0, 302);
    let (status, list) = admin.get("/admin/board/notice/");
    assert!(status == 200 && list.contains("For &lt;sale&gt;"), "{list}");
    assert_eq!(visitor.get("/no-such-page").0, 404);
}

#[test]
fn the_example_takes_notices_and_shows_them() {
    needs_program!("/usr/bin/python3");
    let site = Site::new();
    let Some(config) = prepared(&site, "") else { return };
    let server = site.config(&config).start();
    visited(&server);
    let style = server.get("/static/admin/css/base.css");
    assert!(style.status == 200 && style.text().contains("{"), "{style:?}");
    // What nobody is to read: the database, the secret, the project.
    for target in ["/media/../db.sqlite3", "/static/../data/settings.json", "/media/%2e%2e/settings.json"] {
        assert_ne!(server.get(target).status, 200, "{target}");
    }
}

#[test]
fn the_example_is_an_asgi_application_as_well() {
    needs_program!("/usr/bin/python3");
    let site = Site::new();
    let Some(config) = prepared(&site, "") else { return };
    // As its README says.
    let line = config.lines().find(|line| line.starts_with("WSGIScriptAlias")).expect("its line").to_owned();
    let asgi = "<Location />\nSetHandler asgi\nASGIApp houses.asgi:application\nRequire all granted\n</Location>\n\
                <Location /static/>\nSetHandler None\n</Location>\n<Location /media/>\nSetHandler None\n</Location>";
    let server = site.config(&config.replace(&line, asgi)).start();
    visited(&server);
    assert_eq!(server.get("/static/admin/css/base.css").status, 200);
    let _ = server.await_error("houses.asgi:application is served by Python");
}
