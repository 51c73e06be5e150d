//! The processes of a running server, as `/proc` shows them.

use hostler_tests::{Server, hostler};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::{Command, Output};

/// Processes of the server by the name of their program (`hostler-front`, `hostler-site`).
pub(crate) fn named(server: &Server, name: &str) -> Vec<u32> {
    let mut found = children(server.pid());
    found.retain(|pid| command_line(*pid).starts_with(name));
    found
}

/// The only front, or the one of the newest generation after a reload.
pub(crate) fn front(server: &Server) -> u32 {
    let generation = |pid: &u32| command_line(*pid).rsplit("generation").next()?.trim().parse::<u32>().ok();
    super::until("a front", || named(server, "hostler-front").into_iter().max_by_key(generation))
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Arguments, joined by spaces; empty when the process is gone.
pub(crate) fn command_line(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

/// Returns whether it runs (a zombie does not).
pub(crate) fn runs(pid: u32) -> bool {
    status(pid, "State").is_some_and(|state| !state.starts_with('Z'))
}

/// A line of `/proc/PID/status`, such as `VmRSS` or `Uid`.
pub(crate) fn status(pid: u32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(known, _)| *known == name).map(|(_, value)| value.trim().to_owned())
}

/// Memory that a process has in use, in kilobytes.
pub(crate) fn resident(pid: u32) -> u64 {
    let text = status(pid, "VmRSS").unwrap_or_default();
    text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Processor time used so far, in hundredths of a second.
pub(crate) fn ticks(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = text.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

pub(crate) fn kill(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Whoever cares looks whether it is gone.
        let _ = kill_process(pid, signal);
    }
}

/// `hostler reload`, which ends when the new generation serves.
pub(crate) fn reload(server: &Server) -> Output {
    super::await_that("the PidFile", || server.site().path("hostler.pid").exists());
    let file = server.site().path("httpd.conf");
    Command::new(hostler()).arg("reload").arg("-f").arg(file).output().expect("hostler runs")
}
