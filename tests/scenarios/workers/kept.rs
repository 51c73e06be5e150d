//! Warm pools over a reload: what is kept, and what is ready before the new front takes over.

use super::{await_idle, count, parents, pool, site, workers};
use crate::faults::{await_that, process, until};
use hostler_tests::Server;
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

fn reload(server: &Server) {
    let output = process::reload(server);
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stderr), server.console());
}

/// Reloads with a changed configuration.
fn reload_with(server: &Server, change: impl FnOnce(String) -> String) {
    let file = server.site().path("httpd.conf");
    let text = fs::read_to_string(&file).expect("the configuration");
    fs::write(&file, change(text)).expect("a configuration");
    reload(server);
}

/// Files that are as old as this are not taken for being changed while they are read.
fn settle() {
    let now = SystemTime::now();
    await_that("the clock goes on", || now.elapsed().is_ok_and(|time| time > Duration::from_millis(50)));
}

fn parent(server: &Server) -> u32 {
    until("one parent", || <[u32; 1]>::try_from(parents(server)).ok())[0]
}

/// The parent of the new generation, once that of the old one has gone.
fn next_parent(server: &Server, before: u32) -> u32 {
    await_that("the old parent has gone", || !process::runs(before));
    parent(server)
}

fn descriptors(pid: u32) -> usize {
    fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).map_or(0, Iterator::count)
}

#[test]
fn a_reload_keeps_the_parent_and_has_as_many_workers_before_the_first_request() {
    settle();
    let server = pool("StartServers 3\nMinSpareServers 1\nMaxRequestWorkers 6").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    await_idle(&server, 3);
    let (kept, old, site) = (parent(&server), workers(&server), process::named(&server, "hostler-site"));
    for _ in 0..3 {
        reload(&server);
        assert_eq!(count(&server, "idle"), 3, "before anybody has asked");
        assert_eq!(parent(&server), kept);
        assert_eq!(server.get("/w/hello").text(), "hello");
    }
    assert_eq!(process::named(&server, "hostler-site"), site);
    await_that("the workers of the old fronts end", || !old.iter().any(|pid| process::runs(*pid)));
    await_that("those of the new one stay", || workers(&server).len() == 3);
    assert_eq!(parent(&server), kept);
}

