//! The master with made-up children, black box: this executable is also the planner, the fronts and the sites
//! (which of them, its `argv[0]` tells), so it has a test runner of its own instead of libtest's.
//!
//! `cargo test -p hostler-master --test processes [part of a test's name]`. Tests that need root say so.
#![allow(clippy::unwrap_used)]

mod front;
mod planner;
mod server;
mod site;
mod tests;

use std::panic::catch_unwind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let name = arguments.next().unwrap_or_default();
    match name.as_str() {
        "hostler-front:" => front::main(),
        "hostler-site:" => site::main(&arguments.next().unwrap_or_default()),
        _ => match arguments.next().as_deref() {
            Some("fake-planner") => planner::main(&arguments.next().unwrap_or_default()),
            filter => run_tests(filter.filter(|filter| !filter.starts_with('-'))),
        },
    }
}

fn run_tests(filter: Option<&str>) -> ExitCode {
    let wanted = |name: &&(&str, fn())| filter.is_none_or(|filter| name.0.contains(filter));
    let mut failed = Vec::new();
    for (name, test) in tests::ALL.iter().filter(wanted) {
        let passed = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            failed.push(*name);
        }
    }
    println!("{} failed {}", failed.len(), failed.join(" "));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
