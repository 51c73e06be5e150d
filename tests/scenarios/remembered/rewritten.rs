//! URLs that rules of a folder lead to another one: what is remembered of them is of their query and their browser, where
//! rules look at these, and of nothing that is somebody's own.

use super::ask;
use crate::faults::await_that;
use hostler_tests::{Server, Site, needs_program};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, SystemTime};

/// A front controller, with rules that look at more than the path.
const RULES: &str = r#"RewriteEngine On
RewriteCond %{HTTP_USER_AGENT} badbot [NC]
RewriteRule ^ - [F]
RewriteCond %{QUERY_STRING} evil
RewriteRule ^ - [F]
RewriteCond %{THE_REQUEST} "GET /\S*index\.html"
RewriteRule ^ /elsewhere [R=302,L]
RewriteCond %{HTTP_COOKIE} member
RewriteRule ^members$ members.html [L]
RewriteRule ^named/(\w+)$ index.html?name=$1 [QSA,L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . index.html [L]
"#;

/// Files that were written so long ago that their entity tags are strong.
fn old(site: Site, files: &[(&str, &str)]) -> Site {
    let then = SystemTime::now() - Duration::from_secs(3600);
    files.iter().fold(site, |site, (name, text)| {
        let site = site.file(name, text);
        let file = fs::File::options().write(true).open(site.path(name)).expect("it was written");
        file.set_modified(then).expect("it is ours");
        site
    })
}

#[test]
fn a_page_that_stands_for_others_is_each_one_s_own() {
    let logged = "LogFormat \"%r|%U|%q|%f|%<s|%>s|%B|%>U|%>q|%{REDIRECT_URL}e|%{User-Agent}i\" told\n\
                  CustomLog logs/told.log told\n<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>\n";
    let files = [
        ("htdocs/.htaccess", RULES),
        ("htdocs/index.html", "index"),
        ("htdocs/members.html", "members"),
        ("htdocs/there.txt", "there"),
    ];
    let server = old(Site::new().dir("logs"), &files).config(logged).start();
    let bot = "User-Agent: BadBot\r\n";
    for round in 0..8 {
        let is = |target: &str, fields: &str, answer: (u16, &str)| {
            let (status, text) = ask(&server, target, fields);
            assert_eq!((status, &*text), answer, "{target} {fields} {round}\n{}", server.error_log());
        };
        is("/an/article", "", (200, "index"));
        is("/an/article?x=1", "", (200, "index"));
        is("/an/article?evil", "", (403, ""));
        is("/an/article", bot, (403, ""));
        is("/an/article", "User-Agent: good\r\n", (200, "index"));
        is("/there.txt", "", (200, "there"));
        is("/there.txt?v=2", "", (200, "there"));
        is("/there.txt?evil", "", (403, ""));
        is("/there.txt", bot, (403, ""));
        is("/index.html", "", (302, ""));
        is("/members", "Cookie: member\r\n", (200, "members"));
        is("/members", "", (200, "index"));
        is("/named/anna?q", "", (200, "index"));
        is("/named/berta", "", (200, "index"));
    }
    let article = server.site().path("htdocs/other");
    for _ in 0..2 {
        assert_eq!(ask(&server, "/other", "").1, "index");
        fs::write(&article, "the article itself").expect("ours");
        await_that("a file that is there now is the answer", || {
            ask(&server, "/other", "").1 == "the article itself"
        });
        fs::remove_file(&article).expect("ours");
        await_that("and the page again", || ask(&server, "/other", "").1 == "index");
    }
    fs::write(server.site().path("htdocs/.htaccess"), "Require all denied\n").expect("ours");
    await_that("other rules hold", || ask(&server, "/an/article", "").0 == 403);
    assert_eq!(ask(&server, "/there.txt?v=2", "").0, 403);
    logged_alike(&server);
}

/// Fields that rules set alike for everybody are kept with an answer; others are not.
#[test]
fn fields_of_kept_answers_are_each_request_s_own() {
    let rules = "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . index.html [L]\nHeader set X-Fixed one\n\
                 Header always append X-Always two\n<Files \"told.html\">\nHeader set X-Told \"expr=%{HTTP_COOKIE}\"\n</Files>\n\
                 <Files \"echo.html\">\nHeader echo X-Asked\n</Files>\n";
    let files = [
        ("htdocs/.htaccess", rules),
        ("htdocs/index.html", "index"),
        ("htdocs/told.html", "told"),
        ("htdocs/echo.html", "echo"),
    ];
    let config = "<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>\n";
    let server = old(Site::new(), &files).config(config).start();
    let told = |target: &str, fields: &str| {
        let head = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
        let answer = server.request(head.as_bytes());
        ["X-Fixed", "X-Always", "X-Told", "X-Asked"].map(|name| answer.field(name).unwrap_or("-").to_owned())
    };
    for _ in 0..8 {
        assert_eq!(told("/any", "Cookie: c\r\n"), ["one", "two", "-", "-"]);
        assert_eq!(told("/told.html", "Cookie: c\r\n"), ["one", "two", "c", "-"]);
        assert_eq!(told("/told.html", ""), ["one", "two", "", "-"]);
        assert_eq!(told("/echo.html", "X-Asked: q\r\n"), ["one", "two", "-", "q"]);
        assert_eq!(told("/echo.html", ""), ["one", "two", "-", "-"]);
    }
}

/// However a request was answered, the log says the same of it.
fn logged_alike(server: &Server) {
    let log = fs::read_to_string(server.site().path("logs/told.log")).expect("there is a log");
    let mut lines: HashMap<(&str, &str), HashSet<&str>> = HashMap::new();
    for line in log.lines() {
        let (asked, said) = line.split_once('|').expect("as the format says");
        let agent = said.rsplit('|').next().unwrap_or_default();
        lines.entry((asked, agent)).or_default().insert(said);
    }
    for target in ["/an/article", "/an/article?x=1", "/there.txt?v=2", "/named/anna?q"] {
        let asked = format!("GET {target} HTTP/1.1");
        let said = &lines[&(&*asked, "-")];
        // Once by the rules, and once refused by those that came at the end.
        let answered: Vec<_> = said.iter().filter(|said| said.contains("|200|")).collect();
        assert_eq!(answered.len(), 1, "{target}: {said:?}");
    }
    let named = lines[&("GET /named/anna?q HTTP/1.1", "-")].iter().next().expect("it was asked for");
    assert!(named.starts_with("/named/anna|?name=anna&q|"), "{named}");
    assert!(named.ends_with("|/index.html|?name=anna&q|-|-"), "{named}");
}

/// Tells what it is told of the request.
const PROGRAM: &str = r#"#!/usr/bin/perl
use FCGI;
my $request = FCGI::Request();
my @names = qw(REQUEST_URI QUERY_STRING REDIRECT_URL REDIRECT_QUERY_STRING REDIRECT_STATUS SCRIPT_NAME PATH_INFO MARK REDIRECT_MARK HTTP_COOKIE);
while ($request->Accept() >= 0) {
    print "Content-Type: text/plain\r\n\r\n", join " ", map { $_ // "-" } @ENV{@names};
}
"#;

#[test]
fn a_program_that_answers_for_all_is_told_of_each_request_as_it_is() {
    needs_program!("/usr/bin/perl");
    let has = std::process::Command::new("/usr/bin/perl").args(["-MFCGI", "-e1"]).status();
    if !has.is_ok_and(|status| status.success()) {
        return hostler_tests::untested("it takes FCGI.pm (libfcgi-perl)");
    }
    let config = "<Directory \"@ROOT@/htdocs\">\nOptions +ExecCGI\nAddHandler fcgid-script .fcgi\nAllowOverride All\n\
                  </Directory>\n";
    // In two steps, as applications do whose files stand one folder below.
    let outer = "RewriteEngine On\nRewriteRule ^(.*)$ public/$1 [E=MARK:outer,L]\n";
    let inner = "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^(.*)$ a.fcgi/$1?route=$1 [QSA,L]\n";
    let server = Site::new()
        .file("htdocs/.htaccess", outer)
        .file("htdocs/public/.htaccess", inner)
        .script("htdocs/public/a.fcgi", PROGRAM)
        .config(config)
        .start();
    let mut first = HashMap::new();
    for round in 0..8 {
        for (target, fields) in
            [("/x/y", ""), ("/x/y?q=1", ""), ("/x/y?q=2", "Cookie: c=2\r\n"), ("/x/y", "Cookie: c=3\r\n")]
        {
            let answer = ask(&server, target, fields);
            assert_eq!(answer.0, 200, "{target}\n{}", server.error_log());
            let known = first.entry((target, fields)).or_insert_with(|| answer.clone());
            assert_eq!(*known, answer, "{target} {fields} {round}");
        }
    }
    let told = &first[&("/x/y?q=2", "Cookie: c=2\r\n")].1;
    assert!(told.starts_with("/x/y?q=2 route=x/y&q=2 "), "{told}");
    assert!(told.ends_with(" c=2"), "{told}");
    assert!(first[&("/x/y", "")].1.starts_with("/x/y route=x/y "), "{first:?}");
    assert!(first[&("/x/y", "Cookie: c=3\r\n")].1.ends_with(" c=3"), "{first:?}");
}
