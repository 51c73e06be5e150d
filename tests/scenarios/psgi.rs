//! PSGI applications: Plack's own table of cases for servers, and what the table does not have.

use hostler_tests::{Server, Site, await_that, needs_program};
use std::fmt::Write as _;
use std::process::Command;

/// The table's applications, checked by Plack's own lint.
const SUITE: &str = "use Plack::Test::Suite;\nuse Plack::Middleware::Lint;\n\
    Plack::Middleware::Lint->wrap(Plack::Test::Suite->test_app_handler);\n";

/// The table's clients. Arguments: the port, and where the application is mounted.
const CLIENT: &str = r#"
use strict; use warnings;
use Test::More;
my ($port, $mount);
BEGIN { ($port, $mount) = @ARGV }
use Plack::Test::Suite;
use Plack::LWPish;
$ENV{PLACK_TEST_SCRIPT_NAME} = $mount;
my $agent = Plack::LWPish->new(no_proxy => ['127.0.0.1']);
for my $i (0 .. $#Plack::Test::Suite::TEST) {
    my $case = $Plack::Test::Suite::TEST[$i];
    note $case->[0];
    $case->[1]->(sub {
        my $request = shift;
        $request->uri->port($port);
        $request->uri->path($mount . $request->uri->path);
        $request->header('X-Plack-Test' => $i);
        return $agent->request($request);
    });
}
done_testing;
"#;

fn run_table(server: &Server, mount: &str) {
    let port = server.port().to_string();
    let output = Command::new("perl").args(["-e", CLIENT, &port, mount]).output().expect("perl runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}\n{}\n{}", server.error_log(), failed(&out));
}

/// The lines of a TAP output that say what failed.
fn failed(tap: &str) -> String {
    let mut lines = String::new();
    for line in tap.lines().filter(|line| !line.starts_with("ok")) {
        let _ = writeln!(lines, "{line}");
    }
    lines
}

fn application(code: &str) -> Site {
    Site::new().file("app.psgi", code)
}

fn mounted(code: &str) -> Server {
    let location =
        "<Location />\nSetHandler psgi\nPSGIApp \"@ROOT@/app.psgi\"\nRequire all granted\n</Location>";
    application(code).config(location).start()
}

#[test]
fn plack_s_table_of_cases_passes_at_the_root() {
    needs_program!("/usr/share/perl5/Plack/Test/Suite.pm");
    run_table(&mounted(SUITE), "");
}

#[test]
fn plack_s_table_of_cases_passes_below_a_location() {
    needs_program!("/usr/share/perl5/Plack/Test/Suite.pm");
    let location =
        "<Location /deep/app>\nSetHandler psgi\nPSGIApp app.psgi\nRequire all granted\n</Location>";
    run_table(&application(SUITE).config(location).start(), "/deep/app");
}

#[test]
fn plack_s_own_handler_for_mod_perl_passes_its_table() {
    needs_program!("/usr/share/perl5/Plack/Test/Suite.pm");
    let location = "<Location />\nSetHandler perl-script\nPerlResponseHandler Plack::Handler::Apache2\n\
        PerlSetVar psgi_app \"@ROOT@/app.psgi\"\nRequire all granted\n</Location>";
    run_table(&application(SUITE).config(location).start(), "");
}

#[test]
fn a_file_is_an_application_by_its_handler() {
    let app = "sub { my $env = shift; [200, ['Content-Type', 'text/plain'], \
        [\"$env->{SCRIPT_NAME}|$env->{PATH_INFO}\"]] }";
    let server = Site::new().file("htdocs/hello.psgi", app).config("AddHandler psgi .psgi").start();
    assert_eq!(server.get("/hello.psgi/more").text(), "/hello.psgi|/more");
}

/// Prints the application's path variables, and the client's target.
const PATHS: &str = "sub { my $env = shift; [200, ['Content-Type', 'text/plain'], \
    [join '|', @$env{qw(SCRIPT_NAME PATH_INFO REQUEST_URI)}]] }";

