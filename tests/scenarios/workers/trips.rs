//! Requests that go to a worker several times, because the front decides between two of its phases.

use crate::faults::await_that;
use hostler_tests::{Server, Site};
use std::thread;

/// Phases that tell each other who they are, and `P::say`, which tells it the client.
const MODULE: &str = r#"package P;
use strict; use warnings;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use Apache2::Const -compile => 'OK';
use APR::Pool (); use Time::HiRes ();
our $cleaned = 0;
sub note {
    my $r = shift;
    $r->pnotes(pid => $$);
    $r->pnotes(kept => { uri => $r->uri });
    $r->pool->cleanup_register(sub { $cleaned++; warn "cleaned up $_[0]\n" }, $r->uri);
    Time::HiRes::sleep(0.02);
    return Apache2::Const::OK;
}
sub fails {
    my $r = shift;
    $r->push_handlers(PerlCleanupHandler => sub { warn "pushed for ", $_[0]->uri, "\n"; 0 });
    return 404;
}
sub document {
    my $r = shift;
    my $kept = $r->prev->pnotes('kept') || {};
    $r->content_type('text/plain');
    $r->print('instead of ', $kept->{uri} || 'nothing', ' ', ($r->prev->pnotes('pid') || 0) == $$ ? 'same' : 'another');
    return Apache2::Const::OK;
}
sub say {
    my $r = shift;
    $r->content_type('text/plain');
    my $kept = $r->pnotes('kept') || {};
    $r->print(($r->pnotes('pid') || 0) == $$ ? 'same' : 'another', ' ', $kept->{uri} || 'nothing');
    return Apache2::Const::OK;
}
1;
"#;

fn serving(pool: &str) -> Server {
    let config = format!(
        r#"PerlSwitches -I@ROOT@/lib
PerlModule P
<VirtualHost *:@PORT@>
ServerName localhost
{pool}
PerlAccessHandler P::note
<Location /say>
    AuthUserFile "@ROOT@/users"
    SetHandler modperl
    PerlResponseHandler P::say
    AuthType Basic
    AuthName test
    Require valid-user
</Location>
<Location /fails>
    SetHandler modperl
    PerlResponseHandler P::fails
    ErrorDocument 404 /document
</Location>
<Location /fails/for/a/file>
    ErrorDocument 404 /large
</Location>
<Location /fails/alone>
    ErrorDocument 404 default
</Location>
<Location /document>
    SetHandler modperl
    PerlResponseHandler P::document
</Location>
</VirtualHost>
"#
    );
    Site::new()
        .file("lib/P.pm", MODULE)
        .file("users", "me:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n")
        .file("htdocs/index.html", "the index")
        .file("htdocs/large", vec![b'x'; 64 << 20])
        .config(&config)
        .start()
}

const WHO: &str = "Host: a\r\nAuthorization: Basic bWU6c2VjcmV0\r\n";

#[test]
fn what_programs_keep_lasts_though_the_front_decides_between_phases() {
    let server = serving("StartServers 4\nMaxRequestWorkers 4");
    thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let target = format!("/say/{client}");
                for _ in 0..10 {
                    let answer = server.get_with(&target, WHO);
                    assert_eq!((answer.status, answer.text()), (200, format!("same {target}")));
                }
            });
        }
    });
    await_that("each is cleaned up after", || server.error_log().matches("cleaned up /say").count() == 80);
}

#[test]
fn who_is_refused_between_phases_is_cleaned_up_after() {
    let server = serving("MaxRequestWorkers 1");
    assert_eq!(server.get("/say").status, 401);
    let _ = server.await_error("cleaned up /say");
    assert_eq!(server.get_with("/say", WHO).text(), "same /say");
}

#[test]
fn a_document_of_an_error_sees_what_the_request_that_failed_has_kept() {
    let server = serving("StartServers 2\nMaxRequestWorkers 2");
    for n in 0..6 {
        let target = format!("/fails/{n}");
        let answer = server.get(&target);
        assert_eq!((answer.status, answer.text()), (404, format!("instead of {target} same")));
        let _ = server.await_error(&format!("cleaned up {target}"));
        let _ = server.await_error(&format!("pushed for {target}"));
    }
    await_that("each document is cleaned up after", || {
        server.error_log().matches("cleaned up /document").count() == 6
    });
}

#[test]
fn a_worker_whose_request_has_failed_waits_for_nobody_else_s_answer() {
    let server = serving("MaxRequestWorkers 1");
    for target in ["/fails/for/a/file", "/fails/alone", "/fails/for/a/file", "/fails/alone"] {
        let mut slow = server.connect();
        slow.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(slow.byte().is_some());
        assert_eq!(server.get_with("/say", WHO).text(), "same /say");
        let _ = server.await_error(&format!("pushed for {target}"));
    }
}

#[test]
fn nobodys_slow_download_keeps_a_worker() {
    let server = serving("MaxRequestWorkers 1");
    let mut slow = server.connect();
    slow.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(slow.byte().is_some());
    let _ = server.await_error("cleaned up /large");
    assert_eq!(server.get_with("/say", WHO).text(), "same /say");
}

#[test]
fn an_index_that_asks_a_worker_too_does_not_wait_for_the_one_that_is_kept() {
    let server = serving("MaxRequestWorkers 1");
    let answer = server.get("/");
    assert_eq!((answer.status, answer.text().as_str()), (200, "the index"));
}
