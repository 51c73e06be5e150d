//! Beginnings and ends: connections, kills, daemons, and what remains when.

#![allow(clippy::unwrap_used)]

mod client;

use client::*;
use hostler_sys::fdpass;
use hostler_sys::process::{ExitCause, Signal, kill};
use hostler_sys::socket::stream_pair;
use hostler_wire::site::{Exit, Program, ToSite};
use rustix::process::Pid;
use serde_bytes::ByteBuf;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

fn shell(command: &str) -> Program {
    Program::Shell { command: ByteBuf::from(command), directory: ByteBuf::from("/") }
}

fn exists(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn soon(condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if condition() {
            return true;
        }
        // Time: looks again.
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn it_ends_when_its_connections_are_closed() {
    let mut site = Site::start();
    assert!(site.walk(Path::new("/")).0.stopped.is_none());
    assert_eq!(site.end(), ExitCause::Status(0));
}

#[test]
fn a_further_connection_is_served_like_the_first_and_outlives_it() {
    let mut site = Site::start();
    let (ours, theirs) = stream_pair().unwrap();
    site.send(&ToSite::Attach, &[theirs.as_fd()]);
    drop(theirs);
    let mut second = Connection::greeted(ours);
    assert!(second.inotify.is_some());
    let left_running = second.start_program(shell("sleep 100")).unwrap();
    assert_eq!(site.shell("echo first").stdout, "first\n");
    site.connection.close();
    assert_eq!(second.shell("echo second").stdout, "second\n");
    assert!(exists(left_running.pid));
    second.close();
    assert_eq!(site.end(), ExitCause::Status(0));
    assert!(!exists(left_running.pid));
}

#[test]
fn programs_of_a_connection_end_with_it() {
    let mut site = Site::start();
    let (ours, theirs) = stream_pair().unwrap();
    site.send(&ToSite::Attach, &[theirs.as_fd()]);
    drop(theirs);
    let mut second = Connection::greeted(ours);
    let theirs = second.start_program(shell("sleep 100")).unwrap();
    let ours = site.start_program(shell("sleep 100")).unwrap();
    second.close();
    assert!(soon(|| !exists(theirs.pid)));
    assert!(exists(ours.pid));
}

#[test]
fn a_kill_ends_the_whole_group() {
    let mut site = Site::start();
    let started = site.start_program(shell("sleep 100 & sleep 100 & echo ready; wait")).unwrap();
    assert!(readable_within(started.stdout.as_fd(), PATIENCE));
    site.send(&ToSite::Kill { id: started.id }, &[]);
    assert_eq!(site.exit_of(started.id), Exit::Signal(15));
    // All of them held these: the end of both says that nobody is left.
    assert_eq!((text(started.stdout).as_str(), text(started.stderr).as_str()), ("ready\n", ""));
}

#[test]
fn who_ignores_the_polite_signal_is_killed() {
    let mut site = Site::start();
    let stubborn = "trap '' TERM; (while :; do sleep 1; done) & echo ready; while :; do sleep 1; done";
    let started = site.start_program(shell(stubborn)).unwrap();
    assert!(readable_within(started.stdout.as_fd(), PATIENCE));
    let start = Instant::now();
    site.send(&ToSite::Kill { id: started.id }, &[]);
    assert_eq!(site.exit_of(started.id), Exit::Signal(9));
    // Time: the three seconds between the two signals are what is tested.
    assert!((2900..6000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    text(started.stdout);
}

#[test]
fn a_daemon_that_holds_the_output_delays_nothing() {
    let mut site = Site::start();
    let started = site.start_program(shell("setsid sleep 100 & echo $!")).unwrap();
    assert_eq!(site.exit_of(started.id), Exit::Status(0));
    let mut line = [0; 32];
    let n = rustix::io::read(&started.stdout, &mut line).unwrap();
    let daemon: u32 = str::from_utf8(&line[..n]).unwrap().trim().parse().unwrap();
    assert!(!readable_within(started.stdout.as_fd(), Duration::from_millis(50)), "the daemon holds it open");
    assert_eq!(site.end(), ExitCause::Status(0));
    assert!(exists(daemon), "a daemon is its site's own business");
    kill(Pid::from_raw(daemon as i32).unwrap(), Signal::KILL);
}

#[test]
fn what_a_finished_program_left_in_its_group_can_be_killed_but_is_not_by_itself() {
    let mut site = Site::start();
    let left = site.start_program(shell("sleep 100 & echo $!")).unwrap();
    assert_eq!(site.exit_of(left.id), Exit::Status(0));
    site.send(&ToSite::Kill { id: left.id }, &[]);
    assert!(text(left.stdout).trim().parse::<u32>().is_ok(), "its end has come");
    let started = site.start_program(shell("sleep 100 >/dev/null 2>&1 & echo $!")).unwrap();
    let job: u32 = site.finish(started).stdout.trim().parse().unwrap();
    assert_eq!(site.end(), ExitCause::Status(0));
    assert!(exists(job), "a job in the background goes on");
    kill(Pid::from_raw(job as i32).unwrap(), Signal::KILL);
}

#[test]
fn a_program_dies_with_a_site_process_that_is_killed() {
    let mut site = Site::start();
    let started = site.start_program(shell("exec sleep 100")).unwrap();
    kill(site.process.unwrap(), Signal::KILL);
    assert_eq!(site.end(), ExitCause::Signal(9));
    assert!(soon(|| !exists(started.pid)));
}

#[test]
fn sigterm_ends_it_with_its_programs() {
    let mut site = Site::start();
    let started = site.start_program(shell("exec sleep 100")).unwrap();
    kill(site.process.unwrap(), Signal::TERM);
    assert_eq!(hostler_sys::process::wait(site.process.take().unwrap()).unwrap(), ExitCause::Status(0));
    assert!(!exists(started.pid));
}

#[test]
fn a_malformed_frame_ends_it() {
    let garbage: [&[u8]; 4] =
        [&[0xff; 64], &[1, 0, 0, 0, 0, 0, 0, 0, 99], &[0, 0, 0, 0, 0, 0, 0, 0], &[1, 0, 0, 0, 1, 0, 0, 0, 0]];
    for bytes in garbage {
        let mut site = Site::start();
        fdpass::send_all(site.socket(), bytes, &[]).unwrap();
        let ended = hostler_sys::process::wait(site.process.take().unwrap()).unwrap();
        assert_eq!(ended, ExitCause::Status(1), "{bytes:?}");
    }
    let mut site = Site::start();
    site.send(&ToSite::Attach, &[]);
    assert_eq!(hostler_sys::process::wait(site.process.take().unwrap()).unwrap(), ExitCause::Status(1));
}

#[test]
fn many_programs_at_once_are_told_apart() {
    let mut site = Site::start();
    let started: Vec<_> =
        (0..50).map(|n| (n, site.start_program(shell(&format!("read x; exit {n}"))).unwrap())).collect();
    let mut expected: Vec<_> = started.iter().map(|(n, started)| (started.id, *n)).collect();
    drop(started);
    while !expected.is_empty() {
        let (id, exit) = match site.receive().0 {
            hostler_wire::site::FromSite::Exited { id, exit } => (id, exit),
            other => panic!("{other:?}"),
        };
        let at = expected.iter().position(|(known, _)| *known == id).unwrap();
        assert_eq!(exit, Exit::Status(expected.swap_remove(at).1));
    }
}

#[test]
fn requests_that_come_in_pieces_and_in_heaps_are_answered() {
    let mut site = Site::start();
    let mut bytes = Vec::new();
    for id in 0..2000 {
        let list = ToSite::List { id, path: ByteBuf::from("/proc/self/ns"), prefix: ByteBuf::new() };
        hostler_wire::frame::encode(&list, 0, &mut bytes).unwrap();
    }
    let socket = site.socket().try_clone_to_owned().unwrap();
    let writer = std::thread::spawn(move || {
        for piece in bytes.chunks(7) {
            fdpass::send_all(socket.as_fd(), piece, &[]).unwrap();
        }
    });
    for expected in 0..2000 {
        match site.receive().0 {
            hostler_wire::site::FromSite::Listed { id, entries } => {
                assert_eq!((id, entries.is_ok()), (expected, true));
            }
            other => panic!("{other:?}"),
        }
    }
    writer.join().unwrap();
}
