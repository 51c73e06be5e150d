//! Many sites: their pools come and go.

use super::{metric, parents};
use crate::faults::{await_that, process};
use hostler_tests::{Server, needs_root};
use std::fmt::Write as _;

/// So many virtual hosts `hN.test`, each with a user of its own.
fn hosts(count: u32, first_uid: u32, config: &str) -> Server {
    let mut text = String::from(config);
    for n in 0..count {
        let uid = first_uid + n;
        let _ = write!(
            text,
            "\n<VirtualHost *:@PORT@>\nServerName h{n}.test\nAssignUserID #{uid} #{uid}\n</VirtualHost>"
        );
    }
    super::site(&text).start()
}

fn pid(server: &Server, host: u32) -> String {
    let answer = server.get_with("/w/pid", &format!("Host: h{host}.test\r\n"));
    assert_eq!(answer.status, 200, "h{host}: {}", answer.text());
    answer.text()
}

/// The hosts whose pools have processes.
fn warm(server: &Server, first_uid: u32) -> Vec<u32> {
    let users = parents(server).into_iter().filter_map(|pid| process::status(pid, "Uid"));
    let mut found: Vec<u32> = users
        .filter_map(|users| users.split('\t').next()?.parse::<u32>().ok())
        .map(|uid| uid - first_uid)
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn pools_that_are_unused_for_longest_give_way_when_memory_is_short() {
    needs_root!();
    const FIRST: u32 = 64_130;
    // A warm parent takes some megabytes: this is enough for a few of them.
    let server = hosts(6, FIRST, "HostlerMemory 40M");
    let pids: Vec<String> = (0..6)
        .map(|host| {
            let pid = pid(&server, host);
            // Time: which pool was used last is to be plain.
            std::thread::sleep(std::time::Duration::from_millis(50));
            pid
        })
        .collect();
    // Several may be on their way out at the same time.
    await_that("those used last are left", || {
        let left = warm(&server, FIRST);
        left.len() < 5 && left == (6 - left.len() as u32..6).collect::<Vec<_>>()
    });
    let left = warm(&server, FIRST);
    assert!(!left.is_empty());
    // An evicted one comes back; one that stayed still has its worker.
    assert_ne!(pid(&server, 0), pids[0]);
    assert_eq!(pid(&server, 5), pids[5]);
    assert_eq!(metric(&server, "hostler_pool_errors_total", ""), 0);
    assert!(metric(&server, "hostler_pool_evictions_total", "") >= 2);
}

#[test]
fn a_hundred_idle_sites_leave_no_process_and_no_descriptor() {
    needs_root!();
    const FIRST: u32 = 64_200;
    let server = hosts(100, FIRST, "HostlerPoolIdle 1\nHostlerSiteIdle 1\nStartServers 1");
    let front = process::front(&server);
    let descriptors = || std::fs::read_dir(format!("/proc/{front}/fd")).map_or(0, Iterator::count);
    // Once it answers, it has all that it begins with.
    assert_eq!(metric(&server, "hostler_pool_idle_ends_total", ""), 0);
    let before = descriptors();
    std::thread::scope(|scope| {
        for part in 0..4 {
            let server = &server;
            scope.spawn(move || (0..25).for_each(|n| drop(pid(server, part * 25 + n))));
        }
    });
    await_that("no engine is left", || parents(&server).is_empty());
    await_that("no site is left", || process::named(&server, "hostler-site").is_empty());
    // A connection that has just been closed may still be there.
    await_that("the front has no descriptor for them", || descriptors() < before + 10);
    assert_eq!(metric(&server, "hostler_pool_errors_total", ""), 0);
    assert_eq!(metric(&server, "hostler_pool_idle_ends_total", ""), 100);
    assert_eq!(metric(&server, "hostler_pool_evictions_total", ""), 0);
    assert!(!pid(&server, 42).is_empty());
}

#[test]
fn tenants_share_no_worker() {
    needs_root!();
    let server = hosts(2, 64_140, "");
    let (first, second) = (pid(&server, 0), pid(&server, 1));
    assert_ne!(first, second);
    for (pid, uid) in [(first, 64_140), (second, 64_141)] {
        let users = process::status(pid.parse().expect("a number"), "Uid").unwrap_or_default();
        assert_eq!(users, vec![uid.to_string(); 4].join("\t"));
    }
}
