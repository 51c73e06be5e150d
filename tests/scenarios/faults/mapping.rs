//! From a URL to a file: ways out of the document root, around a rule, or into a program's source.
//!
//! Faults that a single request can show are in `conformance/cases/mapping.toml` and `types.toml`, compared with Apache.

use super::site_with;
use hostler_tests::{Server, Site};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The body must never come to light.
const SECRET: &str = "the secret";

#[test]
fn decoded_slashes_lead_nowhere_else() {
    let site = Site::new()
        .file("secret.txt", SECRET)
        .file("htdocs/a/b/x.txt", "x")
        .file("htdocs/denied/x.txt", SECRET);
    let config = "AllowEncodedSlashes On\n<Location \"/denied\">\nRequire all denied\n</Location>";
    let server = site.config(config).start();
    assert_eq!(server.get("/a%2fb%2Fx.txt").text(), "x");
    for target in [
        "/a%2f..%2f..%2fsecret.txt",
        "/a/%2e%2e%2f%2e%2e/secret.txt",
        "/%2e%2e%2fsecret.txt",
        "/a%2f.%2e/..%2fsecret.txt",
        "/a%2f%2e%2e%2f%2e%2e%2fsecret.txt",
        "/a%2f..%2fdenied/x.txt",
        "/a%2f..%2fdenied%2fx.txt",
        "/%2fdenied/x.txt",
        "/.%2fdenied/x.txt",
    ] {
        let answer = server.get(target);
        assert!(matches!(answer.status, 400 | 403 | 404), "{target}: {}", answer.status);
        assert!(!answer.text().contains(SECRET), "{target}");
    }
}

#[test]
fn an_alias_ends_where_its_name_ends() {
    let site = Site::new()
        .file("pictures/a.txt", "a")
        .file("pictures-of-others/a.txt", SECRET)
        .file("secret.txt", SECRET);
    let config = "Alias /img \"@ROOT@/pictures\"\nAlias /pic/ \"@ROOT@/pictures/\"\n\
                  <Directory \"@ROOT@\">\nRequire all granted\n</Directory>";
    let server = site.config(config).start();
    assert_eq!(server.get("/img/a.txt").text(), "a");
    for target in [
        "/img-of-others/a.txt",
        "/img../secret.txt",
        "/img%2e%2e/secret.txt",
        "/pic../secret.txt",
        "/pic/../secret.txt",
    ] {
        let answer = server.get(target);
        assert!(answer.status >= 400 && !answer.text().contains(SECRET), "{target}: {}", answer.status);
    }
}

#[test]
fn a_name_with_line_ends_splits_no_answer() {
    let server = Site::new().dir("htdocs/d\r\nX-Evil: 1").start();
    let answer = server.get("/d%0d%0aX-Evil:%201");
    assert_eq!((answer.status, answer.field("X-Evil")), (301, None));
    let location = answer.field("Location").unwrap_or_default().to_ascii_lowercase();
    assert!(location.ends_with("/d%0d%0ax-evil:%201/"), "{location}");
}

#[test]
fn what_a_program_says_of_its_answer_selects_no_handler() {
    let kinds = [
        "cgi-script",
        "application/x-httpd-cgi",
        "server-parsed",
        "text/x-server-parsed-html",
        "httpd/unix-directory",
    ];
    let program = |kind: &str| {
        format!(
            "#!/bin/sh\nprintf 'Content-Type: {kind}\\nX-Handler: cgi-script\\n\\n#!/bin/sh\\necho <!--#exec cmd=\"id\" -->'\n"
        )
    };
    let programs: Vec<String> = kinds.iter().map(|kind| program(kind)).collect();
    let names: Vec<String> = (0..kinds.len()).map(|at| format!("p{at}")).collect();
    let list: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(programs.iter().map(String::as_str)).collect();
    let server = site_with(&list).config("Options +Includes +ExecCGI").start();
    for name in names {
        let answer = server.get(&format!("/cgi-bin/{name}"));
        assert_eq!((answer.status, answer.text()), (200, "#!/bin/sh\necho <!--#exec cmd=\"id\" -->".into()));
    }
}

