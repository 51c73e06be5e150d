//! Hostler as a service of systemd's: what it tells the manager, and the unit that comes with it.

use crate::faults::process;
use hostler_tests::Site;
use rustix::process::Signal;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Waits until the manager has been told this.
fn told(manager: &UnixDatagram, word: &str) -> String {
    loop {
        let mut bytes = [0; 500];
        let n = manager.recv(&mut bytes).unwrap_or_else(|e| panic!("the manager is not told {word}: {e}"));
        let text = String::from_utf8_lossy(&bytes[..n]).into_owned();
        if text.lines().any(|line| line == word) {
            return text;
        }
    }
}

#[test]
fn the_service_manager_is_told_of_start_reload_life_and_end() {
    let site = Site::new().file("htdocs/x", "x");
    let socket = site.path("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
    let site = site.environment("NOTIFY_SOCKET", "@ROOT@/notify").environment("WATCHDOG_USEC", "2000000");
    let mut server = site.start();
    assert!(told(&manager, "READY=1").contains("STATUS=generation 1 serves"));
    told(&manager, "WATCHDOG=1");
    assert!(process::reload(&server).status.success());
    assert!(told(&manager, "RELOADING=1").contains("MONOTONIC_USEC="));
    assert!(told(&manager, "READY=1").contains("STATUS=generation 2 serves"));
    server.signal(Signal::TERM);
    told(&manager, "STOPPING=1");
    assert!(server.await_end().success());
}

#[test]
fn the_unit_is_one_that_systemd_takes() {
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        return hostler_tests::skipped(module_path!(), "systemd-analyze is not installed");
    }
    let unit = include_str!("../../packaging/hostler.service");
    let site = Site::new().file("hostler.service", unit.replace("@PREFIX@/bin/hostler", "/bin/true"));
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no"])
        .arg(site.path("hostler.service"))
        .output()
        .expect("systemd-analyze runs");
    let said = String::from_utf8_lossy(&verified.stderr);
    let about_it: Vec<&str> = said.lines().filter(|line| line.contains("hostler.service")).collect();
    assert!(about_it.is_empty(), "{about_it:?}");
}
