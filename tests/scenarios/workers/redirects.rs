//! `internal_redirect`: another request answers, and the program that has asked for it goes on without a listener.

use crate::faults::await_that;
use hostler_tests::{Server, Site};
use std::fs;

const MODULE: &str = r#"package R;
use strict; use warnings;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use Apache2::SubRequest ();
our $after = 0;
sub handler { my $r = shift; my ($name) = $r->uri =~ m{(\w+)$}; $r->content_type('text/plain'); no strict 'refs'; &{"R::$name"}($r) }
sub short { $_[0]->print("short in $$"); 0 }
sub slow_afterwards { my $r = shift; $r->internal_redirect('/r/short'); until (-e $r->args) { select undef, undef, undef, 0.05 } $after++; 0 }
sub long { my $r = shift; $r->internal_redirect('/r/endless'); $after++; 0 }
sub endless { my $r = shift; $r->print('x' x 50_000) for 1 .. 2000; 0 }
sub loop { my $r = shift; $r->internal_redirect('/r/loop'); $after++; 0 }
sub file { my $r = shift; $r->internal_redirect('/large.bin'); $after++; 0 }
sub dies { my $r = shift; $r->internal_redirect('/r/killed'); 0 }
sub killed { kill 9, $$; sleep 1; 0 }
sub after { $_[0]->print($after); 0 }
1;
"#;

fn serving() -> Server {
    let config = "PerlSwitches -I@ROOT@/lib\nPerlModule R\nStartServers 1\nMaxRequestWorkers 1\nHostlerQueueTimeout 10\n\
                  <Location /r>\nSetHandler modperl\nPerlResponseHandler R\n</Location>";
    Site::new().file("lib/R.pm", MODULE).file("htdocs/large.bin", vec![0; 20 << 20]).config(config).start()
}

fn await_after(server: &Server, count: &str) {
    await_that("the programs have gone on", || server.get("/r/after").text() == count);
}

#[test]
fn the_client_does_not_wait_for_what_comes_after() {
    let server = serving();
    let _ = server.get("/r/short");
    let goes_on = server.site().path("goes-on");
    // It waits for a file that is there only after the answer.
    let target = format!("/r/slow_afterwards?{}", goes_on.display());
    assert!(server.get(&target).text().starts_with("short in "));
    fs::write(goes_on, "").expect("the site's folder");
    await_after(&server, "1");
}

#[test]
fn a_client_that_leaves_or_dawdles_leaves_the_worker_usable() {
    let server = serving();
    let mut connection = server.connect();
    connection.send("GET /r/long HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(connection.byte().is_some());
    drop(connection);
    assert!(server.get("/r/short").text().starts_with("short in "));
    // A file is sent without the worker.
    let before = server.get("/r/after").text();
    let mut connection = server.connect();
    connection.send("GET /r/file HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(connection.byte().is_some());
    await_that("the program has gone on", || server.get("/r/after").text() != before);
}

#[test]
fn redirects_in_circles_and_deaths_on_the_way_are_errors() {
    let server = serving();
    assert_eq!(server.get("/r/loop").status, 500);
    let _ = server.await_error("limit of 10 internal redirects");
    await_after(&server, "11");
    assert_eq!(server.get("/r/dies").status, 502);
    assert!(server.get("/r/short").text().starts_with("short in "));
}
