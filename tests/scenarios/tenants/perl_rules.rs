//! The requests of a tenant's Perl to the front in the middle of a request: rules to be read, and the body in small
//! pieces.

use super::{Attack, Owned, is_long, tenants};
use hostler_tests::{Server, Site, needs_root};

const MODULE: &str = r#"package Rules;
use strict;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil ();
my $n = 0;
# Other patterns each time, each as large as it may be.
sub adds {
    my $r = shift;
    for (1 .. 20) {
        my $text = "PerlSetVar N " . $$ . '_' . $n++ . "\n";
        $text .= "RedirectMatch 404 \"(a{90}|b{80}|$n)\{90\}\"\n" while length $text < 3900;
        eval { $r->add_config([$text]) };
    }
    return -1;
}
sub bytes { my $r = shift; 1 while $r->read(my $byte, 1); return -1 }
1;
"#;

fn server() -> Server {
    let rules = "PerlSwitches -I@ROOT@/a/lib\nPerlModule Rules\nMaxRequestWorkers 4\n\
                 <Location /adds>\nPerlHeaderParserHandler Rules::adds\n</Location>\n\
                 <Location /bytes>\nPerlHeaderParserHandler Rules::bytes\n</Location>\n";
    let site: Site = tenants(rules);
    site.dir("a/lib")
        .a_file("lib/Rules.pm", MODULE)
        .dir("a/htdocs/adds")
        .a_file("htdocs/adds/a.html", "A's page")
        .a_file("htdocs/bytes", "A's page")
        .start()
}

/// Four visitors of A's at once, so many times each.
fn visitors(times: usize, visit: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..times).for_each(|_| visit()));
        }
    });
}

#[test]
fn patterns_that_a_program_adds_hold_up_nobody_else() {
    needs_root!();
    let server = server();
    Attack::new("rules with large patterns, added by Perl", 256).run(&server, || {
        visitors(if is_long() { 20 } else { 1 }, || {
            let answer = server.get_with("/adds/a.html", "Host: a.test\r\n");
            assert_eq!(answer.status, 200, "{}", answer.text());
        });
    });
}

#[test]
fn a_body_that_is_read_byte_by_byte_holds_up_nobody_else() {
    needs_root!();
    let server = server();
    let body = "x".repeat(if is_long() { 20_000 } else { 5_000 });
    let request = format!(
        "POST /bytes HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    Attack::new("a body read byte by byte before the response", 16).run(&server, || {
        visitors(if is_long() { 10 } else { 1 }, || {
            assert_eq!(server.request(request.as_bytes()).status, 200);
        });
    });
}
