//! Functions for later phases (`push_handlers`) and rules (`add_config`) that programs add to a request apply whichever
//! handler answers; if they cannot run, access is denied. (Generation 2 is compared with mod_perl in
//! `conformance/cases/perl-guards.toml`; this file has the cases that Apache cannot show.)

use hostler_tests::{Server, Site};

/// The query says from where, how and what: `header+push+Access+deny`.
const MODULE: &str = r#"package G;
use strict;
sub act {
    my ($r, $here) = @_;
    return -1 unless $r->is_initial_req;
    my ($from, $how, $to, $what) = split /\+/, $r->args || '';
    return -1 unless defined $how && $from eq $here;
    if ($how eq 'push') { $r->push_handlers("Perl${to}Handler" => \&{"G::$what"}) }
    elsif ($how eq 'set') { $r->set_handlers("Perl${to}Handler" => ["G::$what"]) }
    elsif ($how eq 'rule') { my $rule = $to; $rule =~ tr/-/ / if $rule =~ /^all/; $r->add_config(["Require $rule"]) }
    return -1;
}
no strict 'refs';
sub post { act($_[0], 'post') }
sub trans { act($_[0], 'trans') }
sub header { my $r = shift; $r->push_handlers(PerlAccessHandler => 'G::deny') if $r->headers_in->get('X-Deny'); act($r, 'header') }
sub init { act($_[0], 'init') }
sub deny { 403 }
sub mark { $_[0]->headers_out->set('X-Mark' => 'yes'); 0 }
sub kind { $_[0]->content_type('text/x-own'); 0 }
sub login { my $r = shift; my ($status, $password) = $r->get_basic_auth_pw; return $status if $status; return $password eq 'secret' ? 0 : 401 }
sub onlybob { my $r = shift; my $user = $r->can('user') ? $r->user : $r->connection->user; $user eq 'bob' ? 0 : 403 }
sub show { my $r = shift; $r->content_type('text/plain'); $r->send_http_header if $r->can('send_http_header'); $r->print("shown\n"); 0 }
sub page { my $r = shift; $r->content_type('text/html'); $r->send_http_header if $r->can('send_http_header'); $r->print('<!--#include virtual="/part/secret.txt" -->'); 0 }
sub keeps { my $r = shift; $r->dir_config->set(Kept => 'yes') if $r->args; 0 }
sub kept { my $r = shift; $r->dir_config('Kept') ? 0 : 403 }
sub pushes { $_[0]->push_handlers(PerlFixupHandler => 'G::deny'); 0 }
1;
"#;

const CONFIG: &str = r#"PerlSwitches -I@ROOT@/lib
PerlModule G
PerlPostReadRequestHandler G::post
PerlTransHandler G::trans
<Directory "@ROOT@/htdocs">
    Options +ExecCGI +Includes
    AddHandler cgi-script .cgi
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
</Directory>
<Location />
    PerlHeaderParserHandler G::header
</Location>
<Location /perl>
    SetHandler perl-script
    PerlHandler G::show
</Location>
<Location /init>
    PerlInitHandler G::init
    SetHandler perl-script
    PerlHandler G::show
</Location>
<Location /login>
    AuthType Basic
    AuthName login
    PerlAuthenHandler G::login
    Require valid-user
</Location>
<Location /kept>
    PerlAccessHandler G::keeps
    PerlFixupHandler G::kept
</Location>
<Location /part>
    PerlAccessHandler G::pushes
</Location>
"#;

fn server(generation: u8) -> Server {
    let modules = if generation == 2 {
        "use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use Apache2::Access (); \
         use APR::Table ();"
    } else {
        "use Apache (); use Apache::Table ();"
    };
    Site::new()
        .file("lib/G.pm", MODULE.replace("use strict;", &format!("use strict; {modules}")))
        .file("htdocs/file.txt", "a file\n")
        .file("htdocs/login/file.txt", "a file\n")
        .file("htdocs/kept/file.txt", "a file\n")
        .file("htdocs/part/secret.txt", "secret\n")
        .file("htdocs/page.shtml", "page <!--#echo var=\"DOCUMENT_NAME\" -->\n")
        .file("htdocs/includes.shtml", "<!--#include virtual=\"/part/secret.txt\" -->\n")
        .script("htdocs/run.cgi", "#!/bin/sh\necho Content-Type: text/plain\necho\necho run\n")
        .config(&format!("PerlApiVersion {generation}\n{CONFIG}"))
        .start()
}

fn user(name: &str) -> String {
    let credentials = if name == "bob" { "Ym9iOnNlY3JldA==" } else { "YWxpY2U6c2VjcmV0" };
    format!("Host: localhost\r\nAuthorization: Basic {credentials}\r\n")
}

