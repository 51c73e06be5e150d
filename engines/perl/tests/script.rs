//! CGI scripts under `Isolation fork`: each in a process of its own, as if it had been started anew.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod front;

use front::{Answer, Engine, directory, request, setup};
use hostler_wire::work::Phase;
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
