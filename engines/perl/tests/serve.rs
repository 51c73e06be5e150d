//! Requests to a worker: which handlers run, in which order, and what becomes of what they return.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod front;

use front::{Engine, directory, request, setup};
use hostler_perl_frames::{Phase, ToPerl};
use hostler_wire::work::ToWorker;

const HELLO: &str = "package Hello; sub handler { my $r = shift; $r->content_type('text/plain'); \
                     $r->print('Hello'); return 0 } 1;";

#[test]
fn a_handler_answers_with_one_wake_up() {
    let mut engine = Engine::start(setup(HELLO)).unwrap();
    let mut worker = engine.fork();
    let hello = directory(&[(Phase::Response, &["Hello"])]);
    let answer = worker.ask_in(&hello, request("modperl"), b"");
    assert_eq!((answer.status, answer.body.as_str(), answer.outcome.as_str()), (Some(200), "Hello", "done"));
    assert_eq!(answer.content_type.as_deref(), Some("text/plain"));
    assert_eq!(answer.wakes, 1, "a small answer is published once");
    let again = worker.ask_again(request("modperl"));
    assert_eq!(again.body, "Hello");
    assert_eq!(worker.stderr(), "");
}

/// The answer of one handler to one request.
fn answer_of(program: &str, handler: &str) -> front::Answer {
    let mut engine = Engine::start(setup(program)).unwrap();
    engine.fork().ask_in(&directory(&[(Phase::Response, &[handler])]), request("modperl"), b"")
}

#[test]
fn handlers_are_named_in_all_of_mod_perls_ways() {
    let program = "package P; our @ISA = 'Base'; sub other { $_[0]->print('other'); 0 } \
        sub method : method { $_[1]->print(\"$_[0]->method\"); 0 } \
        sub proto ($$) { $_[1]->print(\"$_[0]->proto\"); 0 } \
        package Base; sub handler { $_[0]->print('inherited'); 0 } sub plain { $_[1]->print($_[0]); 0 } \
        $main::object = bless {}, 'P';";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    for (word, body) in [
        ("P", "inherited"),
        ("+P", "inherited"),
        ("P::other", "other"),
        ("P->plain", "P"),
        ("P::method", "P->method"),
        ("P::proto", "P->proto"),
        ("sub { $_[0]->print('anonymous'); 0 }", "anonymous"),
    ] {
        let answer = worker.ask_in(&directory(&[(Phase::Response, &[word])]), request("modperl"), b"");
        assert_eq!(answer.body, body, "{word}: {answer:?}");
    }
    let object = directory(&[(Phase::Response, &["$main::object->plain"])]);
    let answer = worker.ask_in(&object, request("modperl"), b"");
    assert!(answer.body.starts_with("P=HASH("), "{answer:?}");
}

#[test]
fn a_module_is_loaded_when_its_handler_is_called_first() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("Late.pm");
    std::fs::write(&module, "package Late; sub handler { $_[0]->print('late'); 0 } 1;").unwrap();
    let program = format!("use lib '{}';", folder.path().display());
    assert_eq!(answer_of(&program, "Late").body, "late");
    assert_eq!(answer_of(&program, "Late::handler").body, "late");
    std::fs::write(&module, "package Late; sub handler {").unwrap();
    let broken = answer_of(&program, "Late");
    assert_eq!(broken.outcome, "500");
    assert!(broken.logs.iter().any(|line| line.contains("Missing right curly")), "{broken:?}");
    let missing = answer_of(&program, "-Late");
    assert!(
        missing.logs.iter().any(|line| line.contains("failed to resolve handler `-Late'")),
        "{missing:?}"
    );
}

#[test]
fn a_program_that_dies_is_a_500_with_its_words() {
    let answer = answer_of("sub main::h { $_[0]->print('half'); die \"oh no\\n\" }", "main::h");
    assert_eq!((answer.outcome.as_str(), answer.status, answer.body.as_str()), ("500", None, ""));
    assert_eq!(answer.logs, ["oh no"]);
    assert!(answer.notes.contains(&("error-notes".into(), "oh no\n".into())), "{answer:?}");
    let late = answer_of("sub main::h { $_[0]->print('half'); $_[0]->rflush; die \"oh no\\n\" }", "main::h");
    assert_eq!((late.status, late.body.as_str()), (Some(200), "half"));
    assert!(late.outcome.starts_with("broken"), "{late:?}");
}

#[test]
fn statuses_become_outcomes() {
    for (returned, outcome) in [
        ("0", "done"),
        ("-1", "declined"),
        ("-2", "done"),
        ("200", "200"),
        ("$_[0]->print('printed'); 200", "done"),
        ("404", "404"),
        ("500", "500"),
        ("undef", "done"),
        ("1", "500"),
        ("-5", "500"),
        ("'words'", "done"),
    ] {
        let answer = answer_of(&format!("sub main::h {{ {returned} }}"), "main::h");
        assert_eq!(answer.outcome, outcome, "{returned}");
    }
    let invalid = answer_of("sub main::h { 3 }", "main::h");
    assert_eq!(invalid.logs, ["Handler for modperl returned invalid result code 3"]);
    let program = "sub main::h { $_[0]->headers_out->set(Location => '/there'); 302 }";
    let answer = answer_of(program, "main::h");
    assert_eq!(answer.outcome, "302");
    assert!(answer.headers.contains(&("Location".into(), "/there".into())), "{answer:?}");
}