fn assert_paths(server: &Server, cases: &[(&str, &str)]) {
    for (target, told) in cases {
        assert_eq!(server.get(target).text(), format!("{told}|{target}"), "{target}");
    }
}

#[test]
fn an_application_at_the_root_sees_the_path_as_it_came() {
    assert_paths(
        &mounted(PATHS),
        &[
            ("/", "|/"),
            ("/env//x//", "|/env//x//"),
            ("//x", "|//x"),
            ("/a%20c;d/.x/..y?e", "|/a c;d/.x/..y"),
            // A rule for /a is not to be got round by what the application takes for one of its /a.
            ("/a/../b", "|/b"),
            ("/a//%2e%2e/b", "|/b"),
            ("/a/.", "|/a/"),
        ],
    );
}

#[test]
fn an_application_below_a_location_sees_the_path_as_it_came_as_long_as_it_stays_there() {
    let location = |path: &str, who: &str| {
        format!("<Location {path}>\nSetHandler psgi\nPSGIApp app.psgi\nRequire all {who}\n</Location>\n")
    };
    let config = location("/app", "granted") + &location("/closed", "denied") + "ErrorDocument 404 /app/none";
    let server = application(PATHS).config(&config).start();
    assert_paths(
        &server,
        &[
            ("/app", "/app|"),
            ("/app/", "/app|/"),
            ("/app//x//y", "/app|//x//y"),
            ("/app//x/../y", "/app|/y"),
            ("/%61pp/x/./y", "/app|/x/y"),
            // As it came it would be of no location, or of another one.
            ("//app/x", "/app|/x"),
            ("/closed/../app/x", "/app|/x"),
            ("/app/../closed/../app//x", "/app|/x"),
            ("/app/%2e%2e/app/x", "/app|/x"),
            // What the request was redirected from is not the application's.
            ("/nowhere//x", "/app|/none"),
            ("/app/a%2fb", "/app|/none"),
        ],
    );
    for target in ["/app/../closed/x", "/app/%2e%2e/closed/x", "//closed", "/app/x/../../closed"] {
        assert_eq!(server.get(target).status, 403, "{target}");
    }
}

#[test]
fn an_application_that_is_a_file_sees_what_follows_its_name_as_it_came() {
    let server = Site::new().file("htdocs/x.psgi", PATHS).config("AddHandler psgi .psgi").start();
    assert_paths(
        &server,
        &[
            ("/x.psgi", "/x.psgi|"),
            ("/x.psgi//a/b", "/x.psgi|//a/b"),
            ("/x.psgi//a/../b", "/x.psgi|/b"),
            ("//x.psgi/a//b", "/x.psgi|/a/b"),
            ("/d/../x.psgi/../x.psgi/a", "/x.psgi|/a"),
        ],
    );
}

#[test]
fn a_body_may_be_read_twice_whatever_its_size() {
    let app = r#"sub {
        my $input = $_[0]{'psgi.input'};
        my @lengths;
        for (1, 2) {
            my ($text, $length) = ('', 0);
            $length += length $text while read $input, $text, 8192;
            push @lengths, $length;
            seek $input, 0, 0;
        }
        [200, ['Content-Type', 'text/plain'], ["@lengths $_[0]{CONTENT_LENGTH}"]] }"#;
    let server = mounted(app);
    for size in [10, 3 << 20] {
        let body = "x".repeat(size);
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n{body}");
        assert_eq!(server.request(request.as_bytes()).text(), format!("{size} {size} {size}"));
    }
    let chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHello\r\n0\r\n\r\n";
    assert_eq!(server.request(chunked).text(), "5 5 5");
}

#[test]
fn a_worker_that_asks_for_it_ends_and_is_replaced() {
    let app = "sub { my $env = shift; $env->{'psgix.harakiri.commit'} = 1 if $env->{PATH_INFO} eq '/last'; \
        [200, ['Content-Type', 'text/plain'], [$$]] }";
    let server = mounted(app);
    let last = server.get("/last").text();
    for _ in 0..20 {
        assert_ne!(server.get("/").text(), last);
    }
}

