//! `hostler status`: what the operator sees in the terminal, and what programs get.

use crate::faults::{await_that, process};
use crate::workers::{await_idle, pool};
use hostler_tests::{Server, Site, hostler};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Output, Stdio};

fn ask(site: &Site, arguments: &[&str]) -> Output {
    let file = site.path("httpd.conf");
    Command::new(hostler()).arg("status").arg("-f").arg(file).args(arguments).output().expect("hostler runs")
}

fn said(server: &Server, arguments: &[&str]) -> String {
    let output = ask(server.site(), arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The line that begins with this word.
fn line(text: &str, begin: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.starts_with(begin));
    let line = line.unwrap_or_else(|| panic!("no line of {begin}:\n{text}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

#[test]
fn shows_sites_pools_and_fronts_with_their_figures() {
    let server = pool("StartServers 2\nMinSpareServers 2\nMaxSpareServers 2\nMaxRequestWorkers 4").start();
    for _ in 0..5 {
        assert_eq!(server.get("/w/hello").text(), "hello");
    }
    assert_eq!((server.get("/missing").status, server.get("/w/leaves").status), (404, 502));
    await_idle(&server, 2);
    let text = said(&server, &[]);
    assert!(text.starts_with(&format!("running (pid {}, ", server.pid())), "{text}");
    let front = process::front(&server).to_string();
    assert_eq!(line(&text, &front)[..3], [front.as_str(), "1", "serves"], "{text}");
    // Head and row of a table have the same columns.
    let (head, row) = (line(&text, "POOL"), line(&text, "perl"));
    let cell = |name: &str| {
        let at = head.iter().position(|word| word == name);
        at.and_then(|at| row.get(at)).unwrap_or_else(|| panic!("no {name}:\n{text}")).as_str()
    };
    assert_eq!((cell("WORKERS"), cell("BUSY"), cell("IDLE"), cell("MAX")), ("--..", "0", "2", "4"), "{text}");
    assert_eq!((cell("QUEUE"), cell("SERVED"), cell("DIED")), ("0", "5", "1"), "{text}");
    assert!(cell("P99").ends_with('s') && cell("MEMORY").ends_with("iB"), "{text}");
    assert!(text.contains(": 1 × the worker ended while it served the request\n"), "{text}");
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn gives_programs_the_same_figures() {
    let server = pool("StartServers 1\nMaxRequestWorkers 3").start();
    for _ in 0..4 {
        assert_eq!(server.get("/w/hello").status, 200);
    }
    await_idle(&server, 1);
    let text = said(&server, &["--json"]);
    for part in [
        "\"running\": true".to_owned(),
        format!("\"pid\": {}", server.pid()),
        format!("\"serving_front\": {}", process::front(&server)),
        "\"generation\": 1".to_owned(),
        "\"max_workers\": 3".to_owned(),
        "\"requests\": 4".to_owned(),
        "\"idle\": 1".to_owned(),
        "\"p99\": ".to_owned(),
    ] {
        assert!(text.contains(&part), "{part}\n{text}");
    }
}

#[test]
fn a_reload_and_a_lost_front_change_who_answers() {
    let server = Site::new().start();
    assert!(process::reload(&server).status.success());
    assert!(said(&server, &["--json"]).contains("\"generation\": 2,\n  \"members\""));
    let lost = process::front(&server);
    process::kill(lost, rustix::process::Signal::KILL);
    await_that("another front answers", || {
        let text = said(&server, &["--json"]);
        text.contains("\"serving_front\"") && !text.contains(&format!("\"serving_front\": {lost},"))
    });
}

#[test]
fn only_who_started_the_server_can_ask() {
    let server = Site::new().start();
    await_that("the socket", || server.site().path("hostler.pid.status").exists());
    let found = fs::symlink_metadata(server.site().path("hostler.pid.status")).expect("a socket");
    let own = fs::metadata(server.site().path("httpd.conf")).expect("a file");
    assert_eq!((found.permissions().mode() & 0o7777, found.uid()), (0o600, own.uid()));
}

#[test]
fn says_when_nothing_runs_and_leaves_nothing_behind() {
    let site = Site::new();
    let _ = site.write_config(1);
    let output = ask(&site, &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("not running"), "{output:?}");
    assert_eq!(ask(&site, &["--json"]).stdout, b"{\"running\":false}\n");
    fs::write(site.path("httpd.conf"), "NoSuchDirective").expect("a file");
    assert_eq!(ask(&site, &[]).status.code(), Some(1));
}

#[test]
fn watches_until_the_server_ends() {
    let mut server = Site::new().start();
    await_that("the PidFile", || server.site().path("hostler.pid").exists());
    let file = server.site().path("httpd.conf");
    let mut watch = Command::new(hostler());
    watch.arg("status").arg("-f").arg(file).args(["--watch", "1"]).stdout(Stdio::piped());
    let watch = watch.spawn().expect("hostler runs");
    // Time: it is to have looked more than once, and looks each second.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    server.signal(rustix::process::Signal::TERM);
    server.await_end();
    let output = watch.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.matches("running (pid").count() >= 2 && text.contains("in the last "), "{text}");
    assert!(!server.site().path("hostler.pid.status").exists());
}