#[test]
fn exit_ends_the_program_and_not_the_worker() {
    for exit in ["exit", "exit(3)", "CORE::exit(0)", "eval { 1 }; exit", "sub { exit }->()"] {
        let program = format!("sub main::h {{ $_[0]->print('before'); {exit}; $_[0]->print('after') }}");
        let mut engine = Engine::start(setup(&program)).unwrap();
        let mut worker = engine.fork();
        let h = directory(&[(Phase::Response, &["main::h"])]);
        for _ in 0..2 {
            let answer = worker.ask_in(&h, request("modperl"), b"");
            assert_eq!((answer.body.as_str(), answer.outcome.as_str()), ("before", "done"), "{exit}");
            assert!(answer.logs.is_empty() && !answer.exits, "{exit}: {answer:?}");
        }
    }
}

#[test]
fn a_child_that_a_program_forks_is_no_second_worker() {
    let program = "sub main::h { my $r = shift; my $pid = fork; if (!$pid) { $r->print('child'); exit(5) } \
                   waitpid $pid, 0; $r->print('child ended with ', $? >> 8); 0 }";
    assert_eq!(answer_of(program, "main::h").body, "child ended with 5");
    let returning = "sub main::h { my $r = shift; my $pid = fork; return 0 if !$pid; waitpid $pid, 0; \
                     $r->print('one answer'); 0 }";
    assert_eq!(answer_of(returning, "main::h").body, "one answer");
}

#[test]
fn phases_run_in_order_and_log_after_the_answer() {
    let program = "our @seen; sub main::p { push @seen, $_[0]->current_callback if $_[0]->can('current_callback'); \
        push @main::order, 'p'; -1 } sub main::fix { push @main::order, 'fixup'; 0 } \
        sub main::h { push @main::order, 'response'; $_[0]->print(join ',', @main::order); 0 } \
        sub main::log { push @main::order, 'log'; 0 } sub main::clean { push @main::order, 'cleanup'; 0 }";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    let all = directory(&[
        (Phase::HeaderParser, &["main::p"]),
        (Phase::Fixup, &["main::fix"]),
        (Phase::Response, &["main::h"]),
        (Phase::Log, &["main::log"]),
        (Phase::Cleanup, &["main::clean"]),
    ]);
    assert_eq!(worker.ask_in(&all, request("modperl"), b"").body, "p,fixup,response");
    let second = worker.ask_in(&all, request("modperl"), b"");
    assert_eq!(second.body, "p,fixup,response,log,cleanup,p,fixup,response");
}

#[test]
fn an_error_status_of_an_early_phase_ends_the_request() {
    let program = "sub main::deny { 403 } sub main::h { $_[0]->print('never'); 0 }";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    let denied = directory(&[(Phase::Access, &["main::deny"]), (Phase::Response, &["main::h"])]);
    let answer = worker.ask_in(&denied, request("modperl"), b"");
    assert_eq!((answer.outcome.as_str(), answer.body.as_str()), ("403", ""));
}

#[test]
fn a_trip_without_a_response_says_what_its_last_phase_came_to() {
    let program = "sub main::ok { $_[0]->notes->set(a => 'b'); 0 } sub main::declined { -1 }";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    for (handler, outcome) in [("main::ok", "done"), ("main::declined", "declined")] {
        let mut head = request("default-handler");
        head.phases = hostler_perl_frames::PhaseSet::default();
        let answer = worker.ask_in(&directory(&[(Phase::Authen, &[handler])]), head, b"");
        assert_eq!((answer.outcome.as_str(), answer.status), (outcome, None), "{handler}");
        assert_eq!(answer.changed.is_some(), handler == "main::ok", "{answer:?}");
    }
}

#[test]
fn perl_script_prints_to_stdout_reads_stdin_and_has_the_environment() {
    let program = "sub main::h { my $r = shift; $r->content_type('text/plain'); my $n = read(STDIN, my $body, 1000); \
        print \"$ENV{REQUEST_METHOD} $n $body\"; $ENV{LEFT} = 1; $| = 1; 0 } \
        sub main::env { $_[0]->print(defined $ENV{REQUEST_METHOD} ? 'there' : 'gone', $ENV{LEFT} // 'undef', $|); 0 }";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    let mut head = request("perl-script");
    head.method = b"POST";
    head.headers_in.push((b"Content-Length", b"5"));
    let answer = worker.ask_in(&directory(&[(Phase::Response, &["main::h"])]), head, b"abcde");
    assert_eq!(answer.body, "POST 5 abcde", "{answer:?} {}", worker.stderr());
    let after = worker.ask_in(&directory(&[(Phase::Response, &["main::env"])]), request("modperl"), b"");
    assert_eq!(after.body, "goneundef0");
}

