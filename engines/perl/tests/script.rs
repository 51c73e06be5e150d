//! CGI scripts under `Isolation fork`: each in a process of its own, as if it had been started anew.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod front;

use front::{Answer, Engine, directory, request, setup};
use hostler_perl_frames::Phase;
use hostler_perl_frames::{Preload, PreloadKind};
use std::path::Path;

/// Runs a script's text, as many times as there are queries; each time another worker.
fn answers(text: &str, name: &str, queries: &[&str]) -> Vec<(Answer, String)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    let mut pool = setup("1");
    pool.one_shot = true;
    let mut engine = Engine::start(pool).unwrap();
    queries.iter().map(|query| answer(&mut engine, &file, query)).collect()
}

fn answer(engine: &mut Engine, file: &Path, query: &str) -> (Answer, String) {
    let mut worker = engine.fork();
    let mut head = request("cgi-fork");
    let name = file.to_str().unwrap();
    (head.filename, head.args) = (name.as_bytes(), Some(query.as_bytes()));
    let script = directory(&[(Phase::Response, &["Hostler::Script"])]);
    let answer = worker.ask_in(&script, head, b"");
    engine.exit_of(&worker);
    (answer, worker.stderr())
}

fn body(text: &str) -> String {
    let (answer, stderr) = answers(text, "s.pl", &["a=b"]).remove(0);
    assert_eq!(answer.status, Some(200), "{answer:?} {stderr}");
    answer.body
}

#[test]
fn a_script_prints_its_header_and_body() {
    let text = "#!/usr/bin/perl\nprint \"Content-Type: text/x\\n\\n\", 'hello ', $ENV{QUERY_STRING};\n";
    let both = answers(text, "s.pl", &["a=1", "b=2"]);
    assert_eq!(both[0].0.content_type.as_deref(), Some("text/x"));
    assert_eq!((both[0].0.body.as_str(), both[1].0.body.as_str()), ("hello a=1", "hello b=2"));
    assert!(both.iter().all(|(answer, stderr)| answer.exits && stderr.is_empty()));
}

#[test]
fn a_script_is_a_program_of_its_own() {
    let head = "#!/usr/bin/perl\nprint qq(Content-Type: text/plain\\n\\n);\n";
    for (program, expected) in [
        ("print defined $ENV{MOD_PERL} ? 'mod_perl' : 'cgi'", "cgi"),
        ("print __PACKAGE__, $^S, join '|', map { defined } caller", "main0"),
        ("eval { exit }; print 'after'", ""),
        ("print 1; exit; END { print 2 }", "12"),
        ("print while <DATA>;\n__END__\none\ntwo\n", "one\ntwo\n"),
        ("print while <DATA>;\n__DATA__\nthree\n", "three\n"),
        ("print __LINE__, ' ', $0 =~ /s.pl$/, ' ', __FILE__ eq $0", "3 1 1"),
        ("use Cwd; print getcwd() eq ($0 =~ m{(.*)/})[0] ? 'here' : getcwd()", "here"),
        ("print 'a'; system 'echo b'; print 'c'; system 'echo $REQUEST_METHOD'", "ab\ncGET\n"),
        ("open STDERR, '>&', STDOUT; print 'x'; $x = 0;\n\n=head1 pod that nobody ends", "x"),
        ("sub run { print 'ran' } run() unless caller; 0", "ran"),
        ("print ${^GLOBAL_PHASE}; END { print ${^GLOBAL_PHASE} }", "RUNEND"),
        ("our @x = (1, 2); print eval { die { a => 1 } } || $@->{a}, scalar @x", "12"),
        ("print join ',', map { eval qq{$_ + 1} } 1, 2; print sort { $b <=> $a } 1, 2", "2,321"),
        (
            "$ENV{ADDED} = 'yes'; delete $ENV{QUERY_STRING}; print `echo \"\\$ADDED-\\$QUERY_STRING\"`",
            "yes-\n",
        ),
    ] {
        assert_eq!(body(&format!("{head}{program}")), expected, "{program}");
    }
}

#[test]
fn arguments_come_from_a_query_without_an_equals_sign() {
    let text = "print qq(Content-Type: text/plain\\n\\n), join '|', @ARGV";
    let both = answers(text, "s.pl", &["one+t%77o", "one=two"]);
    assert_eq!((both[0].0.body.as_str(), both[1].0.body.as_str()), ("one|two", ""));
}

#[test]
fn an_error_goes_to_standard_error() {
    let (answer, stderr) = answers("print 'x' x 10; die \"oh no\\n\"", "s.pl", &["a=b"]).remove(0);
    assert_eq!((answer.status, stderr.as_str()), (Some(500), "oh no\n"), "{answer:?}");
    let (answer, stderr) = answers("print 'x'; my $y = ;", "s.pl", &["a=b"]).remove(0);
    assert_eq!((answer.status, answer.outcome.as_str()), (None, "500"), "{answer:?}");
    assert!(answer.logs[0].starts_with("End of script output before headers: "), "{answer:?}");
    assert!(stderr.starts_with("syntax error at ") && stderr.contains("s.pl line 1"), "{stderr}");
}

