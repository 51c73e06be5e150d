//! mod_rewrite, black box: what `conformance/` can't compare with Apache, since it is about what Hostler promises.

use hostler_tests::{Server, Site};

const OPEN: &str =
    "<Directory \"@ROOT@/htdocs\">\nAllowOverride All\nOptions +FollowSymLinks\n</Directory>\n";

fn write(server: &Server, name: &str, text: &str) {
    std::fs::write(server.site().path(name), text).expect("the file is written");
}

fn site(rules: &str) -> Site {
    Site::new().config(OPEN).file("htdocs/app/.htaccess", format!("RewriteEngine On\n{rules}\n"))
}

#[test]
fn rules_that_never_end_are_a_500() {
    let server = site("RewriteRule ^(.*)$ x$1 [L]").file("htdocs/other.txt", "other").start();
    assert_eq!(server.get("/app/a").status, 500);
    let line = server.await_error("the request exceeded the limit of 10 internal redirects");
    assert!(line.contains("/app/a -> /app/xa -> /app/xxa"), "{line}");
    assert_eq!(server.get("/other.txt").text(), "other");
}

#[test]
fn a_pattern_that_tries_too_much_is_a_500_and_others_are_served() {
    let rules = "RewriteCond %{QUERY_STRING} ([a-z]*[a-z]*[a-z]*[@!])\nRewriteRule ^ - [F]";
    let server = site(rules).file("htdocs/other.txt", "other").start();
    assert_eq!(server.get(&format!("/app/?{}", "a".repeat(6000))).status, 500);
    let _ = server.await_error("the regular expression \"([a-z]*[a-z]*[a-z]*[@!])\" gave up");
    assert_eq!(server.get("/app/?b!").status, 403);
    assert_eq!(server.get("/other.txt").text(), "other");
}

#[test]
fn a_rule_that_doubles_a_text_again_and_again_is_a_500() {
    let server = site("RewriteRule ^(.*)$ $1$1 [N]").start();
    assert_eq!(server.get("/app/aaaaaaaa").status, 500);
    let _ = server.await_error("a rule's result is too long");
}

#[test]
fn rules_ask_about_a_url_that_asks_about_itself() {
    let rules = "RewriteCond %{LA-U:REQUEST_FILENAME} (.*)\nRewriteRule ^a\\.txt$ - [E=AHEAD:%1]";
    let server = site(rules).file("htdocs/app/a.txt", "a").start();
    assert_eq!(server.get("/app/a.txt").text(), "a");
}

#[test]
fn an_access_file_that_changes_counts_from_the_next_request_on() {
    let server =
        site("RewriteRule ^x$ a.txt [L]").file("htdocs/app/a.txt", "a").file("htdocs/app/b.txt", "b").start();
    assert_eq!(server.get("/app/x").text(), "a");
    write(&server, "htdocs/app/.htaccess", "RewriteEngine On\nRewriteRule ^x$ b.txt [L]\n");
    assert_eq!(server.get("/app/x").text(), "b");
}

#[test]
fn a_map_that_changes_counts_from_the_next_request_on_and_one_that_is_gone_is_a_500() {
    let server = Site::new()
        .config(OPEN)
        .config("RewriteEngine On\nRewriteMap names txt:@ROOT@/htdocs/names.txt\nRewriteRule ^/x/(.*) /${names:$1|none.txt}\n")
        .file("htdocs/names.txt", "a one.txt\n")
        .file("htdocs/one.txt", "one")
        .file("htdocs/two.txt", "two")
        .start();
    assert_eq!(server.get("/x/a").text(), "one");
    assert_eq!(server.get("/x/b").status, 404);
    write(&server, "htdocs/names.txt", "a two.txt\n");
    assert_eq!(server.get("/x/a").text(), "two");
    std::fs::remove_file(server.site().path("htdocs/names.txt")).expect("the map is removed");
    assert_eq!(server.get("/x/a").status, 500);
    let _ = server.await_error("can't be read");
}

#[test]
fn the_trace_is_as_people_know_it() {
    let server = site("RewriteRule ^x$ a.txt [L]")
        .config("LogLevel rewrite:trace8")
        .file("htdocs/app/a.txt", "a")
        .start();
    assert_eq!(server.get("/app/x").text(), "a");
    let _ = server.await_error("strip per-dir prefix: ");
    let _ = server.await_error("applying pattern '^x$' to uri 'x'");
    let _ = server.await_error("rewrite 'x' -> 'a.txt'");
    let _ = server.await_error("internal redirect with /app/a.txt [INTERNAL REDIRECT]");
}

#[test]
fn a_file_that_rules_guard_is_not_served_from_memory() {
    let rules = "RewriteCond %{HTTP:X-Key} !=open\nRewriteRule ^a\\.txt$ - [F]";
    let server = site(rules).file("htdocs/app/a.txt", "a").start();
    for _ in 0..3 {
        let open = server.get_with("/app/a.txt", "Host: localhost\r\nX-Key: open\r\n");
        assert_eq!(open.text(), "a");
        assert_eq!(server.get("/app/a.txt").status, 403);
    }
}
