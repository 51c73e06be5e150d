//! WordPress as Debian packages it, on MariaDB, set up by `examples/wordpress/prepare.sh`: what its visitors and its author do.

use crate::faults::await_that;
use hostler_tests::{Response, SITE_UID, Server, Site, is_root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the site and its database, which ends with it.
struct Prepared(PathBuf);

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/wordpress").join(name)
}

/// Returns whether the packages are there; says so if they are not.
fn can_test() -> bool {
    let unpacked = example("../../target/oracle/wordpress/usr/share/wordpress/wp-load.php");
    let all = ["/usr/lib/libphp8.2.so", "/usr/bin/setpriv"].into_iter().all(|file| Path::new(file).exists());
    let is_there = all && (unpacked.exists() || Path::new("/usr/share/wordpress/wp-load.php").exists());
    if !is_there {
        hostler_tests::untested("WordPress, MariaDB or PHP's library is missing (./setup.sh test)");
    }
    is_there
}

impl Prepared {
    fn new(folder: &Path, port: &str) -> Self {
        let folder = folder.join("wordpress");
        let mut command = Command::new(example("prepare.sh"));
        command.arg("start").arg(&folder).arg(port);
        if is_root() {
            command.arg(SITE_UID.to_string());
        }
        let output = command.output().expect("prepare.sh runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(folder)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let _ = Command::new(example("prepare.sh")).arg("stop").arg(&self.0).status();
    }
}

/// A visitor, with the cookies that the site has set.
pub(crate) struct Visitor<'a> {
    pub(crate) server: &'a Server,
    pub(crate) cookies: Vec<String>,
}

impl Visitor<'_> {
    pub(crate) fn fields(&self) -> String {
        let host = format!("Host: 127.0.0.1:{}\r\n", self.server.port());
        if self.cookies.is_empty() { host } else { format!("{host}Cookie: {}\r\n", self.cookies.join("; ")) }
    }

    pub(crate) fn get(&mut self, target: &str) -> (u16, String) {
        let answer = self.server.get_with(target, &self.fields());
        self.keep(&answer);
        (answer.status, answer.text())
    }

    fn keep(&mut self, answer: &Response) {
        let set = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("set-cookie");
        for (_, cookie) in answer.fields.iter().filter(set) {
            let pair = cookie.split(';').next().unwrap_or_default().to_owned();
            let name = pair.split('=').next().unwrap_or_default().to_owned();
            self.cookies.retain(|known| !known.starts_with(&format!("{name}=")));
            self.cookies.push(pair);
        }
    }

    pub(crate) fn send(&mut self, target: &str, fields: &str, body: &[u8]) -> (u16, String) {
        let head = format!(
            "POST {target} HTTP/1.1\r\n{}{fields}Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.fields(),
            body.len()
        );
        let answer = self.server.request(&[head.as_bytes(), body].concat());
        self.keep(&answer);
        (answer.status, answer.text())
    }

    pub(crate) fn form(&mut self, target: &str, form: &str) -> (u16, String) {
        self.send(target, "Content-Type: application/x-www-form-urlencoded\r\n", form.as_bytes())
    }
}

/// Returns the text between two others.
pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {text}")).1;
    rest.split_once(after).map_or(rest, |(found, _)| found)
}

