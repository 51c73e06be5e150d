//! Sizes, queues and order.

use super::{await_idle, count, metric, pool, site, workers};
use crate::faults::{await_that, until};
use hostler_tests::{Response, Server};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// So many requests at the same time.
fn at_once(server: &Server, target: &str, requests: usize) -> Vec<Response> {
    thread::scope(|scope| {
        let all: Vec<_> = (0..requests).map(|_| scope.spawn(|| server.get(target))).collect();
        all.into_iter().map(|client| client.join().expect("an answer")).collect()
    })
}

#[test]
fn a_pool_starts_with_its_first_request_and_at_its_first_size() {
    let server = pool("StartServers 3\nMinSpareServers 1\nMaxSpareServers 10\nMaxRequestWorkers 5").start();
    assert_eq!((workers(&server).len(), count(&server, "")), (0, 0));
    assert_eq!(server.get("/x").text(), "x");
    assert_eq!(workers(&server).len(), 0, "static files start nothing");
    assert_eq!(server.get("/w/hello").text(), "hello");
    await_idle(&server, 3);
    assert_eq!(workers(&server).len(), 3);
    let auto = server.get("/server-status?auto").text();
    // The request for the page itself counts as busy, as mod_status counts it.
    assert!(auto.contains("\nIdleWorkers: 3\n") && auto.contains("\nBusyWorkers: 1\n"), "{auto}");
}

#[test]
fn a_pool_grows_to_its_bound_and_shrinks_again() {
    let server = pool("StartServers 1\nMinSpareServers 1\nMaxSpareServers 2\nMaxRequestWorkers 4").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let answers = at_once(&server, "/w/nap?0.7", 12);
    assert!(answers.iter().all(|answer| answer.status == 200));
    let pids: BTreeSet<String> = answers.iter().map(Response::text).collect();
    assert_eq!(pids.len(), 4, "{pids:?}");
    await_that("it shrinks", || workers(&server).len() <= 2 && count(&server, "") <= 2);
    assert_eq!(metric(&server, "hostler_pool_crashes_total", ""), 0);
    assert_eq!(metric(&server, "hostler_pool_forks_total", ""), 4);
}

/// Its bound is for those that run programs; in prefork it would bound clients, too.
#[test]
fn connections_that_ask_for_nothing_keep_nobody_out() {
    let server = site("MaxRequestWorkers 1").start();
    let connect = |_| TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
    let silent: Vec<_> = (0..20).map(connect).collect();
    assert_eq!(server.get("/w/hello").text(), "hello");
    assert_eq!(server.get("/x").text(), "x");
    drop(silent);
}

#[test]
fn a_full_queue_answers_503_and_when_to_come_again() {
    let server = pool("MaxRequestWorkers 1\nHostlerQueueLength 1").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let answers = at_once(&server, "/w/nap?1", 8);
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 503).collect();
    assert!((4..=6).contains(&refused.len()), "{} refused", refused.len());
    assert!(refused.iter().all(|answer| answer.field("Retry-After") == Some("2")));
    let _ = server.await_error("all workers are busy and the queue is full");
    assert_eq!(metric(&server, "hostler_pool_errors_total", "QueueFull"), refused.len() as u64);
    assert_eq!(server.get("/w/hello").text(), "hello");
}

/// The ids of the requests that were refused, as a log of `%>s %L` tells.
fn refused_in(log: &str) -> BTreeSet<String> {
    log.lines().filter_map(|line| line.strip_prefix("503 ")).map(str::to_owned).collect()
}