#[test]
fn cleanup_runs_after_the_answer() {
    let app = r#"sub {
        my $env = shift;
        push @{ $env->{'psgix.cleanup.handlers'} }, sub {
            $_[0]{'psgi.errors'}->print("cleaned up $_[0]{PATH_INFO}");
        };
        [200, ['Content-Type', 'text/plain'], ['Hello']] }"#;
    let server = mounted(app);
    assert_eq!(server.get("/here").text(), "Hello");
    let _ = server.await_error("cleaned up /here");
}

#[test]
fn informational_responses_precede_the_response() {
    let app = r#"sub {
        my $env = shift;
        my $tell = $env->{'psgix.informational'};
        my $refused = join '', map { eval { $tell->($_, []); 1 } ? 'taken' : 'refused ' } 100, 101, 200;
        $tell->(103, ['Link' => '</a.css>; rel=preload', 'Content-Length' => 5, "X-A\r\nX-B" => 'c']);
        $tell->(102, []);
        return sub {
            my $writer = $_[0]->([200, ['Content-Type', 'text/plain']]);
            $writer->write($refused);
            $writer->write(eval { $tell->(103, []); 1 } ? 'taken' : 'refused');
            $writer->close;
        } }"#;
    let server = mounted(app);
    let (mut client, body) = (server.connect(), "refused refused refused refused");
    client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let hints = client.any_response(false);
    assert_eq!((hints.status, hints.field("link")), (103, Some("</a.css>; rel=preload")));
    assert_eq!((hints.field("content-length"), hints.field("x-b")), (None, None));
    assert_eq!(client.any_response(false).status, 102);
    let response = client.any_response(false);
    assert_eq!((response.status, &*response.text()), (200, body));
    // Protocols without interim responses.
    assert_eq!(server.request(b"GET / HTTP/1.0\r\n\r\n").text(), body);
}

#[test]
fn a_changed_application_is_loaded_anew() {
    let text = |word: &str| format!("sub {{ [200, ['Content-Type', 'text/plain'], ['{word}']] }}");
    let server = mounted(&text("one"));
    assert_eq!(server.get("/").text(), "one");
    std::fs::write(server.site().path("app.psgi"), text("another")).expect("written");
    await_that("the changed application", || server.get("/").text() == "another");
}

#[test]
fn an_application_that_cannot_be_loaded_says_why_and_heals() {
    let server = mounted("sub { nonsense nonsense");
    assert_eq!(server.get("/").status, 500);
    let _ = server.await_error("app.psgi");
    let good = "sub { [200, ['Content-Type', 'text/plain'], ['well']] }";
    std::fs::write(server.site().path("app.psgi"), good).expect("written");
    await_that("the mended application", || server.get("/").text() == "well");
}

/// Says how often it was loaded by whom, and what it loaded it as; `$$` of the moment of loading tells a parent's.
const PRELOADED: &str = "my $loader = $$; my $n = 0; sub { [200, ['Content-Type', 'text/plain'], [join ' ', $$ == $loader ? 'own' : \
     'parent', ++$n, 'first']] };\n";

fn with_preload(switch: &str, isolation: &str) -> Server {
    application(PRELOADED)
        .file("broken.psgi", "die qq(not this one\\n);\n")
        .config(&format!(
            "StartServers 1\nMaxRequestWorkers 1\n{isolation}\n<Location />\nSetHandler psgi\nPSGIApp \
             \"@ROOT@/app.psgi\"\n</Location>\n<Location /broken>\nPSGIApp \"@ROOT@/broken.psgi\"\n</Location>\n{switch}"
        ))
        .start()
}

