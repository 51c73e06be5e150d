//! Workers, their parent, the site's process and the front killed under load.

use super::super::{await_that, process};
use crate::workers::{count, metric, parents, pool, workers};
use hostler_tests::Server;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// No answer takes longer than this, whatever happens.
const HANGS: Duration = Duration::from_secs(15);

/// Answers by status; 0: the connection broke.
#[derive(Default)]
struct Answers {
    by_status: Mutex<BTreeMap<u16, usize>>,
    slowest: Mutex<Duration>,
    done: AtomicBool,
    served: AtomicUsize,
}

impl Answers {
    fn add(&self, status: u16, time: Duration) {
        *self.by_status.lock().expect("unbroken").entry(status).or_default() += 1;
        let mut slowest = self.slowest.lock().expect("unbroken");
        *slowest = time.max(*slowest);
        if status == 200 {
            self.served.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn of(&self, status: u16) -> usize {
        self.by_status.lock().expect("unbroken").get(&status).copied().unwrap_or_default()
    }

    fn await_more(&self, more: usize) {
        let before = self.served.load(Ordering::Relaxed);
        await_that("clients are served", || self.served.load(Ordering::Relaxed) > before + more);
    }
}

/// Says that it is over, also when something fails.
struct Ends<'a>(&'a Answers);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.done.store(true, Ordering::Relaxed);
    }
}

/// One request on a connection of its own; 0 where no whole answer came.
fn status_of(server: &Server, target: &str) -> u16 {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())) else { return 0 };
    stream.set_read_timeout(Some(HANGS)).expect("a time limit");
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let mut answer = Vec::new();
    if stream.write_all(request.as_bytes()).is_err() || stream.read_to_end(&mut answer).is_err() {
        return 0;
    }
    let text = String::from_utf8_lossy(&answer);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

fn ask_until_done(server: &Server, answers: &Answers) {
    let mut n = 0;
    while !answers.done.load(Ordering::Relaxed) {
        n += 1;
        let target = if n % 4 == 0 { "/w/nap?0.05" } else { "/w/nap?0.01" };
        let begin = Instant::now();
        answers.add(status_of(server, target), begin.elapsed());
    }
}

fn under_load(server: &Server, clients: usize, trouble: impl FnOnce(&Answers)) -> Answers {
    let answers = Answers::default();
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| ask_until_done(server, &answers));
        }
        let _ends = Ends(&answers);
        answers.await_more(20);
        trouble(&answers);
    });
    let slowest = *answers.slowest.lock().expect("unbroken");
    assert!(slowest < HANGS, "a request took {slowest:?}");
    answers
}

/// Kills one of the workers, by turns.
fn kill_one(server: &Server, turn: usize, signal: Signal) -> Option<u32> {
    let all = workers(server);
    let pid = *all.get((turn * 7 + 3) % all.len().max(1))?;
    process::kill(pid, signal);
    Some(pid)
}

#[test]
fn a_storm_of_kills_loses_only_the_requests_of_the_killed_workers() {
    let server = pool("StartServers 5\nMaxRequestWorkers 5\nHostlerWorkerTimeout 5\nLogLevel info").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    await_that("the pool is whole", || workers(&server).len() == 5);
    let mut kills = 0;
    let answers = under_load(&server, 12, |answers| {
        for turn in 0..60 {
            kills += usize::from(kill_one(&server, turn, Signal::KILL).is_some());
            // Time: so often is a worker killed.
            thread::sleep(Duration::from_millis(60));
        }
        answers.await_more(20);
    });
    let statuses = answers.by_status.lock().expect("unbroken").clone();
    let failed = answers.of(502);
    assert!(statuses.keys().all(|status| matches!(status, 200 | 502)), "{statuses:?}");
    assert!(failed <= kills && failed > 0, "{failed} failed, {kills} killed");
    // Each has its cause in the log, and on the status page.
    let told = || {
        server
            .error_log()
            .lines()
            .filter(|line| line.contains("killed by signal 9") && line.contains("[id "))
            .count()
    };
    await_that("every failure is told", || told() == failed);
    assert_eq!(metric(&server, "hostler_pool_errors_total", "WorkerDied"), failed as u64);
    let crashes = metric(&server, "hostler_pool_crashes_total", "") as usize;
    assert!((failed..=kills).contains(&crashes), "{crashes} crashes of {kills} kills, {failed} failures");
    let status = server.get("/server-status").text();
    let told = format!("{failed} × the worker ended while it served the request");
    assert!(status.contains(&told), "{status}");
    await_that("the pool is whole again", || workers(&server).len() == 5 && count(&server, "idle") == 5);
    for _ in 0..50 {
        assert_eq!(server.get("/w/hello").text(), "hello");
    }
}

#[test]
fn a_worker_that_is_stopped_is_cut_off_and_replaced() {
    let server = pool("StartServers 2\nMaxRequestWorkers 2\nHostlerWorkerTimeout 2").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    await_that("the pool is whole", || count(&server, "idle") == 2);
    let mut stopped = Vec::new();
    let answers = under_load(&server, 4, |answers| {
        for turn in 0..2 {
            stopped.extend(kill_one(&server, turn, Signal::STOP));
            answers.await_more(30);
        }
        await_that("they are killed", || !stopped.iter().any(|pid| process::runs(*pid)));
        answers.await_more(30);
    });
    let statuses = answers.by_status.lock().expect("unbroken").clone();
    assert!(statuses.keys().all(|status| matches!(status, 200 | 504)), "{statuses:?}");
    assert!((1..=2).contains(&answers.of(504)), "{statuses:?}");
    let _ = server.await_error("neither read nor wrote anything for too long");
    await_that("the pool is whole again", || count(&server, "idle") == 2);
}

#[test]
fn a_killed_parent_is_replaced_and_fails_no_request() {
    let server = pool("StartServers 3\nMaxRequestWorkers 3").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let answers = under_load(&server, 6, |answers| {
        for _ in 0..2 {
            let old = parents(&server);
            old.iter().for_each(|pid| process::kill(*pid, Signal::KILL));
            await_that("another comes", || parents(&server).iter().any(|pid| !old.contains(pid)));
            answers.await_more(30);
        }
    });
    let statuses = answers.by_status.lock().expect("unbroken").clone();
    assert_eq!(statuses.keys().copied().collect::<Vec<_>>(), [200], "{statuses:?}");
    await_that("nobody is left over", || workers(&server).len() <= 3 && parents(&server).len() == 1);
}

#[test]
fn killed_site_processes_and_fronts_are_repaired_under_load() {
    let server = pool("StartServers 3\nMaxRequestWorkers 3").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    for role in ["hostler-site", "hostler-front"] {
        let mut before = Vec::new();
        let _ = under_load(&server, 6, |answers| {
            before = [parents(&server), workers(&server)].concat();
            process::named(&server, role).iter().for_each(|pid| process::kill(*pid, Signal::KILL));
            await_that("the server serves again", || status_of(&server, "/w/hello") == 200);
            answers.await_more(30);
        });
        for _ in 0..20 {
            assert_eq!(server.get("/w/hello").text(), "hello", "after {role}");
        }
        await_that("nothing of before is left", || !before.iter().any(|pid| process::runs(*pid)));
    }
}
