//! Pages with server-side includes over time: what must stay fresh, what must end, what arrives when. (What elements
//! do is compared with Apache in `conformance/`.)

use hostler_tests::{SITE_UID, Server, Site, await_that, needs_root};
use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant, SystemTime};

/// A site whose `.shtml` files are pages.
fn pages() -> Site {
    Site::new().config(
        "AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n<Directory \"@ROOT@/htdocs\">\n  Options +Includes\n  \
         AllowOverride All\n</Directory>",
    )
}

/// Gives a file a time at which nothing about it looks new any more.
fn age(site: &Site, name: &str) {
    let file = fs::File::options().append(true).open(site.path(name)).expect("a file of the site");
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("a new time");
}

#[test]
fn a_page_is_made_anew_for_each_request() {
    let site = pages().file("htdocs/p.shtml", "<!--#echo var=\"REMOTE_PORT\" -->");
    age(&site, "htdocs/p.shtml");
    let server = site.start();
    let mut answers: Vec<String> = (0..4).map(|_| server.get("/p.shtml").text()).collect();
    answers.dedup();
    assert_eq!(answers.len(), 4, "each connection has a port of its own: {answers:?}");
}

#[test]
fn an_ordinary_page_has_its_length_and_keeps_the_connection() {
    let server = pages().file("htdocs/p.shtml", "<!--#echo var=\"QUERY_STRING\" -->").start();
    let mut connection = server.connect();
    for query in ["one", "fourteen"] {
        connection.send(format!("GET /p.shtml?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        let answer = connection.response();
        assert_eq!(answer.field("Content-Length"), Some(query.len().to_string().as_str()));
        assert_eq!(answer.text(), query);
    }
}

/// Returns the page's text, once it contains `expected` or time is up.
fn settles(server: &Server, target: &str, expected: &str) -> String {
    let begin = Instant::now();
    loop {
        let text = server.get(target).text();
        if text == expected || begin.elapsed() > Duration::from_secs(5) {
            return text;
        }
    }
}

#[test]
fn what_is_included_follows_its_files_and_their_rules() {
    const ERROR: &str = "[an error occurred while processing this directive]";
    let site = pages().file("htdocs/p.shtml", "<!--#include virtual=\"d/part.txt\" -->");
    let site = site.file("htdocs/d/part.txt", "one");
    age(&site, "htdocs/p.shtml");
    age(&site, "htdocs/d/part.txt");
    let server = site.start();
    let shows = |expected: &str| assert_eq!(settles(&server, "/p.shtml", expected), expected);
    let part = server.site().path("htdocs/d/part.txt");
    let rules = server.site().path("htdocs/d/.htaccess");
    shows("one");
    shows("one");
    fs::write(&part, "two").expect("a new part");
    shows("two");
    fs::write(&rules, "Require all denied\n").expect("a new rule");
    shows(ERROR);
    fs::remove_file(&rules).expect("no rule");
    shows("two");
    let away = server.site().path("htdocs/e");
    fs::rename(server.site().path("htdocs/d"), &away).expect("another name");
    shows(ERROR);
    fs::rename(&away, server.site().path("htdocs/d")).expect("the old name");
    shows("two");
    fs::remove_file(&part).expect("no part");
    shows(ERROR);
}

#[test]
fn a_rule_that_looks_at_the_client_is_asked_each_time() {
    let site = pages().file("htdocs/p.shtml", "<!--#include virtual=\"d/part.txt\" -->");
    let site = site
        .file("htdocs/d/part.txt", "one")
        .file("htdocs/d/.htaccess", "Require expr %{HTTP:X-Key} == 'k'\n");
    let server = site.start();
    for _ in 0..2 {
        assert_eq!(server.get_with("/p.shtml", "Host: localhost\r\nX-Key: k\r\n").text(), "one");
        assert!(server.get("/p.shtml").text().starts_with("[an error"));
    }
}

#[test]
fn a_target_that_rules_choose_by_the_client_is_chosen_each_time() {
    let rules = "RewriteEngine On\nRewriteCond %{HTTP:X-Key} =k\nRewriteRule ^/part.txt$ /secret.txt\n";
    let site = pages().config(rules).file("htdocs/p.shtml", "<!--#include virtual=\"/part.txt\" -->");
    let server = site.file("htdocs/part.txt", "for all").file("htdocs/secret.txt", "for some").start();
    for _ in 0..2 {
        assert_eq!(server.get_with("/p.shtml", "Host: localhost\r\nX-Key: k\r\n").text(), "for some");
        assert_eq!(server.get("/p.shtml").text(), "for all");
    }
}

#[test]
fn commands_run_as_the_sites_user() {
    needs_root!();
    let site = pages().config(&format!("AssignUserID #{SITE_UID} #{SITE_UID}"));
    let server = site.file("htdocs/p.shtml", "<!--#exec cmd=\"id -u; id -G\" -->").start();
    assert_eq!(server.get("/p.shtml").text(), format!("{SITE_UID}\n{SITE_UID}\n"));
}

#[test]
fn what_is_there_does_not_wait_for_a_slow_command() {
    // It waits for a file that is there only after the beginning has been read.
    let command = "while [ ! -e goes-on ]; do sleep 0.05; done; echo after";
    let server = pages().file("htdocs/p.shtml", format!("before <!--#exec cmd=\"{command}\" -->")).start();
    let mut connection = server.connect();
    connection.send("GET /p.shtml HTTP/1.0\r\nHost: localhost\r\n\r\n");
    let mut head = String::new();
    while !head.contains("before") {
        let byte = connection.byte().expect("the beginning of the page");
        head.push(char::from(byte));
    }
    fs::write(server.site().path("htdocs/goes-on"), "").expect("the site's folder");
    assert!(connection.rest().ends_with(b"after\n"));
}

#[test]
fn a_command_ends_when_nobody_reads_its_page_any_more() {
    let endless = "<!--#exec cmd=\"echo $$ > ../group; while :; do echo 0123456789012345678901234567890123456789; done\" -->";
    let server = pages().file("htdocs/p.shtml", endless).file("group", "").mode("group", 0o666).start();
    let mut connection = server.connect();
    connection.send("GET /p.shtml HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(connection.byte().is_some());
    let shell = fs::read_to_string(server.site().path("group")).expect("the command has begun");
    drop(connection);
    let process = format!("/proc/{}", shell.trim());
    await_that("the command's end", || !fs::exists(&process).unwrap_or(true));
}

#[test]
fn no_page_fills_memory_or_log() {
    let mut doubling = format!("<!--#set var=\"a\" value=\"{}\" -->", "x".repeat(1000));
    for _ in 0..50 {
        doubling.push_str("<!--#set var=\"a\" value=\"$a$a\" -->");
    }
    for n in 0..500 {
        let _ = write!(doubling, "<!--#set var=\"v{n}\" value=\"$a\" -->");
    }
    doubling.push_str("end");
    let itself = "<!--#include virtual=\"/itself.shtml\" -->".repeat(20);
    let site = pages().file("htdocs/doubling.shtml", doubling).file("htdocs/itself.shtml", itself);
    let server = site.file("htdocs/x", "x").start();
    assert_eq!(server.get("/doubling.shtml").text(), "end");
    assert!(server.await_error("too much memory for variables").contains("doubling.shtml"));
    assert_eq!(server.get("/itself.shtml").status, 200);
    let _ = server.await_error("further messages about this request are left out");
    assert!(server.error_log().len() < 200_000, "{} bytes of log", server.error_log().len());
    assert_eq!(server.get("/x").text(), "x");
}

#[test]
fn a_programs_output_can_be_a_page() {
    let program = "#!/bin/sh\nprintf 'Content-Type: text/html\\n\\n<!--#echo var=\"QUERY_STRING\" -->.'\n";
    let site = pages().script("cgi-bin/x", program).config(
        "ScriptAlias /cgi-bin/ \"@ROOT@/cgi-bin/\"\n<Directory \"@ROOT@/cgi-bin\">\n  Require all granted\n  \
         Options +Includes\n  SetOutputFilter INCLUDES\n</Directory>",
    );
    assert_eq!(site.start().get("/cgi-bin/x?q").text(), "q.");
}
