//! The duration of requests to light handlers, over the ring and without HTTP: `cargo run --release -p hostler-perl
//! --example serve_rate`.

#[path = "../tests/front/mod.rs"]
mod front;

use front::{Engine, directory, request, setup};
use hostler_perl_frames::Phase;
use std::time::Instant;

const PROGRAM: &str = "package Hello; sub handler { my $r = shift; $r->content_type('text/plain'); \
                       $r->print('Hello'); return 0 } \
                       package Script; sub handler { my $r = shift; $r->content_type('text/plain'); \
                       print 'Hello'; return 0 } 1;";
const REQUESTS: u32 = 200_000;
const FORKS: u32 = 2_000;

fn main() {
    serve();
    fork();
}

/// Measures how many processes per second are forked, serve one request, and exit.
fn fork() {
    let mut pool = setup(PROGRAM);
    pool.one_shot = true;
    let mut engine = Engine::start(pool).expect("the engine");
    let hello = directory(&[(Phase::Response, &["Hello"])]);
    let begun = Instant::now();
    for _ in 0..FORKS {
        let mut worker = engine.fork();
        assert_eq!(worker.ask_in(&hello, request("modperl"), b"").body, "Hello");
        engine.exit_of(&worker);
    }
    println!("fork: {:?} a request, from the fork to the end, one at a time", begun.elapsed() / FORKS);
}

fn serve() {
    let mut engine = Engine::start(setup(PROGRAM)).expect("the engine");
    let mut worker = engine.fork();
    for (handler, package) in [("modperl", "Hello"), ("perl-script", "Script")] {
        worker.ask_in(&directory(&[(Phase::Response, &[package])]), request(handler), b"");
        let (begun, used) = (Instant::now(), used(worker.pid));
        for _ in 0..REQUESTS {
            let answer = worker.ask_again(request(handler));
            assert_eq!(answer.body, "Hello");
        }
        let each = begun.elapsed() / REQUESTS;
        let [user, system] = used_until(worker.pid, used).map(|ticks| ticks * 10_000.0 / f64::from(REQUESTS));
        println!("{handler}: {each:?} a request, there and back, one at a time;");
        println!(
            "    the worker's part: {user:.2} µs of its own, {system:.2} µs of the kernel's (sleeping, waking)"
        );
    }
}

/// Processor time of a process, its own and the kernel's for it, in hundredths of a second.
fn used(pid: u32) -> [f64; 2] {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the worker");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    [11, 12].map(|index| fields[index].parse().expect("a number"))
}

fn used_until(pid: u32, before: [f64; 2]) -> [f64; 2] {
    let now = used(pid);
    [now[0] - before[0], now[1] - before[1]]
}
