//! Logs that are moved away, removed or copied while the server writes to them: no line is lost, without a reload.

use hostler_tests::{SITE_UID, Server, Site, is_root, needs_program, needs_root, until};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

const CONFIG: &str = "CustomLog logs/rotated.log \"%U\"\nMaxKeepAliveRequests 0";

/// Rotates the log as logrotate does once a day.
fn rotate(server: &Server, words: &str) {
    let at = |name: &str| server.site().path(name);
    let rule =
        format!("{} {{\n rotate 20\n daily\n missingok\n{words}\n}}\n", at("logs/rotated.log").display());
    fs::write(at("rotate.conf"), rule).expect("logrotate's configuration");
    fs::set_permissions(at("rotate.conf"), fs::Permissions::from_mode(0o644)).expect("its mode");
    let mut logrotate = Command::new("/usr/sbin/logrotate");
    logrotate.arg("--force").arg("--state").arg(at("rotate.state")).arg(at("rotate.conf"));
    let output = logrotate.output().expect("logrotate runs");
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
}

/// All rotated files and the log itself.
fn files(server: &Server) -> Vec<PathBuf> {
    let entries = fs::read_dir(server.site().path("logs")).expect("the folder of logs");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.to_string_lossy().contains("rotated.log")).collect()
}

/// How often each line is there, in all files together.
fn lines(server: &Server) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for file in files(server) {
        for line in fs::read_to_string(file).expect("a log").lines() {
            *lines.entry(line.to_owned()).or_insert(0) += 1;
        }
    }
    lines
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// Sends requests for `/0`, `/1` and so on until `enough`, and returns their number.
fn load(server: &Server, enough: &AtomicBool) -> usize {
    let mut connection = server.connect();
    let mut sent = 0;
    while !enough.load(Ordering::Relaxed) {
        connection.send(format!("GET /{sent} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        let _ = connection.response();
        sent += 1;
    }
    sent
}

/// Three rotations under load: every line is in one of the files, once.
fn no_line_is_lost(words: &str) {
    let server = Site::new().config(CONFIG).start();
    let log = server.site().path("logs/rotated.log");
    let enough = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        let sender = scope.spawn(|| load(&server, &enough));
        for _ in 0..3 {
            until("lines in the new log", || (length(&log) > 0).then_some(()));
            rotate(&server, words);
        }
        until("lines in the newest log", || (length(&log) > 0).then_some(()));
        enough.store(true, Ordering::Relaxed);
        sender.join().expect("the requests")
    });
    let expected: BTreeMap<String, usize> = (0..sent).map(|number| (format!("/{number}"), 1)).collect();
    until("all lines", || (lines(&server) == expected).then_some(()));
    assert_eq!(files(&server).len(), 4);
    assert!(!server.console().contains("generation 2"), "no reload is necessary");
}

#[test]
fn no_line_is_lost_when_logrotate_creates_the_new_log() {
    needs_program!("/usr/sbin/logrotate");
    no_line_is_lost(" create 0600\n notifempty");
}

#[test]
fn no_line_is_lost_when_the_server_creates_the_new_log() {
    needs_program!("/usr/sbin/logrotate");
    no_line_is_lost(" nocreate");
}

#[test]
fn an_empty_log_is_left_alone_and_a_truncated_one_begins_anew() {
    needs_program!("/usr/sbin/logrotate");
    let server = Site::new().config(CONFIG).start();
    let log = server.site().path("logs/rotated.log");
    rotate(&server, " notifempty\n create");
    assert_eq!(files(&server).len(), 1);
    for number in 0..3 {
        let _ = server.get(&format!("/{number}"));
        until("the line", || lines(&server).contains_key(&format!("/{number}")).then_some(()));
        rotate(&server, " copytruncate");
        assert_eq!(length(&log), 0);
    }
    let _ = server.get("/last");
    until("the line at the file's beginning", || (fs::read(&log).ok()? == b"/last\n").then_some(()));
    assert_eq!(lines(&server).len(), 4);
}

#[test]
fn a_log_that_is_removed_comes_back_with_its_mode_and_group() {
    let server = Site::new().config(CONFIG).start();
    let log = server.site().path("logs/rotated.log");
    let error_log = server.site().path("logs/error.log");
    if is_root() {
        let adm = Command::new("getent").args(["group", "adm"]).output().expect("getent runs");
        let adm =
            String::from_utf8_lossy(&adm.stdout).split(':').nth(2).map_or(0, |gid| gid.parse().unwrap());
        let first = fs::metadata(&log).expect("the log");
        assert_eq!((first.mode() & 0o7777, first.gid()), (0o640, adm), "a new log");
        chown(&log, None, Some(7)).expect("root may give the log to a group");
    }
    let group = fs::metadata(&log).expect("the log").gid();
    fs::set_permissions(&log, fs::Permissions::from_mode(0o604)).expect("its mode");
    fs::remove_file(&log).expect("the log");
    fs::rename(&error_log, server.site().path("logs/old")).expect("the error log");
    let again = until("the log again", || fs::metadata(&log).ok());
    assert_eq!((again.mode() & 0o7777, again.gid()), (0o604, group));
    until("the error log again", || fs::metadata(&error_log).ok());
    until("a line", || {
        let _ = server.get("/x");
        (length(&log) > 0).then_some(())
    });
}

#[test]
fn a_tenant_s_log_comes_back_as_the_tenant_s_and_leads_root_nowhere() {
    needs_root!();
    let config = format!(
        "<VirtualHost *>\nServerName t.test\nAssignUserID #{SITE_UID} #{SITE_UID}\n\
         CustomLog @ROOT@/home/access.log \"%U\"\n</VirtualHost>"
    );
    let site = Site::new().file("precious", "").mode("precious", 0o600);
    let server = site.dir("home").owner("home", SITE_UID).config(&config).start();
    let at = |name: &str| server.site().path(name);
    let get = |path: &str| drop(server.get_with(path, "Host: t.test\r\n"));
    let log = at("home/access.log");
    fs::rename(&log, at("home/old")).expect("the log is moved");
    until("the tenant's new log", || (fs::metadata(&log).ok()?.uid() == SITE_UID).then_some(()));
    until("a line in it", || {
        get("/one");
        (length(&log) > 0).then_some(())
    });
    fs::remove_file(&log).expect("the log");
    std::os::unix::fs::symlink(at("precious"), &log).expect("a link");
    until("the refusal", || {
        server.console().contains("access.log was moved and is not opened").then_some(())
    });
    get("/two");
    assert_eq!(length(&at("precious")), 0);
}
