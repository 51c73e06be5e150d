//! URLs whose phases come to the same for every request: a further request passes them over, and nothing that a rule says of
//! one client, one query or one moment is passed over with them. (The same of PHP's URLs is in `php/remembered.rs`.)

mod programs;
mod rewritten;
mod servers;

use crate::faults::await_that;
use crate::proxy::{backend, head};
use hostler_tests::{Server, Site, needs_program};
use std::io::Write;
use std::process::Command;

/// Tells what it is told of the request.
const PROGRAM: &str = r#"#!/usr/bin/perl
use FCGI;
my $request = FCGI::Request();
while ($request->Accept() >= 0) {
    print "Content-Type: text/plain\r\n\r\n", join " ", map { $_ // "-" } @ENV{qw(REQUEST_URI QUERY_STRING HTTP_COOKIE MARK)};
}
"#;

/// Answers with the request's first line and the fields `Cookie` and `X-Mark`.
fn echo() -> u16 {
    let (port, _) = backend(|mut stream| {
        while let Some(asked) = head(&mut stream) {
            let field = |name: &str| {
                let value = asked.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                value.unwrap_or("-").to_owned()
            };
            let target = asked.split(' ').nth(1).unwrap_or_default();
            let told = format!("{target} {} {}", field("Cookie"), field("X-Mark"));
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{told}", told.len());
        }
    });
    port
}

fn ask(server: &Server, target: &str, fields: &str) -> (u16, String) {
    let head = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
    let answer = server.request(head.as_bytes());
    (answer.status, if answer.status == 200 { answer.text() } else { String::new() })
}

fn ok(text: &str) -> (u16, String) {
    (200, text.to_owned())
}

const REFUSED: fn() -> (u16, String) = || (403, String::new());

#[test]
fn another_server_gets_each_request_as_it_is() {
    let port = echo();
    let rules = format!(
        "BrowserMatch Odd odd\nRewriteEngine On\n\
         RewriteCond %{{HTTP_COOKIE}} banned\nRewriteRule ^/by-cookie/ - [F]\n\
         RewriteCond %{{QUERY_STRING}} banned\nRewriteRule ^/by-query/ - [F]\n\
         RewriteCond @ROOT@/closed -f\nRewriteRule ^/by-file/ - [F]\n\
         RewriteRule ^/rewritten/(.*) http://127.0.0.1:{port}/$1?more [P,QSA]\n\
         <Location /by-agent/>\nRequestHeader set X-Mark odd env=odd\n</Location>\n\
         <Location /by-rule/>\nRequestHeader set X-Mark cookie \"expr=%{{HTTP_COOKIE}} == 'c'\"\n</Location>\n\
         <Location /by-field/>\nRequire expr %{{HTTP:X-Pass}} == 'yes'\n</Location>\n\
         <Location /by-condition/>\n<If \"%{{QUERY_STRING}} == 'banned'\">\nRequire all denied\n</If>\n</Location>\n\
         <Location /answered/>\nHeader set X-Told \"expr=%{{HTTP_COOKIE}}\"\n</Location>\n\
         ProxyPass /raw/ http://127.0.0.1:{port}/ nocanon\nProxyPass / http://127.0.0.1:{port}/\n"
    );
    let server = Site::new().config(&rules).start();
    let told = |fields: &str| {
        let head = format!("GET /answered/x HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
        server.request(head.as_bytes()).field("X-Told").map(str::to_owned)
    };
    for round in 0..3 {
        let is = |target: &str, fields: &str, answer: (u16, String)| {
            assert_eq!(
                ask(&server, target, fields),
                answer,
                "{target} {fields} {round}\n{}",
                server.error_log()
            );
        };
        is("/p/x", "", ok("/p/x - -"));
        is("/p/x?q=1", "Cookie: c=2\r\n", ok("/p/x?q=1 c=2 -"));
        is("/p/%41%2fx?%20", "", (404, String::new()));
        is("/p/%41x?%20", "", ok("/p/Ax?%20 - -"));
        is("/raw/%41x?%20", "", ok("/%41x?%20 - -"));
        is("/raw/%41x", "", ok("/%41x - -"));
        is("/rewritten/x?q", "", ok("/x?more&q - -"));
        is("/rewritten/x", "", ok("/x?more - -"));
        is("/by-cookie/x", "Cookie: banned\r\n", REFUSED());
        is("/by-cookie/x", "Cookie: c\r\n", ok("/by-cookie/x c -"));
        is("/by-query/x?banned", "", REFUSED());
        is("/by-query/x", "", ok("/by-query/x - -"));
        is("/by-rule/x", "Cookie: c\r\n", ok("/by-rule/x c cookie"));
        is("/by-rule/x", "", ok("/by-rule/x - -"));
        is("/by-agent/x", "User-Agent: Odd\r\n", ok("/by-agent/x - odd"));
        is("/by-agent/x", "User-Agent: x\r\n", ok("/by-agent/x - -"));
        is("/by-field/x", "X-Pass: yes\r\n", ok("/by-field/x - -"));
        is("/by-field/x", "", REFUSED());
        is("/by-condition/x", "", ok("/by-condition/x - -"));
        is("/by-condition/x?banned", "", REFUSED());
        is("/by-file/x", "", ok("/by-file/x - -"));
        assert_eq!((told("Cookie: c\r\n").as_deref(), told("").as_deref()), (Some("c"), Some("")), "{round}");
    }
    let closed = server.site().path("closed");
    for _ in 0..2 {
        std::fs::write(&closed, "").expect("ours");
        await_that("a file that is there closes it", || ask(&server, "/by-file/x", "") == REFUSED());
        std::fs::remove_file(&closed).expect("ours");
        await_that("and opens it", || ask(&server, "/by-file/x", "").0 == 200);
    }
}

#[test]
fn a_program_is_told_of_each_request_as_it_is() {
    needs_program!("/usr/bin/perl");
    if !Command::new("/usr/bin/perl").args(["-MFCGI", "-e1"]).status().is_ok_and(|status| status.success()) {
        return hostler_tests::untested("it takes FCGI.pm (libfcgi-perl)");
    }
    let config = "BrowserMatch Odd MARK=odd\n<Directory \"@ROOT@/htdocs\">\nOptions +ExecCGI\nDirectoryIndex a.fcgi\n\
                  AddHandler fcgid-script .fcgi\nAllowOverride All\n</Directory>";
    let server = Site::new().script("htdocs/a.fcgi", PROGRAM).config(config).start();
    for round in 0..3 {
        let is = |target: &str, fields: &str, answer: &str| {
            assert_eq!(ask(&server, target, fields), ok(answer), "{target} {fields} {round}");
        };
        is("/a.fcgi", "", "/a.fcgi  - -");
        is("/a.fcgi?q", "Cookie: c=2\r\n", "/a.fcgi?q q c=2 -");
        is("/a.fcgi", "User-Agent: Odd\r\n", "/a.fcgi  - odd");
        is("/a.fcgi", "User-Agent: x\r\n", "/a.fcgi  - -");
        is("/?z", "", "/?z z - -");
        is("/a.fcgi/x", "", "/a.fcgi/x  - -");
    }
    let with = "Cookie: c=2\r\n";
    for (rule, marked) in [
        ("SetEnvIf Cookie c=2 MARK=cookie\n", ("cookie", "-")),
        ("<If \"%{QUERY_STRING} == 'q'\">\nSetEnv MARK query\n</If>\n", ("query", "-")),
        ("SetEnv MARK all\n", ("all", "all")),
    ] {
        std::fs::write(server.site().path("htdocs/.htaccess"), rule).expect("ours");
        let first = ok(&format!("/a.fcgi?q q c=2 {}", marked.0));
        await_that("it is so", || ask(&server, "/a.fcgi?q", with) == first);
        for _ in 0..2 {
            assert_eq!(ask(&server, "/a.fcgi", ""), ok(&format!("/a.fcgi  - {}", marked.1)), "{rule}");
            assert_eq!(ask(&server, "/a.fcgi?q", with), first, "{rule}");
        }
    }
    std::fs::write(server.site().path("htdocs/.htaccess"), "Require all denied\n").expect("ours");
    await_that("it is so", || server.get("/a.fcgi").status == 403);
    assert_eq!(server.get("/a.fcgi?q").status, 403);
}
