//! Requests to a worker: which handlers run, in which order, and what becomes of what they return.

mod front;

use front::{Engine, directory, request, setup};
use hostler_wire::work::Phase;

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
