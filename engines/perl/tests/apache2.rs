//! mod_perl 2's interface, in the interpreter: the programs in `t/`, then what only the front can see of it.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod front;

use front::{Answer, Engine, directory, request, setup};
use hostler_perl_frames::{Directory, Phase, directory_flag};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A directory with the words that the programs in `t/` ask for.
fn configured(handler: &str) -> Directory {
    let var = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Directory {
        vars: vec![var("Name", "value"), var("List", "a"), var("List", "b")],
        allow_options: 8,
        ..directory(&[(Phase::Response, &[handler])])
    }
}

/// Runs one program of `t/`.
fn check(file: &Path) -> Answer {
    let folder = file.parent().unwrap();
    let code = format!("require '{}/check.pl'; $Check::file = '{}';", folder.display(), file.display());
    let mut engine = Engine::start(setup(&code)).unwrap();
    let mut head = request("modperl");
    head.uri = b"/perl/test";
    head.time = 1_700_000_000_000_000;
    engine.fork().ask_in(&configured("Check"), head, b"")
}

#[test]
fn programs_find_what_they_expect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("t");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "t"));
    files.sort();
    assert!(files.len() > 6);
    for file in files {
        let answer = check(&file);
        assert!(answer.body.starts_with("passed "), "{}: {answer:#?}", file.display());
        if file.ends_with("pool.t") {
            assert_eq!(
                answer.logs,
                ["APR::Pool: cleanup died: in a cleanup", "cleanup of the request"],
                "a request's cleanups run after it, and one that dies is heard of"
            );
        }
    }
}

#[test]
fn the_page_of_calls_is_what_the_table_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let printed = Command::new("perl").arg(folder.join("calls.pl")).output().unwrap();
    let kept = fs::read_to_string(folder.join("../../docs/perl-calls.md")).unwrap();
    assert_eq!(
        String::from_utf8(printed.stdout).unwrap(),
        kept,
        "perl engines/perl/calls.pl > docs/perl-calls.md"
    );
}

/// The answer to a program under perl-script.
fn script(code: &str, flags: u32) -> Answer {
    let program = format!("package Script; sub handler {{ my $r = shift; {code}; return 0 }} 1;");
    let mut engine = Engine::start(setup(&program)).unwrap();
    let directory = Directory { flags, ..configured("Script") };
    engine.fork().ask_in(&directory, request("perl-script"), b"")
}

#[test]
fn headers_that_a_script_prints_are_its_answers() {
    let cgi = |code| script(code, directory_flag::PARSE_HEADERS);
    let answer =
        cgi(r#"print "Status: 404 Gone Fishing\nContent-type: text/x\r\nETag: 1\n"; $| = 1; print "\nbody""#);
    assert_eq!((answer.status, answer.body.as_str()), (Some(404), "body"));
    assert_eq!(answer.content_type.as_deref(), Some("text/x"));
    assert!(answer.headers.contains(&("ETag".into(), "1".into())), "{answer:?}");
    let answer = cgi(r#"print "Hello\n""#);
    assert_eq!((answer.status, answer.body.as_str()), (Some(500), ""));
    assert_eq!(answer.logs, ["/x did not send an HTTP header"]);
    assert_eq!(cgi(r#"print "Location: http://b/\n\n""#).outcome, "302");
    assert_eq!(cgi(r#"print "Location: /y?z\n\n""#).outcome, "redirect /y?z");
    let answer = cgi(r#"print "Status: 302\nLocation: /y\n\nbody""#);
    assert_eq!((answer.status, answer.body.as_str(), answer.outcome.as_str()), (Some(302), "body", "done"));
}

#[test]
fn stdout_is_a_whole_handle() {
    let answer = script(
        r#"local ($,, $\) = ('-', "!"); print 1, 2; printf "%03d", 7; print STDOUT "x";
           binmode STDOUT, ':utf8'; print "\x{263a}"; binmode STDOUT; $r->print("a", "b")"#,
        0,
    );
    assert_eq!(answer.body, "1-2!007x!\u{263a}!ab");
}

#[test]
fn the_environment_is_a_cgi_programs_and_ends_with_the_request() {
    let program = "package Script; sub handler { my $r = shift; $ENV{MINE}++; delete $ENV{HTTP_HOST} if $ENV{MINE} > 5; \
        print join ' ', @ENV{qw(REQUEST_METHOD REQUEST_URI HTTP_USER_AGENT MOD_PERL MINE)}, exists $ENV{HTTP_HOST} ? 1 : 0; 0 } 1;";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    let mut bodies = vec![worker.ask_in(&configured("Script"), request("perl-script"), b"").body];
    for uri in [&b"/x"[..], b"/y"] {
        let mut head = request("perl-script");
        head.unparsed_uri = uri;
        bodies.push(worker.ask_again(head).body);
    }
    let expected = |uri| format!("GET {uri} test mod_perl/2.0.12 1 1");
    assert_eq!(bodies, ["/x", "/x", "/y"].map(expected));
    let answer = script("$r->subprocess_env; print $r->subprocess_env('SCRIPT_NAME'), $ENV{SERVER_NAME}", 0);
    assert_eq!((answer.body.as_str(), answer.changed), ("/xa", None), "the front is not told what it knows");
}

#[test]
fn mod_perls_own_compatibility_reads_bodies_in_our_way() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("Apache2")).unwrap();
    let stand_in = "package Apache2::compat; sub loaded { 'theirs' } \
        package Apache2::RequestRec; sub content { die 'through brigades' } sub parse_args { map { split /=/ } split /&/, $_[1] } 1;";
    fs::write(folder.path().join("Apache2/compat.pm"), stand_in).unwrap();
    let program = format!(
        "BEGIN {{ splice @INC, 1, 0, '{}' }} use Apache2::compat; package Old; sub handler {{ my $r = shift; \
         my %form = $r->content; $r->print(join ' ', Apache2::compat::loaded(), map {{ \"$_=$form{{$_}}\" }} sort keys %form); 0 }} 1;",
        folder.path().display()
    );
    let mut engine = Engine::start(setup(&program)).unwrap();
    let answer = engine.fork().ask_in(&configured("Old"), request("modperl"), b"a=1&b=2");
    assert_eq!(answer.body, "theirs a=1 b=2", "{answer:?}");
}

#[test]
fn a_request_that_was_kept_says_so() {
    let program = "package Kept; our ($r, $headers); sub handler { my $now = shift; \
        $now->print(eval { $r->uri } // $@, ' ', $headers ? $headers->{Host} : ''); \
        ($r, $headers) = ($now, $now->headers_in); 0 } 1;";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    worker.ask_in(&configured("Kept"), request("modperl"), b"");
    let answer = worker.ask_again(request("modperl"));
    assert!(answer.body.starts_with("This request object is used after its request has ended"), "{answer:?}");
    assert!(answer.body.ends_with(" a"), "its tables stay: {answer:?}");
}

#[test]
fn a_module_can_register_for_each_workers_beginning() {
    let program = "use Apache2::ServerUtil (); our $born; \
        Apache2::ServerUtil->server->push_handlers(PerlChildInitHandler => sub { $born = $$; 0 }); \
        package Born; sub handler { $_[0]->print($Apache2::ReadConfig::born == $$ ? 'born here' : 'no'); 0 } 1;";
    let mut settings = setup(program);
    settings.servers = vec![hostler_wire::engine::ServerFacts::default()];
    let mut engine = Engine::start(settings).unwrap();
    let mut worker = engine.fork();
    assert_eq!(worker.ask_in(&configured("Born"), request("modperl"), b"").body, "born here");
}
