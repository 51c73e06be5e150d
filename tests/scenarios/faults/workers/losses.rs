//! Exactly what a killed worker costs: the request that it was at, told with its cause on the page, in the log, on the
//! status page and in the metrics. Who is killed is known to be busy, or known to be idle.

use super::super::{await_that, process};
use crate::workers::{await_idle, count, metric, parents, pool, workers};
use hostler_tests::{Response, Server};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

const WORKERS: usize = 6;
const CAUSE: &str = "the worker ended while it served the request";

/// Process ids of the workers that the status page shows in a state: `W` at a request, `_` idle.
fn in_state(server: &Server, state: &str) -> Vec<u32> {
    let page = server.get("/server-status").text();
    let rows = page.lines().filter(|line| line.starts_with("<tr><td>"));
    let cells = |row: &str| -> Vec<String> {
        row.split("<td>").skip(1).map(|cell| cell.split('<').next().unwrap_or_default().to_owned()).collect()
    };
    let found = rows.map(cells).filter(|cells| cells.get(2).is_some_and(|shown| shown == state));
    found.filter_map(|cells| cells.get(1)?.parse().ok()).collect()
}

/// So many requests are under way, each in a worker of its own, when these are killed; the answers.
fn killed_while_busy(server: &Server, requests: usize, busy: usize, idle: usize) -> Vec<Response> {
    thread::scope(|scope| {
        let asked: Vec<_> = (0..requests).map(|_| scope.spawn(|| server.get("/w/nap?2"))).collect();
        await_that("each is in a worker", || {
            count(server, "busy") == requests as u64 && in_state(server, "W").len() == requests
        });
        // Given to a worker is not begun by it: one that it has not begun is not lost with it.
        // Time: as the line above says, and nothing tells when it has begun.
        thread::sleep(Duration::from_millis(300));
        let (at_work, at_rest) = (in_state(server, "W"), in_state(server, "_"));
        let doomed = at_work.iter().take(busy).chain(at_rest.iter().take(idle));
        doomed.for_each(|pid| process::kill(*pid, Signal::KILL));
        asked.into_iter().map(|request| request.join().expect("it was asked")).collect()
    })
}

/// The number that leads from the page to the log.
fn id(page: &Response) -> String {
    let text = page.text();
    let id = text.split("<code>").nth(1).and_then(|rest| rest.split("</code>").next());
    id.unwrap_or_else(|| panic!("no number on {text}")).to_owned()
}

#[test]
fn a_fault_s_signal_from_outside_ends_a_worker_at_once() {
    let server = pool("StartServers 1\nMaxRequestWorkers 1").start();
    for signal in [Signal::SEGV, Signal::BUS] {
        let idle: u32 = server.get("/w/pid").text().trim().parse().expect("its process id");
        process::kill(idle, signal);
        await_that("it has ended", || !std::path::Path::new(&format!("/proc/{idle}")).exists());
        let answer = thread::scope(|scope| {
            let asked = scope.spawn(|| server.get("/w/nap?5"));
            await_that("it is in a worker", || in_state(&server, "W").len() == 1);
            // Time: nothing tells when the worker has begun.
            thread::sleep(Duration::from_millis(300));
            in_state(&server, "W").into_iter().for_each(|pid| process::kill(pid, signal));
            asked.join().expect("it was asked")
        });
        assert_eq!(answer.status, 502, "{signal:?}");
        let name = if signal == Signal::SEGV { "(SEGV)" } else { "(BUS)" };
        let log = server.await_error(&id(&answer));
        let line = log.lines().find(|line| line.contains(CAUSE) && line.contains(&id(&answer)));
        assert!(line.is_some_and(|line| line.contains(name)), "{signal:?}: {log}");
    }
}

