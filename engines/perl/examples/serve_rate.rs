//! How many requests a second one worker serves for a light handler, over the ring and without HTTP:
//! `cargo run --release -p hostler-perl --example serve_rate`.

#[path = "../tests/front/mod.rs"]
mod front;

use front::{Engine, directory, request, setup};
use hostler_wire::work::Phase;
use std::time::Instant;

const PROGRAM: &str = "package Hello; sub handler { my $r = shift; $r->content_type('text/plain'); \
                       $r->print('Hello'); return 0 } \
                       package Script; sub handler { my $r = shift; $r->content_type('text/plain'); \
                       print 'Hello'; return 0 } 1;";
const REQUESTS: u32 = 200_000;

fn main() {
    let mut engine = Engine::start(setup(PROGRAM)).expect("the engine");
    let mut worker = engine.fork();
    for (handler, package) in [("modperl", "Hello"), ("perl-script", "Script")] {
        worker.ask_in(&directory(&[(Phase::Response, &[package])]), request(handler), b"");
        let begun = Instant::now();
        for _ in 0..REQUESTS {
            let answer = worker.ask_again(request(handler));
            assert_eq!(answer.body, "Hello");
        }
        let each = begun.elapsed() / REQUESTS;
        println!("{handler}: {each:?} a request, there and back, one at a time");
    }
}