#[test]
fn wordpress_is_installed_written_to_and_read() {
    if !can_test() {
        return;
    }
    let site = Site::new();
    let root = site.root().to_owned();
    // The port is the harness's own, so the example's Listen is not taken.
    let prepared = Prepared::new(&root, "1");
    let config = fs::read_to_string(prepared.0.join("httpd.conf")).expect("prepare.sh has written it");
    let own = |line: &&str| {
        !["Listen", "ErrorLog", "PidFile", "CustomLog", "LogFormat", "User", "Group", "ServerRoot"]
            .iter()
            .any(|word| line.starts_with(word))
    };
    let config: Vec<&str> = config.lines().filter(own).collect();
    let server = site.config(&config.join("\n")).start();
    // Its database is ended before the server's end takes the folder away.
    let prepared = prepared;
    let mut author = Visitor { server: &server, cookies: Vec::new() };

    assert_eq!(author.get("/").0, 302);
    let form = "weblog_title=Hostler&user_name=admin&admin_password=one-secret&admin_password2=one-secret&pw_weak=1&\
                admin_email=a%40example.org&blog_public=0";
    let (status, page) = author.form("/wp-admin/install.php?step=2", form);
    assert!(status == 200 && page.contains("Success!"), "{status} {page}");

    // Logging in asks for a cookie that a page before has set.
    author.cookies.push("wordpress_test_cookie=WP%20Cookie%20check".to_owned());
    let (status, _) = author.form("/wp-login.php", "log=admin&pwd=wrong&testcookie=1");
    assert_eq!(status, 200);
    let (status, _) = author.form("/wp-login.php", "log=admin&pwd=one-secret&testcookie=1");
    assert_eq!(status, 302);
    assert!(author.get("/wp-admin/").1.contains("Dashboard"));

    permalinks(&mut author);
    let nonce = {
        let page = author.get("/wp-admin/post-new.php").1;
        between(&page, "createNonceMiddleware( \"", "\"").to_owned()
    };
    let json = format!("X-WP-Nonce: {nonce}\r\nContent-Type: application/json\r\n");
    let post = br#"{"title":"Written","content":"by a test","status":"publish"}"#;
    assert_eq!(author.send("/wp-json/wp/v2/posts", &json, post).0, 201);
    upload(&mut author, &nonce);
    comes_by(&server, &prepared);
}

/// By its own `.htaccess`, which it writes as it finds mod_rewrite.
fn permalinks(author: &mut Visitor<'_>) {
    let page = author.get("/wp-admin/options-permalink.php").1;
    let nonce = between(&page, "name=\"_wpnonce\" value=\"", "\"").to_owned();
    let form =
        format!("_wpnonce={nonce}&selection=custom&permalink_structure=%2F%25postname%25%2F&submit=Save");
    assert_eq!(author.form("/wp-admin/options-permalink.php", &form).0, 302);
    assert_eq!(author.get("/wp-admin/options-permalink.php?settings-updated=true").0, 200);
}

fn upload(author: &mut Visitor<'_>, nonce: &str) {
    let dot = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    let fields = format!(
        "X-WP-Nonce: {nonce}\r\nContent-Type: image/gif\r\nContent-Disposition: attachment; filename=\"dot.gif\"\r\n"
    );
    let (status, answer) = author.send("/wp-json/wp/v2/media", &fields, dot);
    assert_eq!(status, 201, "{answer}");
    let path = between(&answer, "wp-content\\/uploads\\/", "\"").replace("\\/", "/");
    let sent = author.server.get_with(&format!("/wp-content/uploads/{path}"), &author.fields());
    assert_eq!((sent.status, sent.body.as_slice()), (200, &dot[..]));
}

/// Checks the view of an anonymous visitor.
fn comes_by(server: &Server, prepared: &Prepared) {
    let mut visitor = Visitor { server, cookies: Vec::new() };
    for _ in 0..3 {
        let (status, page) = visitor.get("/written/");
        assert!(status == 200 && page.contains("by a test"), "{status} {page}");
        assert_eq!(visitor.get("/no-such-page/").0, 404);
        let (status, home) = visitor.get("/");
        assert!(status == 200 && home.contains("Hello world!"), "{status} {home}");
    }
    assert!(visitor.get("/wp-json/wp/v2/posts").1.contains("\"slug\":\"written\""));
    assert_eq!(visitor.get("/wp-cron.php?doing_wp_cron").0, 200);
    assert_eq!(visitor.get("/wp-admin/").0, 302);
    // A program among the uploads is a text like any other.
    let program = prepared.0.join("site/wp-content/uploads/x.php");
    fs::write(program, "<?php echo 'r' . 'un';").expect("ours");
    assert!(!visitor.get("/wp-content/uploads/x.php").1.contains("run"));
    // A request to itself that nobody waits for, with which it begins what is due.
    await_that("WordPress has asked itself", || {
        server.access_log().contains("POST /wp-cron.php?doing_wp_cron=")
    });
}