#[test]
fn as_many_requests_are_lost_as_workers_were_killed_at_one() {
    let server =
        pool(&format!("StartServers {WORKERS}\nMinSpareServers 1\nMaxRequestWorkers {WORKERS}")).start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    await_idle(&server, WORKERS as u64);
    let (mut lost, mut crashed, mut ids) = (0, 0, BTreeSet::new());
    for (requests, busy, idle) in [(4, 2, 1), (3, 0, 2), (WORKERS, WORKERS, 0), (5, 1, 0)] {
        let answers = killed_while_busy(&server, requests, busy, idle);
        let failed: Vec<&Response> = answers.iter().filter(|answer| answer.status == 502).collect();
        let served = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!((failed.len(), served), (busy, requests - busy), "{:?}", server.error_log());
        ids.extend(failed.into_iter().map(id));
        lost += busy;
        crashed += busy + idle;
        await_that("the pool is whole again", || workers(&server).len() == WORKERS);
        await_idle(&server, WORKERS as u64);
        assert_eq!(server.get("/w/hello").text(), "hello");
    }
    assert_eq!(ids.len(), lost, "each has a number of its own");
    for id in ids {
        let line = server.await_error(&format!("[id {id}]"));
        assert!(line.contains(CAUSE) && line.contains("killed by signal 9"), "{line}");
    }
    assert_eq!(server.error_log().matches(CAUSE).count(), lost, "{}", server.error_log());
    let unasked = || server.error_log().matches("the worker ended unasked").count();
    await_that("those that were idle are told, too", || unasked() == crashed - lost);
    assert_eq!(metric(&server, "hostler_pool_errors_total", "WorkerDied"), lost as u64);
    assert_eq!(metric(&server, "hostler_pool_errors_total", ""), lost as u64, "there is no other cause");
    assert_eq!(metric(&server, "hostler_pool_crashes_total", ""), crashed as u64);
    assert_eq!(metric(&server, "hostler_requests_total", "5xx"), lost as u64);
    let page = server.get("/server-status").text();
    assert!(page.contains(&format!("Errors: {lost} × {CAUSE}<")), "{page}");
    assert!(page.contains(&format!(" {crashed} died")), "{page}");
}

#[test]
fn a_parent_that_is_stopped_hides_no_death_and_is_replaced() {
    let server = pool("StartServers 2\nMinSpareServers 1\nMaxRequestWorkers 2").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    await_idle(&server, 2);
    let stopped = parents(&server);
    stopped.iter().for_each(|pid| process::kill(*pid, Signal::STOP));
    workers(&server).into_iter().for_each(|pid| process::kill(pid, Signal::KILL));
    // What the front has given to a dead worker before it can know is told after seconds, not after Timeout.
    let begun = Instant::now();
    let answer = server.get("/w/hello");
    assert!(answer.status == 502 || answer.status == 200, "{}", answer.text());
    // Time: as the line above the request says.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(server.get("/w/hello").text(), "hello");
    let _ = server.await_error("the warm parent is stopped or stuck; another takes its place");
    await_that("it is killed", || !stopped.iter().any(|pid| process::runs(*pid)));
}

#[test]
fn what_an_earlier_request_has_written_is_not_the_cause_of_a_later_one_s_end() {
    let handler = |name: &str, code: &str| {
        format!(
            "<Location /{name}>\nSetHandler modperl\nPerlResponseHandler \"sub {{ {code} }}\"\n</Location>\n"
        )
    };
    let config = handler("says", "system 'echo earlier words >&2'; $_[0]->print('said'); 0")
        + &handler("dies", "system 'echo own words >&2'; kill 9, $$; sleep 9");
    let server = pool(&format!("StartServers 1\nMaxRequestWorkers 1\n{config}")).start();
    assert_eq!(server.get("/says").text(), "said");
    let _ = server.await_error("earlier words");
    // Time: lines of the first request are to be older than the second's.
    thread::sleep(Duration::from_millis(200));
    let answer = server.get("/dies");
    assert_eq!(answer.status, 502);
    let log = server.await_error(CAUSE);
    let line = log.lines().find(|line| line.contains(CAUSE)).expect("it was there");
    assert!(line.contains("last on stderr: own words"), "{line}");
    assert!(!line.contains("earlier"), "{line}");
}

#[test]
fn the_end_of_the_server_is_nobody_s_fault() {
    for _ in 0..5 {
        let mut server = pool("StartServers 1").start();
        assert_eq!(server.get("/w/hello").text(), "hello");
        server.signal(Signal::TERM);
        server.await_end();
        assert!(!server.error_log().contains("unasked"), "{}", server.error_log());
    }
}
