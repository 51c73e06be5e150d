//! A front, or one thread of it, that stands still: the master notices, says where, and puts another in its place.

use super::{await_that, process, site_with};
use hostler_tests::Server;
use rustix::process::Signal;
use std::fs;
use std::process::{Child, Command, Stdio};

/// Stops one thread of another process for good, as a thread is that waits for something that never comes. Prints a line
/// when it stands.
const STOPPER: &str = r#"#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
    int thread = count > 1 ? atoi(words[1]) : 0;
    int status;
    if (ptrace(PTRACE_SEIZE, thread, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, thread, 0, 0) != 0
        || waitpid(thread, &status, __WALL) != thread) {
        perror("ptrace");
        return 1;
    }
    puts("it stands");
    fflush(stdout);
    pause();
    return 0;
}
"#;

/// A process that holds a thread still until it is dropped.
struct Stopper(Child);

impl Drop for Stopper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Stops the thread, or says why that can't be.
fn stop(server: &Server, thread: u32) -> Result<Stopper, String> {
    let (source, program) = (server.site().path("stop.c"), server.site().path("stop"));
    fs::write(&source, STOPPER).expect("the source is written");
    let built = Command::new("cc").arg("-o").arg(&program).arg(&source).status().expect("cc runs");
    assert!(built.success());
    let mut child = Command::new(program)
        .arg(thread.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the stopper starts");
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().expect("its output"));
    std::io::BufRead::read_line(&mut out, &mut line).expect("its output");
    let stopper = Stopper(child);
    if line == "it stands\n" { Ok(stopper) } else { Err("this user may not trace the front".into()) }
}

#[test]
fn a_front_that_is_stopped_is_replaced() {
    let server = site_with(&[]).start();
    assert_eq!(server.get("/x").text(), "x");
    let front = process::front(&server);
    process::kill(front, Signal::STOP);
    await_that("it is killed", || !process::runs(front));
    assert_eq!(server.get("/x").text(), "x");
    assert!(server.console().contains("it has given no sign of life"), "{}", server.console());
}

#[test]
fn a_thread_that_stands_still_costs_only_a_generation() {
    let server = site_with(&[]).start();
    let front = process::front(&server);
    assert_eq!(server.get("/x").text(), "x");
    let tasks = fs::read_dir(format!("/proc/{front}/task")).expect("its threads");
    let tasks = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let served = |thread: &u32| {
        let name = fs::read_to_string(format!("/proc/{front}/task/{thread}/comm")).unwrap_or_default();
        name.starts_with("front-") && name.trim() != "front-watch"
    };
    // On a machine with one processor there is only the first thread.
    let thread = tasks.filter(served).last().unwrap_or(front);
    let stopper = match stop(&server, thread) {
        Ok(stopper) => stopper,
        Err(why) => return hostler_tests::skipped(module_path!(), &why),
    };
    await_that("a new generation serves", || server.console().contains("generation 2 serves"));
    let said = format!("thread {thread} of the front of generation 1 (pid {front}) stands still");
    assert!(server.console().contains(&said), "{}", server.console());
    // As long as it listens, the old front may have taken connections with the thread that stands.
    await_that("the old front is gone", || !process::runs(front));
    drop(stopper);
    await_that("all is served", || server.get("/x").text() == "x");
}