#[test]
fn a_program_that_is_asked_for_indirectly_runs_too() {
    let program = "#!/bin/sh\nprintf 'Content-Type: text/html\\n\\nran'\n";
    let config = "<Directory \"@ROOT@/htdocs\">\nOptions +ExecCGI +Includes\nAddType application/x-httpd-cgi .cgi\n\
                  AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\nDirectoryIndex index.cgi\n\
                  ErrorDocument 404 /missing.cgi\n</Directory>\n<Directory \"@ROOT@/htdocs/app\">\n\
                  FallbackResource /app/front.cgi\n</Directory>";
    let site = Site::new().script("htdocs/d/index.cgi", program).script("htdocs/missing.cgi", program);
    let site = site.script("htdocs/app/front.cgi", program).script("htdocs/p.cgi", program);
    let site =
        site.file("htdocs/page.shtml", "<!--#include virtual=\"/p.cgi\" --> <!--#include file=\"p.cgi\" -->");
    let server = site.config(config).start();
    for (target, status, text) in [
        ("/d/", 200, "ran"),
        ("/none", 404, "ran"),
        ("/app/x/y", 200, "ran"),
        ("/page.shtml", 200, "ran ran"),
    ] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text()), (status, text.into()), "{target}\n{}", server.error_log());
    }
}

/// Unsupported lines must not be ignored: they decide who may see what. And no tenant chooses where requests go.
#[test]
fn proxying_fails_closed() {
    for line in [
        "<Location /a>\nProxyPass ftp://localhost/\n</Location>",
        "ProxyPass /a ajp13://127.0.0.1:1/",
        "ProxyPass /a http://127.0.0.1:1/ hcmethod=POST",
        "ProxyRequests On",
    ] {
        let refused = Site::new().config(line).try_start();
        let refused = refused.err().unwrap_or_else(|| panic!("{line} is accepted"));
        assert!(refused.contains("httpd.conf:"), "{refused}");
    }
    let config = "<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>";
    let site = Site::new().config(config).file("htdocs/private/x", SECRET);
    let server =
        site.file("htdocs/private/.htaccess", "RewriteEngine on\nRewriteRule ^ http://x/ [P]\n").start();
    assert_eq!(server.get("/private/x").status, 500);
}

/// Requests a name again and again while somebody else makes it lead elsewhere; no answer has the secret.
fn never_shows(server: &Server, swap: impl Fn(&Server) + Sync) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(server);
            }
        });
        let shown = (0..400).find(|_| server.get("/page").text().contains(SECRET));
        done.store(true, Ordering::Relaxed);
        assert_eq!(shown, None, "the secret came to light");
    });
}

/// Puts something else in place of `htdocs/page`, at once.
fn replace(server: &Server, make: impl Fn(&std::path::Path)) {
    let new = server.site().path("htdocs/new");
    make(&new);
    fs::rename(new, server.site().path("htdocs/page")).expect("a rename");
}

#[test]
fn a_link_that_is_swapped_in_is_not_followed() {
    let config = "<Directory \"@ROOT@/htdocs\">\nOptions -FollowSymLinks\n</Directory>";
    let server = Site::new().file("secret.txt", SECRET).file("htdocs/page", "page").config(config).start();
    let secret = server.site().path("secret.txt");
    never_shows(&server, |server| {
        replace(server, |new| symlink(&secret, new).expect("a link"));
        replace(server, |new| fs::write(new, "page").expect("a file"));
    });
}

#[test]
fn a_directory_that_becomes_a_link_is_not_followed() {
    let config = "<Directory \"@ROOT@/htdocs\">\nOptions -FollowSymLinks\n</Directory>\nAlias /page \"@ROOT@/htdocs/d/page\"";
    let site = Site::new().file("secret/page", SECRET).file("htdocs/d/page", "page").config(config);
    let server = site.start();
    let (kept, place) = (server.site().path("htdocs/kept"), server.site().path("htdocs/d"));
    let secret = server.site().path("secret");
    never_shows(&server, |_| {
        fs::rename(&place, &kept).expect("a rename");
        symlink(&secret, &place).expect("a link");
        fs::remove_file(&place).expect("the link");
        fs::rename(&kept, &place).expect("a rename");
    });
}

#[test]
fn a_rule_of_a_directory_that_comes_and_goes_holds() {
    let config = "<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>\nAlias /page \"@ROOT@/htdocs/d/page\"";
    let site = Site::new().config(config).file("htdocs/d/page", SECRET);
    let server = site.file("htdocs/d/.htaccess", "Require all denied\n").start();
    let (open, place) = (server.site().path("htdocs/open"), server.site().path("htdocs/d"));
    fs::create_dir(&open).expect("a folder");
    fs::write(open.join("page"), "page").expect("a page");
    let third = server.site().path("htdocs/third");
    // The open folder and the denied one change places.
    never_shows(&server, |_| {
        for (from, to) in [(&place, &third), (&open, &place), (&place, &open), (&third, &place)] {
            fs::rename(from, to).expect("a rename");
        }
    });
}
