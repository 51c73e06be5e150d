//! The cost of a response in system calls.

use super::faults::faulty;
use hostler_tests::needs_program;
use std::fs;

/// Calls of write(2) that a process has made.
fn writes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("syscw: "));
    line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn an_answer_leaves_the_virtual_machine_in_one_piece() {
    needs_java!();
    const REQUESTS: u64 = 200;
    let server = faulty("").start();
    let said = server.get("/shop/do/user").text();
    let pid = said.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a process id");
    let before = writes(pid);
    for _ in 0..REQUESTS {
        assert_eq!(server.get("/shop/do/plain").text(), "plain", "{}", server.error_log());
    }
    // Tomcat's own AJP takes three of each: head, body and end.
    let each = (writes(pid) - before) as f64 / REQUESTS as f64;
    assert!(each < 2.0, "{each} for each answer");
}
