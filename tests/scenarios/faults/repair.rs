//! Processes that die, stop, or are replaced: what is repaired, and that a reload loses nothing.

use super::{CAT, await_that, process, site_with};
use hostler_tests::{Server, Site};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A program that says which process it is, and stays.
const STAY: &str = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n%s\\n' $$\nexec sleep 600\n";

/// The answer to a request, once the server gives one again.
fn recovers(server: &Server, target: &str, text: &str) {
    await_that("the server answers again", || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
        let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut answer = Vec::new();
        stream.write_all(request.as_bytes()).is_ok()
            && stream.read_to_end(&mut answer).is_ok()
            && answer.starts_with(b"HTTP/1.1 200 ")
            && answer.ends_with(text.as_bytes())
    });
}

/// Starts the program STAY on a connection; its process id.
fn started(server: &Server) -> (hostler_tests::Connection, u32) {
    let mut connection = server.connect();
    connection.send("GET /cgi-bin/stay HTTP/1.0\r\n\r\n");
    let pid = super::until("the program runs", || {
        let sites = process::named(server, "hostler-site");
        sites
            .into_iter()
            .flat_map(process::children)
            .find(|pid| process::command_line(*pid).starts_with("sleep"))
    });
    (connection, pid)
}

#[test]
fn a_killed_front_comes_back() {
    let server = site_with(&[]).start();
    assert_eq!(server.get("/x").text(), "x");
    let front = process::front(&server);
    process::kill(front, Signal::KILL);
    await_that("it is gone", || !process::runs(front));
    recovers(&server, "/x", "x");
    assert_ne!(process::front(&server), front);
    assert!(server.console().contains("front of generation 1"), "{}", server.console());
}

#[test]
fn a_killed_site_comes_back() {
    let server = site_with(&[("cat", CAT)]).start();
    assert_eq!(server.get("/cgi-bin/cat").status, 200);
    for _ in 0..3 {
        for site in process::named(&server, "hostler-site") {
            process::kill(site, Signal::KILL);
            await_that("it is gone", || !process::runs(site));
        }
        recovers(&server, "/cgi-bin/cat", "\r\n\r\n");
        recovers(&server, "/x", "x");
    }
}

#[test]
fn a_site_that_dies_during_a_request_fails_only_that() {
    let server = site_with(&[("stay", STAY)]).start();
    let (_connection, program) = started(&server);
    for site in process::named(&server, "hostler-site") {
        process::kill(site, Signal::KILL);
    }
    await_that("the program ends with its site", || !process::runs(program));
    recovers(&server, "/x", "x");
}

#[test]
fn a_site_that_hangs_is_not_waited_for_for_ever() {
    let server = site_with(&[("cat", CAT)]).config("Timeout 1").start();
    assert_eq!(server.get("/cgi-bin/cat").status, 200);
    let sites = process::named(&server, "hostler-site");
    sites.iter().for_each(|site| process::kill(*site, Signal::STOP));
    assert_eq!(server.get("/never-asked-for").status, 503);
    // Whichever thread is asked, it speaks with the one that took its place.
    for _ in 0..20 {
        assert_eq!(server.get("/cgi-bin/cat").status, 200);
        assert_eq!(server.get("/never-asked-for-either").status, 404);
    }
    await_that("it is killed", || !sites.iter().any(|site| process::runs(*site)));
}

#[test]
fn the_master_s_death_takes_everything_down() {
    let mut server = site_with(&[("stay", STAY)]).start();
    assert_eq!(server.get("/x").text(), "x");
    let (_connection, program) = started(&server);
    let processes = [process::children(server.pid()), vec![program]].concat();
    assert!(processes.len() >= 3, "a front, a site and the program: {processes:?}");
    server.signal(Signal::KILL);
    let _ = server.await_end();
    await_that("all are gone", || !processes.iter().any(|pid| process::runs(*pid)));
}

#[test]
fn sigint_stops_everything() {
    let mut server = site_with(&[("stay", STAY)]).start();
    let (_connection, program) = started(&server);
    let processes = [process::children(server.pid()), vec![program]].concat();
    server.signal(Signal::INT);
    assert!(server.await_end().success());
    await_that("all are gone", || !processes.iter().any(|pid| process::runs(*pid)));
    assert!(!server.site().path("hostler.pid").exists());
}

#[test]
fn an_idle_site_exits_and_comes_back() {
    let server = site_with(&[("cat", CAT)]).config("HostlerSiteIdle 1").start();
    for _ in 0..2 {
        assert_eq!(server.get("/cgi-bin/cat").status, 200);
        assert!(!process::named(&server, "hostler-site").is_empty());
        await_that("it exits", || process::named(&server, "hostler-site").is_empty());
        assert_eq!(server.get("/x").text(), "x");
    }
}

#[test]
fn a_site_at_work_does_not_exit() {
    let slow = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nsleep 3\necho done\n";
    let server = site_with(&[("slow", slow)]).config("HostlerSiteIdle 1").start();
    assert_eq!(server.get("/cgi-bin/slow").text(), "done\n");
}

