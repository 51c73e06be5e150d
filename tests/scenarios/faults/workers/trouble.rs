//! Programs in warm workers that break off, leave, close or flood what they were given, or take too much.

use super::super::{await_that, process};
use crate::workers::{await_idle, count, metric, pool, site, workers};
use hostler_tests::{Server, Site, needs_root};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const NEIGHBOUR: u32 = 64_121;

/// A second site with a user of its own: `neighbour.test`.
fn with_neighbour(config: &str) -> Site {
    let host = format!(
        "<VirtualHost *:@PORT@>\nServerName localhost\n{config}\n</VirtualHost>\n\
         <VirtualHost *:@PORT@>\nServerName neighbour.test\nAssignUserID #{NEIGHBOUR} #{NEIGHBOUR}\n</VirtualHost>"
    );
    site("MaxRequestWorkers 4").config(&host)
}

fn neighbour(server: &Server) -> (u16, String) {
    let answer = server.get_with("/w/hello", "Host: neighbour.test\r\n");
    (answer.status, answer.text())
}

/// Says that it is over, also when what was tried fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The neighbour is served all the time while something else happens; how often.
fn meanwhile(server: &Server, what: impl FnOnce()) -> usize {
    let (done, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    assert_eq!(neighbour(server), (200, "hello".into()));
    thread::scope(|scope| {
        let _ends = Ends(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let begin = Instant::now();
                assert_eq!(neighbour(server), (200, "hello".into()));
                assert!(
                    begin.elapsed() < Duration::from_secs(5),
                    "the neighbour waited {:?}",
                    begin.elapsed()
                );
                served.fetch_add(1, Ordering::Relaxed);
            }
        });
        what();
    });
    served.load(Ordering::Relaxed)
}

#[test]
fn an_answer_that_breaks_off_does_not_look_complete() {
    let server = site("").start();
    let mut connection = server.connect();
    connection.send("GET /w/breaks?later HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let mut text = String::new();
    while !text.ends_with("half") {
        text.push(connection.byte().unwrap_or_else(|| panic!("it ends early: {text}")).into());
    }
    std::fs::write(server.site().path("htdocs/now"), "").expect("a file");
    text.push_str(&String::from_utf8_lossy(&connection.rest()));
    assert!(text.starts_with("HTTP/1.1 200 ") && !text.ends_with("0\r\n\r\n"), "{text}");
    // If it breaks off before any of it has gone to the client, there can still be a whole answer that says so.
    let answer = server.get("/w/breaks");
    assert!(answer.status == 502 || answer.truncated, "{answer:?}");
    let _ = server.await_error("killed by signal 9");
    assert_eq!(server.get("/w/hello").text(), "hello");
}

#[test]
fn no_answer_is_taken_for_that_of_the_next_request() {
    let server = pool("MaxRequestWorkers 1").start();
    let pipelined = |target: &str| {
        let mut connection = server.connect();
        let second = "GET /w/hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        connection.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n{second}"));
        String::from_utf8_lossy(&connection.rest()).into_owned()
    };
    // Twice: the second request may be on the fast path.
    for target in ["/w/interim?100", "/w/interim?100", "/w/interim?101"] {
        let text = pipelined(target);
        assert!(text.starts_with("HTTP/1.1 500 ") && !text.contains("interim"), "{target}: {text}");
    }
    let _ = server.await_error("its status is 100, which is for no answer");
    // It says what it likes of its length, so nobody could tell where the next answer begins.
    for _ in 0..2 {
        let text = pipelined("/w/raw");
        assert!(text.ends_with("\r\n\r\nmore"), "{text}");
    }
}

#[test]
fn a_program_that_leaves_is_told_with_its_status_and_last_words() {
    let server = pool("MaxRequestWorkers 1").start();
    for _ in 0..3 {
        let answer = server.get("/w/leaves?3");
        assert_eq!(answer.status, 502, "{}", answer.text());
    }
    let line = server.await_error("exited with status 3");
    assert!(line.contains("leaving"), "{line}");
    assert_eq!(server.get("/w/hello").text(), "hello");
    assert_eq!(metric(&server, "hostler_pool_crashes_total", ""), 3);
    // A polite status is no answer either.
    assert_eq!(server.get("/w/leaves?0").status, 502);
    assert_eq!(server.get("/w/hello").text(), "hello");
}

