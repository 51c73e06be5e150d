//! Pages that Perl makes with includes that Perl makes: no worker is waited for while another is kept.

use hostler_tests::{Server, Site};
use std::thread;

const MODULE: &str = r#"package I;
use strict; use warnings;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use Apache2::SubRequest ();
our ($served, $logged) = (0, 0);
sub handler { my $r = shift; my ($name) = $r->uri =~ m{(\w+)$}; $r->content_type('text/html'); no strict 'refs'; &{"I::$name"}($r) }
sub include { qq(<!--#include virtual="$_[0]" -->) }
sub part { my $r = shift; $served++; $r->print("part $served ", $r->main->pnotes('kept') // 'nothing', " $$"); 0 }
sub page { my $r = shift; $served = 0; $r->pnotes(kept => "kept by $$"); $r->print('[', include('/p/part'), '|', include('/p/part'), ']'); 0 }
sub slow { my $r = shift; $r->print('[', include('/p/slowpart')); $r->rflush; select undef, undef, undef, 0.05; $r->print(include('/p/part'), ']'); 0 }
sub slowpart { my $r = shift; $r->print('slow '); $r->rflush; select undef, undef, undef, 0.05; $r->print('part '); 0 }
sub deep { $_[0]->print('<', include('/i/page'), include('/i/slow'), include('/page.shtml'), '>'); 0 }
sub runs { my $r = shift; $r->print('('); $r->lookup_uri('/i/deep')->run; $r->print(')'); 0 }
sub large { my $r = shift; $r->print(include('/p/much')) for 1 .. 200; 0 }
sub much { $_[0]->print('x' x 30_000); 0 }
sub log { $logged++; 0 }
sub logged { $_[0]->print($logged); 0 }
1;
"#;

fn serving(workers: u32) -> Server {
    let config = format!(
        r#"PerlSwitches -I@ROOT@/lib
PerlModule I
StartServers 1
MaxRequestWorkers {workers}
HostlerQueueTimeout 10
<Directory @ROOT@/htdocs>
    Options +Includes
</Directory>
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
<Location /p>
    SetHandler modperl
    PerlResponseHandler I
</Location>
<Location /i>
    SetHandler modperl
    PerlResponseHandler I
    PerlLogHandler I::log
    SetOutputFilter INCLUDES
    Options +Includes
</Location>
"#
    );
    Site::new()
        .file("lib/I.pm", MODULE)
        .file("htdocs/page.shtml", "file <!--#include virtual=\"/p/part\" -->")
        .config(&config)
        .start()
}

/// Digits are left out: processes have numbers.
fn shape(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

const PAGE: &str = "[part  kept by  |part  kept by  ]";
const SLOW: &str = "[slow part part  nothing ]";

#[test]
fn parts_of_a_page_are_served_where_the_page_was_made() {
    let server = serving(2);
    for _ in 0..5 {
        let text = server.get("/i/page").text();
        let process = text.trim_end_matches(']').rsplit(' ').next().unwrap_or_default().to_owned();
        let part = |number: u32| format!("part {number} kept by {process} {process}");
        assert_eq!(text, format!("[{}|{}]", part(1), part(2)));
    }
}

#[test]
fn one_worker_does_for_pages_in_pages() {
    let server = serving(1);
    let deep = format!("<{PAGE}{SLOW}file part  nothing >");
    for _ in 0..2 {
        assert_eq!(shape(&server.get("/i/deep").text()), deep);
        assert_eq!(shape(&server.get("/i/runs").text()), format!("({deep})"));
        assert_eq!(shape(&server.get("/page.shtml").text()), "file part  nothing ");
    }
    assert_eq!(server.get("/p/logged").text(), "4");
}

#[test]
fn many_clients_of_few_workers_do_not_wait_for_each_other() {
    for workers in [1, 2] {
        let server = serving(workers);
        thread::scope(|scope| {
            for client in 0..8 {
                let server = &server;
                scope.spawn(move || {
                    for _ in 0..4 {
                        match client % 4 {
                            0 => assert_eq!(shape(&server.get("/i/page").text()), PAGE),
                            1 => assert_eq!(shape(&server.get("/i/slow").text()), SLOW),
                            2 => assert!(shape(&server.get("/i/deep").text()).ends_with("nothing >")),
                            _ => assert!(shape(&server.get("/p/runs").text()).ends_with("nothing >)")),
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn a_client_that_takes_nothing_keeps_no_worker() {
    let server = serving(1);
    let mut slow = server.connect();
    slow.send(b"GET /i/large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(slow.byte().is_some());
    for _ in 0..3 {
        assert_eq!(shape(&server.get("/i/page").text()), PAGE);
    }
}