/// Requests one after the other on a connection that is kept as long as the server keeps it; how many, and what
/// went wrong.
fn load(
    server: &Server,
    target: &str,
    body: &str,
    done: &AtomicBool,
    count: &AtomicUsize,
) -> Result<(), String> {
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut connection = server.connect();
    while !done.load(Ordering::Relaxed) {
        connection.send(&request);
        let answer = connection.response();
        if answer.status != 200 || answer.text() != body || answer.truncated {
            return Err(format!("{target}: {answer:?}"));
        }
        count.fetch_add(1, Ordering::Relaxed);
        if answer.field("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            connection = server.connect();
        }
    }
    Ok(())
}

#[test]
fn a_reload_under_load_fails_no_request() {
    let hello = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nhello'\n";
    let site = site_with(&[("hello", hello)]).config("MaxKeepAliveRequests 0\nKeepAliveTimeout 30");
    let server = site.file("htdocs/big", "z".repeat(300_000)).start();
    let big = "z".repeat(300_000);
    let (done, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let targets = [("/x", "x"), ("/x", "x"), ("/big", big.as_str()), ("/cgi-bin/hello", "hello")];
        let clients = targets.map(|(target, body)| {
            let (server, done, count) = (&server, &done, &count);
            scope.spawn(move || load(server, target, body, done, count))
        });
        for round in 0..3 {
            let before = count.load(Ordering::Relaxed);
            await_that("clients are served", || count.load(Ordering::Relaxed) > before + 20);
            let output = process::reload(&server);
            assert!(output.status.success(), "{round}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let before = count.load(Ordering::Relaxed);
        await_that("clients are served", || count.load(Ordering::Relaxed) > before + 20);
        done.store(true, Ordering::Relaxed);
        for client in clients {
            assert_eq!(client.join().expect("no panic"), Ok(()));
        }
    });
    assert!(process::command_line(process::front(&server)).contains("generation 4"));
}

#[test]
fn an_upload_and_a_download_outlive_a_reload() {
    let server = site_with(&[("cat", CAT)]).file("htdocs/huge", "z".repeat(10_000_000)).start();
    let mut upload = server.connect();
    upload.send("POST /cgi-bin/cat HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n");
    upload.send("a".repeat(1000));
    let mut download = server.connect();
    download.send("GET /huge HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut idle = server.connect();
    idle.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(idle.response().text(), "x");
    assert!(process::reload(&server).status.success());
    idle.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    let last = idle.response();
    assert_eq!((last.text(), last.field("Connection")), ("x".into(), Some("close")));
    upload.send("b".repeat(1000));
    assert_eq!(upload.response().text(), "a".repeat(1000) + &"b".repeat(1000));
    let download = download.response();
    assert_eq!((download.body.len(), download.truncated), (10_000_000, false));
    drop((upload, idle));
    await_that("the old front ends", || process::named(&server, "hostler-front").len() == 1);
}

#[test]
fn a_bad_configuration_leaves_the_old_one_serving() {
    let server = site_with(&[]).start();
    let file = server.site().path("httpd.conf");
    let good = fs::read_to_string(&file).expect("the configuration");
    let front = process::front(&server);
    fs::write(&file, format!("{good}\nNoSuchDirective on\n")).expect("a configuration");
    let output = process::reload(&server);
    let line = good.lines().count() + 2;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains(&format!("httpd.conf:{line}:")), "{said}");
    // Nobody asks first when the signal comes directly.
    server.signal(Signal::HUP);
    await_that("the master says so", || server.console().contains("NoSuchDirective"));
    assert_eq!((server.get("/x").text(), process::front(&server)), ("x".into(), front));
    fs::write(&file, format!("{good}\nHeader set X-New yes\n")).expect("a configuration");
    assert!(process::reload(&server).status.success());
    assert_eq!(server.get("/x").field("X-New"), Some("yes"));
}

#[test]
fn a_generation_that_cannot_listen_leaves_the_old_one_serving() {
    let server = site_with(&[]).start();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = taken.local_addr().expect("its address").port();
    let file = server.site().path("httpd.conf");
    let good = fs::read_to_string(&file).expect("the configuration");
    fs::write(&file, format!("{good}\nListen 127.0.0.1:{port}\n")).expect("a configuration");
    let output = process::reload(&server);
    assert!(!output.status.success());
    await_that("the address is named", || server.console().contains(&port.to_string()));
    assert_eq!(server.get("/x").text(), "x");
    drop(taken);
    assert!(process::reload(&server).status.success(), "{}", server.console());
}

#[test]
fn what_a_page_needs_may_vanish_while_it_is_sent() {
    const SIZE: usize = 20_000_000;
    let server = Site::new().file("htdocs/huge", vec![b'z'; SIZE]).file("htdocs/x", "x").start();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
    stream.write_all(b"GET /huge HTTP/1.1\r\nHost: a\r\n\r\n").expect("the request is taken");
    let mut start = [0; 1000];
    stream.read_exact(&mut start).expect("the answer begins");
    let front = process::front(&server);
    let file = fs::OpenOptions::new().write(true).open(server.site().path("htdocs/huge")).expect("the file");
    file.set_len(10).expect("it is cut");
    // The end of the connection is all that can be told by now.
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(start.starts_with(b"HTTP/1.1 200 ") && start.len() + rest.len() < SIZE, "it looks complete");
    assert_eq!((server.get("/x").text(), process::front(&server)), ("x".into(), front));
}