#[test]
fn slow_readers_of_large_answers_cost_little_memory() {
    let server = pool("MaxRequestWorkers 4").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let of_all = || {
        let pids = [workers(&server), vec![process::front(&server)]].concat();
        pids.into_iter().map(process::resident).max().unwrap_or_default()
    };
    let before = of_all();
    let mut readers: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for reader in &mut readers {
        reader.send("GET /w/dump HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    }
    // Time: the readers are slow: so long nobody reads.
    thread::sleep(Duration::from_millis(1500));
    let during = of_all();
    for mut reader in readers {
        let answer = reader.response();
        assert_eq!((answer.status, answer.body.len(), answer.truncated), (200, 160 * 65_536, false));
    }
    let most = of_all().max(during);
    // Each answer has 10 MB.
    assert!(most < before + 6_000, "{before} kB before, {most} kB with answers that nobody reads");
}

#[test]
fn a_worker_that_closes_its_descriptors_harms_only_itself() {
    needs_root!();
    let server = with_neighbour("HostlerWorkerTimeout 3").start();
    let _ = meanwhile(&server, || {
        for _ in 0..3 {
            let answer = server.get("/w/closes");
            assert!(matches!(answer.status, 200 | 502 | 504), "{}", answer.status);
        }
        await_that("the site is served", || server.get("/w/hello").status == 200);
    });
    await_that("no worker is stuck", || count(&server, "busy") == 0);
}

#[test]
fn garbage_on_every_descriptor_harms_only_the_worker() {
    needs_root!();
    let server = with_neighbour("HostlerWorkerTimeout 3").start();
    let served = meanwhile(&server, || {
        for _ in 0..5 {
            let answer = server.get("/w/garbage");
            assert!(matches!(answer.status, 200 | 502 | 504), "{}", answer.status);
        }
        await_that("the site is served", || server.get("/w/hello").status == 200);
    });
    assert!(served > 0);
}

#[test]
fn a_flood_of_wake_ups_keeps_nobody_waiting() {
    needs_root!();
    let server = with_neighbour("").start();
    let served = meanwhile(&server, || {
        let answer = server.get("/w/floods?3");
        assert!(answer.status == 200 && answer.text() != "flooded 0", "{}", answer.text());
    });
    assert!(served >= 20, "the neighbour was served {served} times in 3 seconds");
    assert_eq!(server.get("/w/hello").text(), "hello");
}

#[test]
fn a_worker_that_stops_itself_is_replaced() {
    let server = pool("MaxRequestWorkers 1\nHostlerWorkerTimeout 1").start();
    for _ in 0..2 {
        assert_eq!(server.get("/w/stops").status, 504);
        assert_eq!(server.get("/w/hello").text(), "hello");
    }
    await_idle(&server, 1);
    await_that("nothing is left of those that were killed", || workers(&server).len() == 1);
}

#[test]
fn memory_has_a_limit() {
    needs_root!();
    let server = with_neighbour("RLimitMEM 400000000").start();
    let served = meanwhile(&server, || {
        for _ in 0..2 {
            let answer = server.get("/w/eats");
            assert_eq!(answer.status, 502, "{}", answer.text());
            assert_eq!(server.get("/w/hello").text(), "hello");
        }
    });
    assert!(served > 0);
    let line = server.await_error("Out of memory");
    assert!(!line.is_empty());
}

#[test]
fn processes_have_a_limit() {
    needs_root!();
    const FORKER: u32 = 64_122;
    let server = with_neighbour(&format!("AssignUserID #{FORKER} #{FORKER}\nRLimitNPROC 12 12")).start();
    let served = meanwhile(&server, || {
        let told = server.get("/w/forks").text();
        let children: usize = told.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(usize::MAX);
        assert!(children < 12 && told.contains("temporarily unavailable"), "{told}");
        assert_eq!(server.get("/w/hello").text(), "hello");
    });
    assert!(served > 0);
}

#[test]
fn workers_that_cannot_be_made_are_told() {
    needs_root!();
    const FEW: u32 = 64_123;
    let user = format!("AssignUserID #{FEW} #{FEW}\nRLimitNPROC 4 4\nStartServers 4\nMinSpareServers 4");
    let server = with_neighbour(&user).start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let _ = server.await_error("no further worker can be made: Resource temporarily unavailable");
    assert_eq!(server.get("/w/hello").text(), "hello");
}

#[test]
fn processor_time_has_a_limit_for_each_request() {
    needs_root!();
    let server = with_neighbour("RLimitCPU 1\nMaxRequestWorkers 1").start();
    let served = meanwhile(&server, || {
        for _ in 0..2 {
            let answer = server.get("/w/spins");
            assert_eq!(answer.status, 502, "{}", answer.text());
            assert_eq!(server.get("/w/hello").text(), "hello");
        }
    });
    assert!(served > 0);
    let _ = server.await_error("killed by signal 24");
}
