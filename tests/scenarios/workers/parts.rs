//! Requests inside of requests: what a program looks up, or runs as part of its answer, is served by its own worker.

use hostler_tests::{Server, Site};
use std::thread;

/// A program for each URL below `/t/`, by its name.
const MODULE: &str = r#"package T;
use strict; use warnings;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use Apache2::SubRequest ();
use Apache2::Log (); use APR::Table (); use Apache2::Const -compile => qw(OK DECLINED FORBIDDEN);
our $calls = 0;
sub handler {
    my $r = shift;
    my ($name) = $r->uri =~ m{/(\w+)$};
    $r->content_type('text/plain') unless $r->main;
    no strict 'refs';
    return &{"T::$name"}($r);
}
sub access {
    my $r = shift;
    $r->pnotes(accessed => $r->main ? $r->main->uri : 'no main');
    return $r->uri =~ /closed/ ? Apache2::Const::FORBIDDEN : Apache2::Const::OK;
}
sub outer {
    my $r = shift;
    $calls = 1;
    $r->pnotes(secret => 42);
    $r->print('[outer ');
    my $sub = $r->lookup_uri('/t/inner?a=b');
    $sub->notes->set(told => 'by the caller');
    my $status = $sub->run;
    $r->print(" $status ", Apache2::RequestUtil->request->uri, " $calls]");
    return 0;
}
sub inner {
    my $r = shift;
    $calls++;
    $r->print(join ' ', $r->uri, $r->args, 'main', $r->main->uri, $r->main->pnotes('secret'), $r->pnotes('accessed'),
        $r->notes->get('told') // 'nothing told', $r->is_initial_req ? 1 : 0, $r->main->is_initial_req ? 1 : 0);
    return 0;
}
sub deep {
    my $r = shift;
    my $depth = $r->args || 0;
    $r->print("<$depth");
    $r->lookup_uri('/t/deep?' . ($depth - 1))->run if $depth > 1;
    $r->print('>');
    return 0;
}
sub refused { my $r = shift; $r->print($r->lookup_uri('/t/closed')->status); 0 }
sub closed { $_[0]->print('closed'); 0 }
sub file { my $r = shift; $r->print('('); my $s = $r->lookup_uri('/plain.txt')->run; $r->print(") $s"); 0 }
sub dying { die "deliberately\n" }
sub missing { 404 }
sub elsewhere { $_[0]->internal_redirect('/t/landed'); 0 }
sub landed { my $r = shift; $r->print('landed from ', $r->prev->uri, ' in ', $r->main->uri); 0 }
sub several {
    my $r = shift;
    for my $name (qw(dying missing elsewhere file)) {
        local $@ = 'mine';
        my $status = $r->lookup_uri("/t/$name")->run;
        $r->print("$name $status ", $@, "\n");
    }
    0;
}
sub fork { my $r = shift; $r->print('<'); $r->lookup_uri('/f/back')->run; $r->print('>'); 0 }
sub back { my $r = shift; $r->print('back '); $r->lookup_uri('/t/who?mine')->run; 0 }
sub who { my $r = shift; $r->print($r->args, ' of ', $r->main ? $r->main->uri : 'nobody', $r->pnotes('accessed') ? ' let in' : ''); 0 }
sub forked { $_[0]->internal_redirect('/f/back'); 0 }
sub page { my $r = shift; $r->content_type('text/html'); $r->print('[<!--#include virtual="/f/back" -->]'); 0 }
sub large { my $r = shift; $r->print('x' x 100_000) for 1 .. 20; 0 }
sub around { my $r = shift; $r->print('a'); $r->lookup_uri('/t/large')->run; $r->print('z'); 0 }
1;
"#;

const SCRIPT: &str = r#"#!/usr/bin/perl
my $r = shift;
print "Content-type: text/plain\n\n";
$| = 1;
local $/ = undef;
print "$ENV{QUERY_STRING} $ENV{SCRIPT_NAME};";
$r->lookup_uri('/perl/part.pl?of=it')->run;
print ";$ENV{QUERY_STRING} $ENV{SCRIPT_NAME} ", defined $/ ? 'changed' : 'kept', ' ', $r->uri;
"#;

const PART: &str = r#"my $r = shift;
print "Content-type: text/plain\n\n";
print "$ENV{QUERY_STRING} $ENV{SCRIPT_NAME} ", $r->main->uri, defined $/ ? '' : ' slurps';
exit;
"#;

fn serving() -> Server {
    let config = r#"PerlSwitches -I@ROOT@/lib
PerlModule T
PerlModule ModPerl::Registry
StartServers 1
MaxRequestWorkers 1
HostlerQueueTimeout 4
<Location /t>
    PerlAccessHandler T::access
    SetHandler modperl
    PerlResponseHandler T
</Location>
<Location /f>
    SetHandler modperl
    PerlResponseHandler T
    Isolation fork
</Location>
<Location /page>
    SetHandler modperl
    PerlResponseHandler T::page
    SetOutputFilter INCLUDES
    Options +Includes
</Location>
Alias /perl @ROOT@/perl
<Directory @ROOT@/perl>
    Require all granted
    SetHandler perl-script
    PerlResponseHandler ModPerl::Registry
    PerlOptions +ParseHeaders
    Options +ExecCGI
</Directory>
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
<Files *.shtml>
    Options +Includes
</Files>
"#;
    Site::new()
        .file("lib/T.pm", MODULE)
        .file("perl/outer.pl", SCRIPT)
        .file("perl/part.pl", PART)
        .file("htdocs/plain.txt", "plain")
        .file("htdocs/page.shtml", "page <!--#include virtual=\"/t/whole\" --> end")
        .config(config)
        .start()
}

#[test]
fn one_worker_serves_a_request_and_those_inside_of_it() {
    let server = serving();
    for _ in 0..3 {
        let inner = "/t/inner a=b main /t/outer 42 /t/outer by the caller 0 1";
        assert_eq!(server.get("/t/outer").text(), format!("[outer {inner} 0 /t/outer 2]"));
    }
    assert_eq!(server.get("/t/deep?6").text(), "<6<5<4<3<2<1>>>>>>");
}

#[test]
fn a_part_of_a_part_in_another_process_comes_back_to_the_first() {
    let server = serving();
    for _ in 0..3 {
        assert_eq!(server.get("/t/fork").text(), "<back mine of /f/back let in>");
        assert_eq!(server.get("/t/forked").text(), "back mine of /t/forked let in");
        // The page's worker has been let go for the process that the include needs.
        assert_eq!(server.get("/page").text(), "[back mine of nobody]");
    }
}

#[test]
fn many_at_once_do_not_wait_for_each_other() {
    let server = serving();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(server.get("/t/deep?3").text(), "<3<2<1>>>");
                }
            });
        }
    });
}

#[test]
fn what_a_part_comes_to_is_told_and_its_caller_goes_on() {
    let server = serving();
    for _ in 0..3 {
        assert_eq!(server.get("/t/refused").text(), "403");
        assert_eq!(server.get("/t/file").text(), "(plain) 0");
    }
    let all = "dying 500 deliberately\n\nmissing 404 \nlanded from /t/elsewhere in /t/severalelsewhere 0 \n\
               (plain) 0file 0 \n";
    assert_eq!(server.get("/t/several").text(), all);
    assert!(server.error_log().contains("deliberately"));
    let long = server.get("/t/around").text();
    assert_eq!((long.len(), &long[..2], &long[long.len() - 2..]), (2_000_002, "ax", "xz"));
}

#[test]
fn scripts_inside_of_scripts_have_their_own_environment() {
    let server = serving();
    for _ in 0..2 {
        assert_eq!(
            server.get("/perl/outer.pl?mine").text(),
            "mine /perl/outer.pl;of=it /perl/part.pl /perl/outer.pl;mine /perl/outer.pl kept /perl/outer.pl"
        );
    }
}