#[test]
fn pushed_functions_run_for_answers_of_every_kind_in_both_generations() {
    for generation in [1, 2] {
        let server = server(generation);
        for target in ["/file.txt", "/perl", "/run.cgi", "/page.shtml"] {
            for from in ["post", "trans", "header"] {
                for how in ["push", "set"] {
                    let get = |what: &str| server.get(&format!("{target}?{from}+{how}+{what}"));
                    let about = format!("{generation}: {target} {from} {how}");
                    assert_eq!(get("Access+deny").status, 403, "{about}");
                    let marked = get("Fixup+mark");
                    assert_eq!((marked.status, marked.field("X-Mark")), (200, Some("yes")), "{about}");
                    assert_eq!(get("Fixup+deny").status, 403, "{about}");
                    assert_eq!(get("Type+deny").status, 403, "{about}");
                }
            }
            assert_eq!(server.get(target).status, 200, "{generation}: {target}");
        }
        assert_eq!(server.get("/init?init+push+Access+deny").status, 403, "{generation}");
        let typed = server.get("/file.txt?header+push+Type+kind");
        assert_eq!(typed.field("Content-Type"), Some("text/x-own"), "{generation}");
    }
}

#[test]
fn pushed_functions_decide_about_users_in_both_generations() {
    for generation in [1, 2] {
        let server = server(generation);
        for from in ["post", "trans", "header"] {
            let target = format!("/login/file.txt?{from}+push+Authz+onlybob");
            assert_eq!(server.get(&target).status, 401, "{generation} {from}");
            assert_eq!(server.get_with(&target, &user("alice")).status, 403, "{generation} {from}");
            assert_eq!(server.get_with(&target, &user("bob")).status, 200, "{generation} {from}");
        }
        assert_eq!(server.get_with("/login/file.txt", &user("alice")).status, 200, "{generation}");
    }
}

#[test]
fn added_rules_hold_in_both_generations() {
    for generation in [1, 2] {
        let server = server(generation);
        for target in ["/file.txt", "/perl", "/run.cgi", "/page.shtml"] {
            assert_eq!(
                server.get(&format!("{target}?header+rule+all-denied")).status,
                403,
                "{generation} {target}"
            );
            assert_eq!(
                server.get(&format!("{target}?header+rule+valid-user")).status,
                500,
                "{generation} {target}"
            );
            assert_eq!(
                server.get(&format!("{target}?trans+rule+valid-user")).status,
                500,
                "{generation} {target}"
            );
        }
        let log = server.await_error("would be lost");
        assert!(log.contains("add_config() has failed"), "{log}");
    }
}

#[test]
fn what_a_program_sets_in_dir_config_is_there_in_later_phases_and_in_no_other_request() {
    for generation in [1, 2] {
        let server = server(generation);
        for _ in 0..3 {
            assert_eq!(server.get("/kept/file.txt?set").status, 200, "{generation}");
            assert_eq!(server.get("/kept/file.txt").status, 403, "{generation}");
        }
    }
}

/// Answers from memory are for requests to which nobody has added anything.
#[test]
fn what_is_added_to_one_request_is_not_remembered_for_others() {
    let server = server(2);
    let denied = "Host: localhost\r\nX-Deny: 1\r\n";
    for target in ["/file.txt", "/perl", "/page.shtml"] {
        for _ in 0..3 {
            assert_eq!(server.get(target).status, 200, "{target}");
            assert_eq!(server.get_with(target, denied).status, 403, "{target}");
        }
    }
}

/// A part of a page has a worker for each of its phases: what the first has been given the next one does not know.
#[test]
fn functions_that_cannot_be_asked_any_more_let_nobody_through() {
    let server = server(2);
    assert_eq!(server.get("/part/secret.txt").status, 403);
    let page = server.get("/includes.shtml");
    assert!(page.status == 200 && !page.text().contains("secret"), "{}", page.text());
    let _ = server.await_error("cannot be asked any more");
}

#[test]
fn a_psgi_application_that_frames_its_chunks_is_understood() {
    let app = r#"sub {
        my $env = shift;
        my @head = ('Content-Type' => 'text/plain', 'Transfer-Encoding' => 'chunked');
        return [200, \@head, ["5\r\nhello\r\n", "6\r\n world\r\n", "0\r\n\r\n"]] if $env->{PATH_INFO} eq '/list';
        return [200, \@head, ['not framed']] if $env->{PATH_INFO} eq '/plain';
        return sub {
            my $writer = shift->([200, \@head]);
            $writer->write($_) for "5\r\nhe", "llo\r\n6\r\n wo", "rld\r\n";
            $writer->write("0\r\n\r\n") unless $env->{PATH_INFO} eq '/torn';
            $writer->close;
        };
    }"#;
    let server = Site::new()
        .file("app.psgi", app)
        .config("<Location /app>\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\n</Location>\n")
        .start();
    for path in ["/app/list", "/app/writer"] {
        let answer = server.get(path);
        assert_eq!(
            (answer.status, answer.text().as_str(), answer.truncated),
            (200, "hello world", false),
            "{path}"
        );
    }
    assert_eq!(server.get("/app/plain").text(), "not framed");
    let torn = server.get("/app/torn");
    assert!(torn.truncated || torn.status == 500, "{} {}", torn.status, torn.text());
}
