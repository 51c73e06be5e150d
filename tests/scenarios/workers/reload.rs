//! Reloads, and what can't be loaded.

use super::{pool, site, workers};
use crate::faults::{await_that, process};
use hostler_tests::Server;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

fn reload(server: &Server) {
    let output = process::reload(server);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_reload_under_load_fails_no_request_to_perl() {
    let server = pool("StartServers 2\nMaxRequestWorkers 4\nMaxKeepAliveRequests 0").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let old = workers(&server);
    let (done, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let clients = ["/w/pid", "/w/nap?0.03", "/w/nap?0.3", "/w/dump"].map(|target| {
            let (server, done, served) = (&server, &done, &served);
            scope.spawn(move || {
                let mut connection = server.connect();
                while !done.load(Ordering::Relaxed) {
                    connection.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
                    let answer = connection.response();
                    assert_eq!(
                        (answer.status, answer.truncated),
                        (200, false),
                        "{target}: {}",
                        answer.text()
                    );
                    served.fetch_add(1, Ordering::Relaxed);
                    if answer.field("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
                        connection = server.connect();
                    }
                }
            })
        });
        for _ in 0..3 {
            let before = served.load(Ordering::Relaxed);
            await_that("clients are served", || served.load(Ordering::Relaxed) > before + 20);
            reload(&server);
        }
        let before = served.load(Ordering::Relaxed);
        await_that("clients are served", || served.load(Ordering::Relaxed) > before + 20);
        done.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().expect("no request fails"));
    });
    await_that("the old workers are gone", || !old.iter().any(|pid| process::runs(*pid)));
}

#[test]
fn what_cannot_be_loaded_is_told_and_heals() {
    let server =
        site("PerlModule Broken").file("lib/Broken.pm", "package Broken;\nthis is ( no perl;\n1;\n").start();
    let answer = server.get("/w/hello");
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert_eq!(server.get("/x").text(), "x");
    let line = server.await_error("Broken.pm");
    assert!(line.contains("syntax error") && line.contains("line 2"), "{line}");
    assert!(!answer.text().contains("Broken"), "the page tells nobody where it failed: {}", answer.text());
    fs::write(server.site().path("lib/Broken.pm"), "package Broken;\n1;\n").expect("the module");
    reload(&server);
    assert_eq!(server.get("/w/hello").text(), "hello");
}

#[test]
fn what_was_mended_is_loaded_without_a_reload_too() {
    let server = site("PerlModule Broken").file("lib/Broken.pm", "die 'on purpose';\n").start();
    assert_eq!(server.get("/w/hello").status, 500);
    let _ = server.await_error("on purpose");
    fs::write(server.site().path("lib/Broken.pm"), "package Broken;\n1;\n").expect("the module");
    await_that("it is tried again", || server.get("/w/hello").text() == "hello");
}

#[test]
fn a_preload_that_exits_or_is_killed_is_told() {
    for (code, cause) in [("exit 7;", "it called exit"), ("kill 9, $$; sleep 9;", "killed by signal 9")] {
        let server =
            site("PerlModule Broken").file("lib/Broken.pm", format!("warn 'last words'; {code}\n1;\n"));
        let server = server.start();
        let answer = server.get("/w/hello");
        assert!(matches!(answer.status, 500 | 503), "{code}: {}", answer.status);
        let line = server.await_error(cause);
        assert!(line.contains("last words"), "{line}");
        assert_eq!(server.get("/x").text(), "x");
    }
}
