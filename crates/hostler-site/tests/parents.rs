//! Warm parents: which front gets which, and when one ends. The engine here is `cat`, which lives as long as its
//! standard input is open.

#![allow(clippy::unwrap_used)]

mod client;

use client::*;
use hostler_sys::fdpass;
use hostler_sys::process::ExitCause;
use hostler_wire::engine::ToEngine;
use hostler_wire::frame::{HEAD, Head};
use hostler_wire::site::{Exit, FromSite, ToSite};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

fn site() -> Site {
    let cat = File::open("/bin/cat").unwrap();
    Site::start_with(None, &[(cat.as_fd(), 5)], &[])
}

fn pools(connection: &mut Connection) -> Vec<String> {
    let id = connection.id();
    connection.send(&ToSite::Parents { id }, &[]);
    match connection.receive().0 {
        FromSite::Parents { id: answered, pools, .. } if answered == id => pools,
        other => panic!("{other:?}"),
    }
}

fn exists(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn soon(condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE && !condition() {
        // Time: looks again.
        std::thread::sleep(Duration::from_millis(5));
    }
    condition()
}

/// Returns the descriptors of a further front that the parent gets at its door.
fn told(door: &OwnedFd) -> Vec<OwnedFd> {
    assert!(readable_within(door.as_fd(), PATIENCE), "the parent is told nothing");
    let (mut head, mut fds) = ([0; HEAD], Vec::new());
    fdpass::recv_exact(door.as_fd(), &mut head, &mut fds).unwrap();
    let mut body = vec![0; Head::decode(head).unwrap().body];
    fdpass::recv_exact(door.as_fd(), &mut body, &mut fds).unwrap();
    assert_eq!(ToEngine::decode(&body), Ok(ToEngine::Adopt));
    fds
}

#[test]
fn a_further_front_gets_the_parent_that_has_loaded_the_same() {
    let mut site = site();
    let first = site.start_program(parent("perl", "perl a", 1, false)).unwrap();
    assert!(!first.adopted);
    let mut next = site.attach().unwrap();
    assert_eq!(pools(&mut next), ["perl a"]);
    let second = next.start_program(parent("perl", "perl a", 1, false)).unwrap();
    assert_eq!((second.adopted, second.pid), (true, first.pid));
    assert_eq!(told(&first.door).len(), 3);
    site.connection.close();
    assert!(pools(&mut next).contains(&"perl a".to_owned()) && exists(first.pid), "one front still needs it");
    drop(first.stdin);
    assert_eq!(next.exit_of(second.id), Exit::Status(0), "who took it over is told of its end");
    assert!(pools(&mut next).is_empty());
}

#[test]
fn what_is_loaded_otherwise_or_of_no_use_is_started_anew() {
    let mut site = site();
    let first = site.start_program(parent("perl", "perl a", 1, false)).unwrap();
    let others = [("perl a", 2, false), ("perl b", 1, false), ("perl a", 2, true)];
    let others =
        others.map(|(pool, key, fresh)| site.start_program(parent("perl", pool, key, fresh)).unwrap());
    assert!(others.iter().all(|other| !other.adopted && other.pid != first.pid));
    assert_eq!(pools(&mut site), ["perl a", "perl b"]);
    let same = [1, 2].map(|key| site.start_program(parent("perl", "perl a", key, false)).unwrap().pid);
    assert_eq!(same, [first.pid, others[2].pid], "of two that have loaded the same the newer one is in use");
}

#[test]
fn a_parent_ends_with_the_last_who_needs_it() {
    let mut site = site();
    let first = site.start_program(parent("perl", "perl a", 1, false)).unwrap();
    let mut next = site.attach().unwrap();
    let second = next.start_program(parent("perl", "perl a", 1, false)).unwrap();
    site.send(&ToSite::Kill { id: first.id }, &[]);
    assert!(!pools(&mut site).is_empty() && exists(first.pid));
    next.send(&ToSite::Kill { id: second.id }, &[]);
    assert_eq!(next.exit_of(second.id), Exit::Signal(15));
    assert!(soon(|| !exists(first.pid)));
}

#[test]
fn a_parent_that_does_not_listen_is_not_taken_over() {
    let mut site = site();
    let first = site.start_program(parent("perl", "perl a", 1, false)).unwrap();
    drop(first.door);
    assert!(!site.start_program(parent("perl", "perl a", 1, false)).unwrap().adopted);
}

#[test]
fn nobody_is_attached_to_a_process_that_is_about_to_end() {
    let mut site = site();
    assert!(site.attach().is_some());
    // Whoever gets in before the last connection is closed is served.
    let mut last = site.attach().unwrap();
    site.connection.close();
    assert!(pools(&mut last).is_empty());
    last.close();
    assert!(soon(|| site.attach().is_none()));
    assert_eq!(site.end(), ExitCause::Status(0));
}
