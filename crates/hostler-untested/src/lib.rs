//! Reports that a test has not tested anything, and why: on standard error, past the capture of the test runner, and as
//! a line of the file that [`FILE`] names, from which `cargo xtask test` prints a summary at its end. A test that
//! cannot run here passes, but never silently.
//!
//! For tests only, of every layer; so it has no dependencies.

pub mod http;
pub mod wait;

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::panic::Location;
use std::path::Path;

/// The variable that names the file.
pub const FILE: &str = "HOSTLER_NOT_TESTED";

/// Says that the running test, or a part of it, can't be had here.
#[track_caller]
pub fn untested(why: impl Display) {
    let place = Location::caller();
    let thread = std::thread::current();
    // With one thread for all tests there is no name of the test's.
    match thread.name().filter(|name| *name != "main") {
        Some(test) => not_tested(test, &why.to_string()),
        None => not_tested(&format!("{}:{}", place.file(), place.line()), &why.to_string()),
    }
}

/// Says that `what` was not tested.
pub fn not_tested(what: &str, why: &str) {
    let (what, why) = (on_one_line(what), on_one_line(why));
    // Nowhere to report a failing stderr to; and who names a file sees that it is not there.
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {what}: {why}");
    if let Some(file) = std::env::var_os(FILE) {
        // One write, so that lines of tests at the same time stay whole.
        let line = format!("{why}\t{what}\n");
        let _ = OpenOptions::new()
            .append(true)
            .create(true)
            .open(file)
            .and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the contents of a file by reason: each reason with the tests that it kept from running.
#[must_use]
pub fn told(file: &Path) -> Vec<(String, Vec<String>)> {
    let mut text = String::new();
    if let Ok(mut file) = std::fs::File::open(file) {
        let _ = file.read_to_string(&mut text);
    }
    let mut lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('\t')).collect();
    lines.sort_unstable();
    lines.dedup();
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (why, what) in lines {
        match reasons.last_mut().filter(|(last, _)| last == why) {
            Some((_, tests)) => tests.push(what.to_owned()),
            None => reasons.push((why.to_owned(), vec![what.to_owned()])),
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_tested_is_told_by_reason() {
        let file = std::env::temp_dir().join(format!("hostler-untested-{}", std::process::id()));
        std::fs::write(&file, "no b\tone\nno a\ttwo\nno b\tthree\nno b\tone\nbroken\n").unwrap();
        let told = told(&file);
        std::fs::remove_file(&file).unwrap();
        let reason = |why: &str, tests: &[&str]| {
            (why.to_owned(), tests.iter().map(|test| (*test).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(told, [reason("no a", &["two"]), reason("no b", &["one", "three"])]);
    }

    #[test]
    fn a_reason_of_several_lines_is_one_line() {
        assert_eq!(on_one_line("a\n\tb  c"), "a b c");
    }

    #[test]
    fn no_file_means_that_all_was_tested() {
        assert!(told(Path::new("/no/such/file")).is_empty());
    }
}
