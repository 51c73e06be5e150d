//! Perl in warm workers, seen from outside: handlers, Registry scripts, all phases, and what happens when programs
//! misbehave. (What well-behaved ones get and may say is compared with Apache in `conformance/`.)

use hostler_tests::{Connection, Response, Server, Site, await_that};
use std::time::{Duration, Instant};

/// Functions for every phase; `/t/NAME` answers with `T::NAME`.
const MODULE: &str = r#"package T;
use strict;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use Apache2::Log ();
use Apache2::SubRequest (); use Apache2::Response (); use Apache2::Access (); use APR::Table ();
use Apache2::Const -compile => qw(OK DECLINED FORBIDDEN REDIRECT);
sub text { my ($r, @text) = @_; $r->content_type('text/plain'); $r->print(@text); Apache2::Const::OK }
sub hello { text($_[0], 'Hello') }
sub query { text($_[0], $_[0]->args // 'none', ' ', $_[0]->headers_in->get('X-Who') // 'nobody') }
sub echo {
    my $r = shift;
    $r->content_type('application/octet-stream');
    while ($r->read(my $piece, 65536)) { $r->print($piece) }
    Apache2::Const::OK;
}
sub big { my $r = shift; $r->content_type('text/plain'); my $x = 'x' x 65536; $r->print($x) for 1 .. 1600; 0 }
sub parts {
    my $r = shift;
    $r->content_type('text/plain');
    for (1 .. 3) { $r->print("part $_\n"); $r->rflush; select undef, undef, undef, 0.4 }
    0;
}
sub redirect { $_[0]->headers_out->set(Location => 'http://example.org/x'); Apache2::Const::REDIRECT }
sub internal { $_[0]->internal_redirect('/static.txt'); 0 }
sub cookies {
    my $r = shift;
    $r->headers_out->add('Set-Cookie' => $_) for 'a=1', 'b=2';
    $r->err_headers_out->add('Set-Cookie' => 'c=3');
    text($r, 'ok');
}
sub custom { $_[0]->custom_response(404, '<p>my own page</p>'); 404 }
sub missing { 404 }
sub declined { Apache2::Const::DECLINED }
sub lookup { my $s = $_[0]->lookup_uri('/static.txt'); text($_[0], join ',', $s->status, $s->content_type) }
sub run {
    my $r = shift;
    text($r, '[before]');
    my $status = $r->lookup_uri('/static.txt')->run;
    $r->print("[after $status]");
    0;
}
sub dies { die "deliberately\n" }
sub breaks { my $r = shift; text($r, 'half'); $r->rflush; die "in the middle\n" }
sub exits { text($_[0], 'said'); ModPerl::Util::exit() }
sub killed { warn "last words\n"; kill 9, $$; sleep 9 }
sub stuck { sleep 60 }
sub pid { text($_[0], $$) }
sub warns { warn "a warning\n"; $_[0]->log->error('an error'); text($_[0], 'w') }
sub deny { Apache2::Const::FORBIDDEN }
sub allow { Apache2::Const::OK }
sub authen {
    my $r = shift;
    my ($status, $password) = $r->get_basic_auth_pw;
    return $status if $status != Apache2::Const::OK;
    return Apache2::Const::OK if $password eq 'secret';
    $r->note_basic_auth_failure;
    401;
}
sub named { $_[0]->user($_[0]->headers_in->get('X-User') // return 401); $_[0]->auth_type eq 'My::Login' ? 0 : 500 }
sub authz { $_[0]->user eq 'alice' ? Apache2::Const::OK : 403 }
sub mark { $_[0]->subprocess_env(MARK => 'fixed up'); $_[0]->notes->set(mark => 'noted'); 0 }
sub shown {
    my $r = shift;
    text($r, join ' ', $r->user // '-', $r->subprocess_env('MARK') // '-', $r->notes->get('mark') // '-');
}
sub logged { $_[0]->log_error('LOGGED ' . $_[0]->uri . ' ' . $_[0]->status); 0 }
sub cleaned { $_[0]->log_error('CLEANED ' . $_[0]->uri); 0 }
sub trans {
    my $r = shift;
    return Apache2::Const::DECLINED unless $r->uri =~ m{^/moved/(\w+)$};
    $r->filename($r->document_root . "/$1.txt");
    Apache2::Const::OK;
}
1;
"#;

const ANSWERS: [&str; 22] = [
    "hello", "query", "echo", "big", "parts", "redirect", "internal", "cookies", "custom", "missing",
    "declined", "lookup", "run", "dies", "breaks", "exits", "killed", "stuck", "pid", "warns", "shown",
    "logged",
];

/// A site with the module; `config` follows what makes its functions answer.
fn site(config: &str) -> Site {
    let mut text = String::from("PerlSwitches -I@ROOT@/lib\nPerlModule T\nLogLevel info\n");
    for name in ANSWERS {
        text.push_str(&format!(
            "<Location /t/{name}>\nSetHandler modperl\nPerlResponseHandler T::{name}\n</Location>\n"
        ));
    }
    let site = Site::new().file("lib/T.pm", MODULE).file("htdocs/static.txt", "static text\n");
    site.config(&text).config(config)
}

fn post(server: &Server, target: &str, body: &[u8]) -> Response {
    let head = format!("POST {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    let mut request = format!("{head}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    request.extend_from_slice(body);
    let mut connection = server.connect();
    connection.send(request);
    connection.response()
}

fn login(user: &str) -> String {
    // alice:secret, bob:secret, alice:wrong
    let credentials = match user {
        "alice" => "YWxpY2U6c2VjcmV0",
        "bob" => "Ym9iOnNlY3JldA==",
        _ => "YWxpY2U6d3Jvbmc=",
    };
    format!("Host: localhost\r\nAuthorization: Basic {credentials}\r\n")
}

#[test]
fn a_handler_answers_again_and_again_on_one_connection() {
    let server = site("").start();
    let mut connection = server.connect();
    for n in 0..5 {
        connection.send(format!("GET /t/query?n={n} HTTP/1.1\r\nHost: localhost\r\nX-Who: me{n}\r\n\r\n"));
        let answer = connection.response();
        assert_eq!((answer.status, answer.text()), (200, format!("n={n} me{n}")));
        assert_eq!(answer.field("Content-Type"), Some("text/plain"));
        assert_eq!(answer.field("Content-Length"), Some(answer.body.len().to_string().as_str()));
    }
    assert!(server.access_log().is_empty() || server.access_log().contains("GET /t/query?n=0"));
}

#[test]
fn head_has_the_fields_and_no_body() {
    let server = site("").start();
    let mut connection = server.connect();
    connection.send(
        "HEAD /t/hello HTTP/1.1\r\nHost: localhost\r\n\r\nGET /t/hello HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    let head = connection.head_response();
    assert_eq!((head.status, head.field("Content-Type")), (200, Some("text/plain")));
    assert_eq!(connection.response().text(), "Hello");
}

#[test]
fn a_program_s_page_for_an_error_has_no_body_for_head_either() {
    let server = site("ErrorDocument 404 /t/hello\n").start();
    let mut connection = server.connect();
    connection.send(
        "HEAD /none HTTP/1.1\r\nHost: localhost\r\n\r\nGET /static.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    assert_eq!(connection.head_response().status, 404);
    assert_eq!(connection.response().text(), "static text\n");
}

#[test]
fn ten_megabytes_go_there_and_back() {
    let server = site("").start();
    let body: Vec<u8> = (0..10_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut connection = server.connect();
    connection.send(format!(
        "POST /t/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    // Nobody can hold all of it: it must be read while it is sent.
    let answer = std::thread::scope(|scope| {
        let sender = connection.sender();
        scope.spawn(|| send_all(sender, &body));
        connection.response()
    });
    assert_eq!(answer.status, 200);
    assert!(answer.body == body, "{} of {} bytes", answer.body.len(), body.len());
}

fn send_all(mut sender: std::net::TcpStream, body: &[u8]) {
    use std::io::Write as _;
    sender.write_all(body).expect("the server reads");
}

#[test]
fn a_large_answer_waits_for_a_slow_reader() {
    let server = site("").start();
    let mut connection = server.connect();
    connection.send("GET /t/big HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    // Time: the reader is slow.
    std::thread::sleep(Duration::from_millis(700));
    let answer = connection.response();
    assert_eq!((answer.status, answer.body.len(), answer.truncated), (200, 1600 * 65_536, false));
}

#[test]
fn flushed_parts_arrive_as_they_are_made() {
    let server = site("").start();
    let _ = server.get("/t/hello");
    let mut connection: Connection = server.connect();
    let begin = Instant::now();
    connection.send("GET /t/parts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(connection.byte().is_some());
    let first = begin.elapsed();
    let rest = connection.rest();
    assert!(first < Duration::from_millis(600), "{first:?}");
    assert!(
        begin.elapsed() > Duration::from_millis(1000) && String::from_utf8_lossy(&rest).contains("part 3")
    );
}

#[test]
fn redirects_cookies_and_pages_of_a_program_s_own() {
    let server = site("").start();
    let redirect = server.get("/t/redirect");
    assert_eq!((redirect.status, redirect.field("Location")), (302, Some("http://example.org/x")));
    assert_eq!(server.get("/t/internal").text(), "static text\n");
    let cookies = server.get("/t/cookies");
    let all: Vec<_> =
        cookies.fields.iter().filter(|(name, _)| name == "Set-Cookie").map(|(_, v)| &v[..]).collect();
    assert_eq!((all.len(), cookies.text()), (3, "ok".to_owned()), "{all:?}");
    let custom = server.get("/t/custom");
    assert_eq!((custom.status, custom.text()), (404, "<p>my own page</p>".to_owned()));
    assert_eq!(server.get("/t/missing").status, 404);
    assert_eq!(server.get("/t/declined").status, 404);
}

#[test]
fn other_urls_can_be_looked_up_and_run() {
    let server = site("").start();
    assert_eq!(server.get("/t/lookup").text(), "200,text/plain");
    assert_eq!(server.get("/t/run").text(), "[before]static text\n[after 0]");
}

#[test]
fn failures_tell_their_cause_and_hurt_nobody_else() {
    let server = site("HostlerWorkerTimeout 2").start();
    for (target, status, cause) in [
        ("/t/dies", 500, "deliberately"),
        ("/t/killed", 502, "killed by signal 9"),
        ("/t/stuck", 504, "neither read nor wrote anything for too long"),
    ] {
        let answer = server.get(target);
        assert_eq!(answer.status, status, "{target}");
        let line = server.await_error(cause);
        let id = line.rsplit("[id ").next().and_then(|rest| rest.split(']').next()).unwrap_or_default();
        assert!(!id.is_empty() && answer.text().contains(id), "{line}\n{}", answer.text());
        assert_eq!(server.get("/t/hello").text(), "Hello", "after {target}");
    }
    assert!(server.await_error("killed by signal 9").contains("last words"));
    let broken = server.get("/t/breaks");
    assert!(broken.truncated, "{}", broken.text());
    assert_eq!(server.get("/t/exits").text(), "said");
}

#[test]
fn a_worker_serves_many_requests() {
    let server = site("MaxRequestWorkers 1").start();
    let first = server.get("/t/pid").text();
    for _ in 0..20 {
        assert_eq!(server.get("/t/pid").text(), first);
    }
    assert_eq!(server.get("/t/killed").status, 502);
    assert_ne!(server.get("/t/pid").text(), first);
}

#[test]
fn log_lines_reach_the_error_log() {
    let server = site("").start();
    assert_eq!(server.get("/t/warns").text(), "w");
    let _ = server.await_error("a warning");
    assert!(server.await_error("an error").contains("[perl:error]"));
}

#[test]
fn what_a_request_puts_into_env_ends_with_it() {
    let code = "package E; use Apache2::RequestRec; use Apache2::RequestIO;\nsub fills { $_[0]->subprocess_env; 0 }\n\
                sub shows { $_[0]->content_type('text/plain'); $_[0]->print($ENV{HTTP_X_SECRET} // 'none'); 0 }\n1;\n";
    let place = |path: &str, handler: &str, fills: &str| {
        format!("<Location {path}>\nSetHandler {handler}\nPerlResponseHandler E::shows\n{fills}</Location>\n")
    };
    let fills = "PerlHeaderParserHandler E::fills\n";
    let config = [
        place("/plain", "modperl", ""),
        place("/called", "modperl", fills),
        place("/filled", "perl-script", ""),
        place("/both", "perl-script", fills),
    ];
    let server = site(&format!("MaxRequestWorkers 1\n{}", config.concat())).file("lib/E.pm", code).start();
    for path in ["/called", "/filled", "/both"] {
        assert_eq!(server.get_with(path, "Host: a\r\nX-Secret: mine\r\n").text(), "mine", "{path}");
        assert_eq!(server.get("/plain").text(), "none", "after {path}");
    }
}

#[test]
fn lines_of_no_request_have_the_level_that_they_are_said_with() {
    let code = "use Apache2::ServerUtil; use Apache2::Log; my $log = Apache2::ServerUtil->server->log;\n\
                $log->notice('a notice'); $log->info('a detail'); $log->error('a fault'); print STDERR \"as it is\\n\"; 1;\n";
    let server = site("PerlRequire @ROOT@/lib/first.pl\n").file("lib/first.pl", code).start();
    assert_eq!(server.get("/t/warns").text(), "w");
    for (text, level) in
        [("a notice", "notice"), ("a detail", "info"), ("a fault", "error"), ("as it is", "error")]
    {
        assert!(server.await_error(text).contains(&format!("[perl:{level}]")), "{}", server.error_log());
    }
}

#[test]
fn access_and_authentication_in_perl_guard_files_too() {
    let server = site(
        "<Location /denied.txt>\nPerlAccessHandler T::deny\n</Location>\n\
         <Location /allowed.txt>\nPerlAccessHandler T::allow\n</Location>\n\
         <Location /secret.txt>\nAuthType Basic\nAuthName x\nRequire valid-user\nPerlAuthenHandler T::authen\n\
         PerlAuthzHandler T::authz\n</Location>",
    );
    let files = ["denied", "allowed", "secret"];
    let server =
        files.iter().fold(server, |site, name| site.file(&format!("htdocs/{name}.txt"), name)).start();
    // Whatever is remembered must not change the answer.
    for _ in 0..3 {
        assert_eq!(server.get("/denied.txt").status, 403);
        assert_eq!(server.get("/allowed.txt").text(), "allowed");
        let anonymous = server.get("/secret.txt");
        assert_eq!((anonymous.status, anonymous.field("WWW-Authenticate")), (401, Some("Basic realm=\"x\"")));
        assert_eq!(server.get_with("/secret.txt", &login("nobody")).status, 401);
        assert_eq!(server.get_with("/secret.txt", &login("bob")).status, 403);
        assert_eq!(server.get_with("/secret.txt", &login("alice")).text(), "secret");
    }
}

#[test]
fn nobody_passes_where_the_perl_that_guards_cannot_be_asked() {
    let server = site(
        "<Location /guarded.txt>\nPerlAccessHandler T::killed\n</Location>\n\
         <Location /unknown.txt>\nPerlAccessHandler T::no_such_function\n</Location>",
    );
    let server = server.file("htdocs/guarded.txt", "guarded").file("htdocs/unknown.txt", "unknown").start();
    for target in ["/guarded.txt", "/unknown.txt"] {
        for _ in 0..2 {
            let answer = server.get(target);
            assert!(
                answer.status >= 500 && !answer.text().contains("guarded"),
                "{target}: {}",
                answer.status
            );
        }
    }
}

#[test]
fn phases_pass_on_what_they_found_out() {
    let location = "SetHandler modperl\nPerlResponseHandler T::shown\nPerlFixupHandler T::mark";
    let auth = "AuthType Basic\nAuthName x\nRequire valid-user\nPerlAuthenHandler T::authen";
    let server = site(&format!(
        "<Location /one>\n{location}\n</Location>\n<Location /two>\n{location}\n{auth}\n</Location>\n\
         <Location /cgi>\nSetHandler cgi-script\nOptions +ExecCGI\nPerlFixupHandler T::mark\n</Location>"
    ));
    let script = "#!/bin/sh\necho Content-Type: text/plain\necho\necho \"$MARK\"\n";
    let server = server.script("htdocs/cgi/x", script).start();
    assert_eq!(server.get("/one").text(), "- fixed up noted");
    assert_eq!(server.get("/one").text(), "- fixed up noted");
    assert_eq!(server.get_with("/two", &login("alice")).text(), "alice fixed up noted");
    assert_eq!(server.get("/cgi/x").text(), "fixed up\n");
    assert!(server.access_log().contains("127.0.0.1 alice \"GET /two"), "{}", server.access_log());
}

#[test]
fn a_body_waits_for_the_phase_that_answers() {
    let auth = "AuthType My::Login\nAuthName x\nRequire valid-user\nPerlAuthenHandler T::named";
    let server = site(&format!("<Location /t/echo>\n{auth}\nPerlFixupHandler T::mark\n</Location>")).start();
    let head = "POST /t/echo HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nConnection: close\r\n";
    let answer = server.request(format!("{head}Content-Length: 6\r\n\r\nposted").as_bytes());
    assert_eq!((answer.status, answer.text()), (200, "posted".to_owned()));
    assert_eq!(post(&server, "/t/echo", b"posted").status, 401);
}

#[test]
fn a_directory_s_index_may_be_a_program() {
    let server = site(
        "<Directory \"@ROOT@/htdocs/index\">\nDirectoryIndex index.pl\nOptions +ExecCGI\n\
         AddHandler perl-script .pl\nPerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n\
         PerlFixupHandler T::mark\n</Directory>",
    );
    let script = "print \"Content-type: text/plain\\n\\n$ENV{SCRIPT_NAME} $ENV{MARK}\";\n";
    let server = server.script("htdocs/index/index.pl", script).start();
    assert_eq!(server.get("/index/").text(), "/index/index.pl fixed up");
    assert_eq!(server.get("/index/").text(), "/index/index.pl fixed up");
}

#[test]
fn log_and_cleanup_run_for_every_kind_of_answer() {
    let server = site(
        "<Location /t/hello>\nPerlLogHandler T::logged\nPerlCleanupHandler T::cleaned\n</Location>\n\
         <Location /static.txt>\nPerlLogHandler T::logged\n</Location>",
    )
    .start();
    for _ in 0..3 {
        assert_eq!(server.get("/t/hello").text(), "Hello");
        assert_eq!(server.get("/static.txt").text(), "static text\n");
    }
    let _ = server.await_error("CLEANED /t/hello");
    let count = |text: &str| server.error_log().matches(text).count();
    await_that("that all are logged", || {
        (count("LOGGED /t/hello 200"), count("LOGGED /static.txt 200")) == (3, 3)
    });
}

#[test]
fn a_translation_in_perl_finds_files() {
    let server = site("PerlTransHandler T::trans").start();
    assert_eq!(server.get("/moved/static").text(), "static text\n");
    assert_eq!(server.get("/static.txt").text(), "static text\n");
    assert_eq!(server.get("/moved/nothing").status, 404);
}

#[test]
fn registry_scripts_run_are_recompiled_and_heal() {
    let script = "print \"Content-type: text/plain\\n\\n\";\nprint \"one\";\n";
    let server = site(
        "<Location /perl>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\n\
         PerlOptions +ParseHeaders\nOptions +ExecCGI\n</Location>",
    );
    let server = server.script("htdocs/perl/x.pl", script).start();
    let path = server.site().path("htdocs/perl/x.pl");
    assert_eq!(server.get("/perl/x.pl").text(), "one");
    assert_eq!(server.get("/perl/x.pl").text(), "one");
    let write = |text: &str| {
        // A second's grain of time must not decide.
        // Time: as the line above says.
        std::thread::sleep(Duration::from_millis(1100));
        std::fs::write(&path, text).expect("the script");
    };
    write("print \"Content-type: text/plain\\n\\ntwo\";\n");
    assert_eq!(server.get("/perl/x.pl").text(), "two");
    write("this is ( no perl\n");
    assert_eq!(server.get("/perl/x.pl").status, 500);
    write("print \"Content-type: text/plain\\n\\nthree\";\n");
    assert_eq!(server.get("/perl/x.pl").text(), "three");
    assert_eq!(server.get("/perl/none.pl").status, 404);
}

#[test]
fn a_client_that_leaves_frees_its_worker() {
    let server = site("MaxRequestWorkers 1\nTimeout 20").start();
    let _ = server.get("/t/hello");
    let mut connection = server.connect();
    connection.send("GET /t/big HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(connection.byte().is_some());
    drop(connection);
    let begin = Instant::now();
    assert_eq!(server.get("/t/hello").text(), "Hello");
    // Time: the worker would be free after Timeout, 20 seconds.
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn pages_include_what_perl_says() {
    let server = site(
        "<Directory \"@ROOT@/htdocs\">\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>",
    );
    let server = server.file("htdocs/page.shtml", "[<!--#include virtual=\"/t/hello\" -->]").start();
    assert_eq!(server.get("/page.shtml").text(), "[Hello]");
    assert_eq!(post(&server, "/t/echo", b"posted").text(), "posted");
}

#[test]
fn a_note_of_a_program_s_shows_nobody_the_server_s_status() {
    let server =
        site("PerlTransHandler 'sub { $_[0]->notes->set($_ => 1) for qw(jk-status JK_WORKER_NAME); -1 }'")
            .file("htdocs/plain.txt", "a file\n")
            .start();
    for url in ["/plain.txt", "/nothing"] {
        let answer = server.get(url);
        assert!(!answer.text().contains("Apache Status"), "{}", answer.text());
    }
    assert_eq!(server.get("/plain.txt").text(), "a file\n");
}