#[test]
fn an_nph_script_speaks_for_itself() {
    let text = "print qq(HTTP/1.1 200 Fine\\r\\n\\r\\nraw)";
    let (answer, stderr) = answers(text, "nph-s.pl", &["a=b"]).remove(0);
    assert_eq!(answer.body, "HTTP/1.1 200 Fine\r\n\r\nraw", "{answer:?} {stderr}");
}

/// Objects that are left when a script ends: each has its destructor called, whatever holds it. All as perl itself does
/// it.
#[test]
fn objects_end_with_the_script() {
    let head = "print qq(Content-Type: text/plain\n\n);\n\
                package Thing; sub new { bless [$_[1]] } sub DESTROY { print qq($_[0][0]${^GLOBAL_PHASE} ) }\n\
                package main;\n";
    for (program, expected) in [
        ("my $x = Thing->new(1); print 'end '", "end 1RUN "),
        ("my $x = Thing->new(1); exit 3; END { print 'end ' }", "1RUN end "),
        ("{ my $x = Thing->new(1) } print 'end '", "1RUN end "),
        ("our $x = Thing->new(1); END { print 'end ' }", "end 1DESTRUCT "),
        ("my $x = Thing->new(1); sub uses { $x } print 'end '", "end 1DESTRUCT "),
        ("$Other::x{a}[3] = Thing->new(1); exit 3", "1DESTRUCT "),
        ("my ($x, $y) = map { Thing->new($_) } 1, 1; $x->[1] = $y; $y->[1] = $x", "1DESTRUCT 1DESTRUCT "),
        ("our @self = (1); bless \\@self, 'Thing'; print 'end '", "end 1DESTRUCT "),
        ("my $x = Thing->new(1); die qq(on purpose\n)", "1RUN "),
        ("sub Bad::DESTROY { die 'oh' } our $bad = bless [], 'Bad'; our $x = Thing->new(1)", "1DESTRUCT "),
    ] {
        assert_eq!(body(&format!("{head}{program}")), expected, "{program}");
    }
}

#[test]
fn what_is_buffered_is_written_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (file, piped) = (folder.path().join("file"), folder.path().join("piped"));
    let text = format!(
        "print qq(Content-Type: text/plain\\n\\n);\n\
         open my $lexical, '>', '{}' or die; print {{$lexical}} 'one'; sub keeps {{ $lexical }}\n\
         open PIPE, '|-', 'sleep 0.2; tr a-z A-Z > {}' or die; print PIPE 'two'; print 'said'",
        file.display(),
        piped.display()
    );
    assert_eq!(body(&text), "said");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "one");
    assert_eq!(std::fs::read_to_string(piped).unwrap(), "TWO", "closing a pipe waits for its program");
}

#[test]
fn objects_of_the_parent_are_not_the_worker_s_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.pl");
    std::fs::write(&file, "print qq(Content-Type: text/plain\n\n), ref $Kept::thing").unwrap();
    let mut pool = setup("1");
    pool.one_shot = true;
    pool.preload.push(Preload {
        kind: PreloadKind::Code,
        text: "package Kept; our $thing = bless []; sub DESTROY { print STDERR 'ended' } 1;".into(),
        origin: "x.conf:1".into(),
        configured: false,
    });
    let mut engine = Engine::start(pool).unwrap();
    for _ in 0..3 {
        let (answer, stderr) = answer(&mut engine, &file, "a=b");
        assert_eq!((answer.body.as_str(), stderr.as_str()), ("Kept", ""), "{answer:?}");
    }
}

#[test]
fn the_first_line_says_how_perl_is_started_and_only_w_matters() {
    let warns = "print qq(Content-Type: text/plain\n\n); my $x; my $y = 1 + $x; print __LINE__";
    for (first, warned) in [("perl", false), ("perl -w", true), ("perl -sw", true), ("sh", false)] {
        let (answer, stderr) = answers(&format!("#!/usr/bin/{first}\n{warns}"), "s.pl", &["a=b"]).remove(0);
        assert_eq!(answer.body, "4", "{first} {stderr}");
        assert_eq!(
            stderr.starts_with("Use of uninitialized value $x in addition"),
            warned,
            "{first}: {stderr}"
        );
    }
    // It relies on checks that nobody would make.
    for first in ["perl -T", "perl -wT", "perl -Tw"] {
        let (answer, stderr) = answers(&format!("#!/usr/bin/{first}\n{warns}"), "s.pl", &["a=b"]).remove(0);
        assert_eq!(answer.outcome, "500", "{first}: {answer:?}");
        assert!(stderr.contains("no taint checks"), "{first}: {stderr}");
    }
}

#[test]
fn a_program_s_errors_are_told_as_ever() {
    for (program, expected) in [
        ("use strict; $undeclared = 1;", "aborted due to compilation errors."),
        ("BEGIN { die qq(early\\n) }", "early\nBEGIN failed--compilation aborted at"),
        ("use Not::There;", "Can't locate Not/There.pm in @INC"),
        ("return 1", "Can't return outside a subroutine at"),
    ] {
        let (answer, stderr) = answers(program, "s.pl", &["a=b"]).remove(0);
        assert_eq!(answer.outcome, "500", "{program}: {answer:?}");
        assert!(stderr.contains(expected), "{program}: {stderr}");
    }
}