#[test]
fn what_is_loaded_from_changed_files_is_loaded_before_the_reload_takes_over() {
    let startup = "package Startup; (my $at = __FILE__) =~ s{[^/]+$}{}; open my $f, '<', $at . 'said.conf' or die; \
                   our $said = <$f>; 1;";
    let config = "PerlRequire @ROOT@/lib/startup.pl\n<Location /said>\nSetHandler modperl\nPerlResponseHandler \
                  \"sub { $_[0]->print($Startup::said); 0 }\"\n</Location>";
    let server = site(config).file("lib/said.conf", "first").file("lib/startup.pl", startup).start();
    assert_eq!(server.get("/said").text(), "first");
    settle();
    let mut before = parent(&server);
    for (file, text, said) in [
        ("lib/said.conf", "second".to_owned(), "second"),
        ("lib/startup.pl", format!("{startup} $said = 'third'; 1;"), "third"),
        ("lib/Time/HiRes.pm", "package Time::HiRes; sub sleep {} sub time {} 1;".to_owned(), "third"),
    ] {
        let path = server.site().path(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        fs::write(path, text).expect("the file");
        settle();
        reload(&server);
        assert!(count(&server, "idle") > 0, "{file}: ready before anybody has asked");
        assert_eq!(server.get("/said").text(), said);
        let after = next_parent(&server, before);
        assert_ne!(after, before, "{file}");
        before = after;
    }
}

#[test]
fn what_the_configuration_changes_for_a_pool_is_loaded_and_what_it_changes_elsewhere_is_not() {
    settle();
    let server = site("").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let before = parent(&server);
    // Lines before and after, other virtual hosts of other names, directives that no parent is told of.
    reload_with(&server, |text| format!("# A line\n\n{text}\nHeader set X-New yes\nAlias /other /nowhere\n"));
    assert_eq!((server.get("/w/hello").text().as_str(), parent(&server)), ("hello", before));
    for change in [
        "PerlSetEnv A b",
        "PerlModule POSIX",
        "PerlSwitches -w",
        "MaxConnectionsPerChild 77",
        "RLimitMEM 2000000000",
    ] {
        let before = parent(&server);
        reload_with(&server, |text| format!("{text}\n{change}\n"));
        assert!(count(&server, "idle") > 0, "{change}: ready before anybody has asked");
        assert_eq!(server.get("/w/hello").text(), "hello");
        assert_ne!(next_parent(&server, before), before, "{change}");
    }
}

#[test]
fn a_pool_of_another_virtual_host_makes_no_difference() {
    settle();
    let host = |name: &str| {
        format!("<VirtualHost *:@PORT@>\nServerName {name}\nPerlOptions +Clone\nPerlModule W\n</VirtualHost>")
    };
    let server = site(&host("last.test")).start();
    assert_eq!(server.get_with("/w/hello", "Host: last.test\r\n").text(), "hello");
    let before = parent(&server);
    let port = server.port().to_string();
    reload_with(&server, |text| {
        let at = text.find("<VirtualHost").expect("the virtual host");
        let new = host("first.test").replace("@PORT@", &port);
        format!("{}{new}\n{}", &text[..at], &text[at..])
    });
    assert_eq!(server.get_with("/w/hello", "Host: last.test\r\n").text(), "hello");
    assert_eq!(parent(&server), before);
}

#[test]
fn a_pool_that_did_not_run_is_not_started_by_a_reload() {
    let server = site("").start();
    assert_eq!(server.get("/x").text(), "x");
    reload(&server);
    assert_eq!((server.get("/x").text().as_str(), parents(&server)), ("x", vec![]));
}

#[test]
fn a_pool_that_cannot_be_loaded_any_more_does_not_keep_the_reload_from_taking_over() {
    let server = site("PerlModule Mine").file("lib/Mine.pm", "package Mine; 1;").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    fs::write(server.site().path("lib/Mine.pm"), "package Mine; die 'on purpose';").expect("the module");
    reload_with(&server, |text| format!("{text}\nHeader always set X-New yes\n"));
    let answer = server.get("/w/hello");
    assert_eq!((answer.status, answer.field("X-New")), (500, Some("yes")), "{}", answer.text());
    let _ = server.await_error("on purpose");
    fs::write(server.site().path("lib/Mine.pm"), "package Mine; 1;").expect("the module");
    await_that("it heals", || server.get("/w/hello").text() == "hello");
}

#[test]
fn many_reloads_leave_nothing_behind() {
    settle();
    let server = pool("StartServers 2\nMinSpareServers 1\nMaxRequestWorkers 4").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    reload(&server);
    let quiet = || {
        await_that("one front", || process::named(&server, "hostler-front").len() == 1);
        await_that("its workers", || workers(&server).len() == 2 && count(&server, "idle") == 2);
        let sites = process::named(&server, "hostler-site");
        let held = [server.pid(), sites[0], parent(&server), workers(&server)[0]];
        (sites, held.map(descriptors))
    };
    let before = quiet();
    for _ in 0..12 {
        reload(&server);
    }
    let after = quiet();
    assert_eq!(after.0, before.0);
    // A site's process has two descriptors for each thread of the front that has asked it for something.
    let more = after.1.iter().zip(before.1).filter(|(after, before)| **after > before + 2);
    assert_eq!(more.count(), 0, "{:?} after {:?}", after.1, before.1);
    assert_eq!(server.get("/w/hello").text(), "hello");
}

#[test]
fn a_request_at_work_is_finished_by_its_worker_while_the_parent_goes_on() {
    settle();
    let server = pool("StartServers 1\nMaxRequestWorkers 4").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let before = parent(&server);
    thread::scope(|scope| {
        let slow = scope.spawn(|| server.get("/w/nap?2").status);
        await_that("it is at work", || count(&server, "busy") == 1);
        reload(&server);
        reload(&server);
        assert_eq!(server.get("/w/hello").text(), "hello");
        assert_eq!(slow.join().expect("an answer"), 200);
    });
    assert_eq!(parent(&server), before);
}

#[test]
fn a_parent_that_is_killed_between_reloads_is_replaced() {
    let server = pool("StartServers 2\nMaxRequestWorkers 4").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let before = parent(&server);
    process::kill(before, Signal::KILL);
    reload(&server);
    assert_eq!(server.get("/w/hello").text(), "hello");
    assert_ne!(next_parent(&server, before), before);
}

#[test]
fn a_parent_that_does_not_answer_costs_its_own_pool_a_while() {
    let server = pool("StartServers 1\nMaxRequestWorkers 4\nHostlerQueueTimeout 60").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let before = parent(&server);
    process::kill(before, Signal::STOP);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(server.get("/x").text(), "x");
            }
        });
        reload(&server);
        assert_eq!(server.get("/w/hello").text(), "hello");
        done.store(true, Ordering::Relaxed);
    });
    process::kill(before, Signal::CONT);
    next_parent(&server, before);
}

#[test]
fn a_start_up_file_that_takes_for_ever_does_not_keep_the_reload_from_taking_over() {
    let server = site("PerlModule Mine").file("lib/Mine.pm", "package Mine; 1;").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    fs::write(server.site().path("lib/Mine.pm"), "package Mine; sleep 600; 1;").expect("the module");
    reload_with(&server, |text| format!("{text}\nHeader always set X-New yes\n"));
    let answer = server.get("/x");
    assert_eq!((answer.text().as_str(), answer.field("X-New")), ("x", Some("yes")));
}

#[test]
fn a_site_s_process_that_does_not_answer_does_not_keep_the_reload_from_taking_over() {
    let server = site("").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let (before, stuck) = (parent(&server), process::named(&server, "hostler-site")[0]);
    process::kill(stuck, Signal::STOP);
    reload(&server);
    // Whoever needs it waits until it is given up, and gets another one.
    assert_eq!(server.get("/w/hello").status, 503);
    await_that("another one serves", || server.get("/w/hello").text() == "hello");
    await_that("it is killed, and its programs with it", || !process::runs(stuck) && !process::runs(before));
}

#[test]
fn pools_with_a_process_for_each_request_are_kept_too() {
    settle();
    let server = pool("Isolation fork\nStartServers 3\nMaxRequestWorkers 8").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let before = parent(&server);
    for _ in 0..3 {
        reload(&server);
        assert!(count(&server, "idle") >= 3);
        assert_eq!(server.get("/w/hello").text(), "hello");
        assert_eq!(parent(&server), before);
    }
}