#[test]
fn an_application_is_loaded_before_workers_are_forked_if_it_may_be() {
    for (switch, isolation, expected) in [
        ("", "", ["own 1 first", "own 2 first"]),
        ("PSGIPreload Off", "", ["own 1 first", "own 2 first"]),
        ("PSGIPreload On", "", ["parent 1 first", "parent 2 first"]),
        ("PSGIPreload On", "Isolation fork", ["parent 1 first", "parent 1 first"]),
    ] {
        let server = with_preload(switch, isolation);
        for text in expected {
            assert_eq!(server.get("/").text(), text, "{switch} {isolation}");
        }
    }
}

#[test]
fn a_preloaded_application_that_is_broken_fails_alone_and_a_changed_one_is_loaded_anew() {
    let server = with_preload("PSGIPreload On", "");
    assert_eq!(server.get("/").text(), "parent 1 first");
    assert_eq!(server.get("/broken").status, 500);
    assert!(server.error_log().contains("not this one"), "{}", server.error_log());
    std::fs::write(server.site().path("app.psgi"), PRELOADED.replace("first", "second, longer"))
        .expect("a file");
    await_that("the changed application", || server.get("/").text() == "own 1 second, longer");
}

#[test]
fn in_a_location_match_the_application_is_mounted_at_what_matches() {
    let app = "sub { my $e = shift; [200, ['Content-Type' => 'text/plain'], [\"$e->{SCRIPT_NAME}|$e->{PATH_INFO}\"]] }\n";
    let config = "<LocationMatch \"^/app/(?<name>\\w+)\">\nSetHandler psgi\nPSGIApp app.psgi\n</LocationMatch>\n\
                  <LocationMatch \"\\.x$\">\nSetHandler psgi\nPSGIApp app.psgi\n</LocationMatch>\n";
    let server = Site::new().file("app.psgi", app).config(config).start();
    let said = |path| server.get(path).text();
    assert_eq!(said("/app/one/two"), "/app/one|/two");
    assert_eq!(said("/app/one"), "/app/one|");
    assert_eq!(said("/app/one-two/three"), "|/app/one-two/three", "not in the middle of a name");
    assert_eq!(said("/y/z.x"), "|/y/z.x", "an expression about the end says nothing of the beginning");
}

#[test]
fn what_the_document_root_has_is_nothing_to_an_application() {
    needs_program!("/usr/bin/perl");
    let location =
        "<Location />\nSetHandler psgi\nPSGIApp \"@ROOT@/app.psgi\"\nRequire all granted\n</Location>";
    let server = application("sub { [200, [], [$_[0]{PATH_INFO}]] }")
        .file("htdocs/index.html", "no")
        .file("htdocs/docs/index.html", "no")
        .config(location)
        .start();
    for path in ["/", "/docs", "/docs/"] {
        assert_eq!((server.get(path).status, &*server.get(path).text()), (200, path));
    }
}

/// Fields that rules and a refusal put into the response stay beside the application's own, for the first request and
/// for those that take the fast path; `Server` is the server's.
#[test]
fn fields_that_are_set_before_an_application_stay() {
    let code = "sub { my $status = shift->{QUERY_STRING} || 200;\n\
        [$status, ['Content-Type', 'text/plain', 'Set-Cookie', 'own=1', 'Server', 'own'], [\"app\\n\"]] }";
    let config = "RewriteEngine On\nRewriteRule ^/go$ /app [CO=seen:1:localhost,PT]\n\
        <Location /app>\nSetHandler psgi\nPSGIApp \"@ROOT@/app.psgi\"\nRequire all granted\n</Location>\n\
        <Location /members>\nAuthType Basic\nAuthName members\nAuthUserFile /dev/null\nRequire valid-user\n\
        ErrorDocument 401 /app\n</Location>";
    let server = application(code).config(config).start();
    for target in ["/go", "/go", "/go?404"] {
        let response = server.get(target);
        let cookies: Vec<_> =
            response.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("Set-Cookie")).collect();
        assert_eq!(cookies.len(), 2, "{target}: {cookies:?}");
        assert_ne!(response.field("Server"), Some("own"));
    }
    let refused = server.get("/members");
    assert_eq!(refused.field("WWW-Authenticate"), Some("Basic realm=\"members\""));
}