#[test]
fn refused_requests_keep_their_connection_and_each_tells_its_own_id() {
    let log = "CustomLog logs/ids.log \"%>s %L\"";
    let server =
        pool(&format!("MaxRequestWorkers 1\nHostlerQueueLength 1\nKeepAliveTimeout 60\n{log}")).start();
    // A URL that the fast path knows, and one that it does not.
    assert_eq!(server.get("/w/hello").text(), "hello");
    await_idle(&server, 1);
    thread::scope(|scope| {
        let naps: Vec<_> = (0..3).map(|_| scope.spawn(|| server.get("/w/nap?2").status)).collect();
        // One runs, one is placed behind it, one is queued.
        await_that("the pool is full", || metric(&server, "hostler_pool_queue", "") == 2);
        let mut ids = BTreeSet::new();
        let mut connection = server.connect();
        for number in 0..20 {
            let path = if number % 2 == 0 { "/w/hello" } else { "/w/pid" };
            connection.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            let page = connection.response();
            assert_eq!((page.status, page.field("Retry-After")), (503, Some("2")));
            let text = page.text();
            let id = text.split("<code>").nth(1).and_then(|rest| rest.split("</code>").next());
            ids.insert(id.expect("an id on the page").to_owned());
        }
        assert_eq!(ids.len(), 20);
        await_that("both logs tell all ids", || {
            let (errors, log) =
                (server.error_log(), std::fs::read_to_string(server.site().path("logs/ids.log")));
            let told = |id: &String| {
                let line = errors.lines().find(|line| line.ends_with(&format!("[id {id}]")));
                line.is_some_and(|line| line.contains("all workers are busy and the queue is full"))
            };
            ids.iter().all(told) && refused_in(&log.unwrap_or_default()) == ids
        });
        assert_eq!(metric(&server, "hostler_pool_errors_total", "QueueFull"), 20);
        assert!(naps.into_iter().all(|nap| nap.join().expect("an answer") == 200));
        connection.send("GET /w/hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(connection.response().text(), "hello");
    });
}

#[test]
fn without_a_queue_a_pool_still_starts_and_serves_whoever_finds_a_worker() {
    let server = pool("MaxRequestWorkers 2\nHostlerQueueLength 0").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    await_idle(&server, 1);
    let answers = at_once(&server, "/w/nap?1", 6);
    let served = answers.iter().filter(|answer| answer.status == 200).count();
    let refused = answers.iter().filter(|answer| answer.status == 503).count();
    assert!(served >= 1 && refused >= 2 && served + refused == 6, "{served} served, {refused} refused");
}

#[test]
fn who_waits_too_long_gets_503() {
    let server = pool("MaxRequestWorkers 1\nHostlerQueueTimeout 1").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let begin = Instant::now();
    let answers = at_once(&server, "/w/nap?4", 3);
    let late: Vec<_> = answers.iter().filter(|answer| answer.status == 503).collect();
    assert_eq!(late.len(), 2);
    assert!(late.iter().all(|answer| answer.field("Retry-After").is_some()));
    // Time: all three one after the other would take twelve seconds.
    assert!(begin.elapsed() < Duration::from_secs(8));
    let _ = server.await_error("all workers were busy for too long");
    assert_eq!(metric(&server, "hostler_pool_errors_total", "QueueTimeout"), 2);
}

#[test]
fn nobody_waits_behind_a_slow_request_while_another_worker_is_free() {
    let server = pool("StartServers 2\nMaxRequestWorkers 2").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    await_idle(&server, 2);
    let served = AtomicUsize::new(0);
    thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let answer = server.get("/w/nap?4");
            (answer.status, served.load(Ordering::SeqCst))
        });
        await_that("the slow one runs", || count(&server, "busy") == 1);
        for _ in 0..4 {
            scope.spawn(|| {
                let mut connection = server.connect();
                for _ in 0..50 {
                    connection.send("GET /w/hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
                    assert_eq!(connection.response().text(), "hello");
                    served.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let (status, before) = slow.join().expect("an answer");
        assert_eq!((status, before), (200, 200), "all fast ones were served before the slow one");
    });
}

#[test]
fn workers_are_replaced_without_a_gap() {
    let server = pool("StartServers 2\nMaxRequestWorkers 3\nMaxConnectionsPerChild 7").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let pids = thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut connection = server.connect();
                    let mut pids = Vec::new();
                    for _ in 0..100 {
                        connection.send("GET /w/pid HTTP/1.1\r\nHost: localhost\r\n\r\n");
                        let answer = connection.response();
                        assert_eq!(answer.status, 200, "{}", answer.text());
                        pids.push(answer.text());
                    }
                    pids
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("all are served")).collect::<Vec<_>>()
    });
    let different: BTreeSet<_> = pids.iter().collect();
    assert!(different.iter().all(|pid| pids.iter().filter(|other| other == pid).count() <= 7));
    assert!(different.len() >= 400 / 7, "{}", different.len());
    assert_eq!(metric(&server, "hostler_pool_crashes_total", ""), 0);
    await_that("no more than the pool may have", || workers(&server).len() <= 3);
}

#[test]
fn an_idle_pool_leaves_nothing_and_comes_back() {
    let server = site("StartServers 2\nHostlerPoolIdle 1").start();
    for _ in 0..2 {
        assert_eq!(server.get("/w/hello").text(), "hello");
        let parent = until("a parent", || super::parents(&server).first().copied());
        await_that("it is gone", || super::parents(&server).is_empty());
        await_that("it has ended", || !crate::faults::process::runs(parent));
        assert_eq!(metric(&server, "hostler_pool_up", ""), 0);
    }
    assert_eq!(metric(&server, "hostler_pool_errors_total", ""), 0);
}