#[test]
fn a_large_body_comes_whole() {
    let program = "sub main::h { my $r = shift; my ($sum, $b) = 0; while ($r->read($b, 8000)) { $sum += length $b } \
                   $r->print($sum); 0 }";
    let mut engine = Engine::start(setup(program)).unwrap();
    let body = vec![b'x'; 3_000_000];
    let answer =
        engine.fork().ask_in(&directory(&[(Phase::Response, &["main::h"])]), request("modperl"), &body);
    assert_eq!(answer.body, "3000000");
}

#[test]
fn a_large_answer_comes_whole() {
    let answer = answer_of("sub main::h { $_[0]->print('0123456789' x 100) for 1 .. 2000; 0 }", "main::h");
    assert_eq!((answer.body.len(), answer.outcome.as_str()), (2_000_000, "done"));
}

#[test]
fn stacked_handlers_follow_their_generation() {
    let program =
        "sub main::a { $_[0]->print('a'); 0 } sub main::b { $_[0]->print('b'); 0 } sub main::no { -1 }";
    for (generation, body) in [(2, "a"), (1, "ab")] {
        let mut setup = setup(program);
        setup.generation = generation;
        let mut engine = Engine::start(setup).unwrap();
        let stack = directory(&[(Phase::Response, &["main::no", "main::a", "main::b"])]);
        let answer = engine.fork().ask_in(&stack, request("modperl"), b"");
        assert_eq!(answer.body, body, "generation {generation}: {answer:?}");
    }
}

#[test]
fn what_a_fixup_handler_claims_is_answered_in_the_same_trip() {
    let program = "sub main::fix { my $r = shift; $r->handler('perl-script'); require Apache2::RequestUtil; \
                   $r->push_handlers(PerlResponseHandler => sub { $_[0]->print('claimed'); 0 }); 0 }";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut head = request("default-handler");
    head.phases = hostler_perl_frames::PhaseSet::default();
    let answer = engine.fork().ask_in(&directory(&[(Phase::Fixup, &["main::fix"])]), head, b"");
    assert_eq!((answer.body.as_str(), answer.outcome.as_str()), ("claimed", "done"), "{answer:?}");
}

#[test]
fn an_alarm_ends_the_wait_for_a_body() {
    let program = "sub main::h { my $r = shift; eval { local $SIG{ALRM} = sub { die qq(late\n) }; alarm 1; \
                   $r->read(my $b, 100); alarm 0 }; $r->print($@); 0 }";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    let mut head = request("modperl");
    head.flags |= hostler_wire::work::request_flag::BODY;
    worker.begin(&directory(&[(Phase::Response, &["main::h"])]), head);
    assert_eq!(worker.end().body, "late\n");
}

#[test]
fn questions_about_other_urls_are_answered_while_a_body_comes() {
    let program = "use Apache2::SubRequest; use Apache2::RequestIO; sub main::h { my $r = shift; \
                   my $other = $r->lookup_uri('/other?x'); $r->read(my $b, 100); \
                   $r->print($other->filename, ' ', $other->status, \" $b\"); 0 }";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    let mut head = request("modperl");
    head.flags |= hostler_wire::work::request_flag::BODY;
    worker.begin(&directory(&[(Phase::Response, &["main::h"])]), head);
    assert_eq!(worker.end().question.as_deref(), Some("GET /other?x false"));
    worker.tell(&ToWorker::Body(b"body"));
    let mut found = request("modperl");
    (found.common.directory, found.common.filename, found.status) = (1, b"/srv/other", 403);
    let found = ToPerl::Answer { id: 1, head: Box::new(found) }.to_bytes();
    worker.tell(&ToWorker::Own(&found));
    worker.tell(&ToWorker::BodyEnd(true));
    let answer = worker.end();
    assert_eq!(answer.body, "/srv/other 403 body", "{answer:?}");
}

#[test]
fn configured_variables_are_in_the_environment_of_every_phase() {
    let program = "sub main::see { push @main::seen, $ENV{FOO} // 'undef'; 0 } sub main::h { main::see(); \
                   $_[0]->print(join ',', splice @main::seen); 0 }";
    let mut engine = Engine::start(setup(program)).unwrap();
    let mut worker = engine.fork();
    let mut place = directory(&[(Phase::Access, &["main::see"]), (Phase::Response, &["main::h"])]);
    let plain = place.clone();
    place.env = vec![("FOO".into(), "bar".into())];
    for handler in ["modperl", "perl-script"] {
        assert_eq!(worker.ask_in(&place, request(handler), b"").body, "bar,bar", "{handler}");
        assert_eq!(worker.ask_in(&plain, request("modperl"), b"").body, "undef,undef");
    }
}
