//! Launches; more of what a program gets is tested through the site process.

use super::*;
use crate::process::{ExitCause, wait};
use std::os::fd::AsFd;

struct Case {
    name: &'static CStr,
    args: Vec<&'static str>,
    limits: Vec<(Limit, Bounds)>,
}

fn strings(texts: &[&str]) -> Strings {
    let mut strings = Strings::default();
    texts.iter().for_each(|text| strings.push(text.as_bytes()).unwrap());
    strings
}

fn launch(case: &Case, working: BorrowedFd<'_>) -> Result<(ExitCause, String), LaunchError> {
    let (reader, writer) = std::io::pipe().unwrap();
    let null = std::fs::File::open("/dev/null").unwrap();
    let launch = Launch {
        directory: None,
        name: case.name,
        fallback: None,
        args: &strings(&case.args),
        env: &strings(&["A=b"]),
        working,
        standard: [null.as_fd(), writer.as_fd(), writer.as_fd()],
        fourth: None,
        limits: &case.limits,
        nice: None,
        no_new_privs: false,
    };
    let pid = Launcher::new().launch(&launch)?;
    drop(writer);
    let output = std::io::read_to_string(reader).unwrap();
    Ok((wait(pid).unwrap(), output))
}

fn shell(command: &'static str) -> Case {
    Case { name: c"/bin/sh", args: vec!["sh", "-c", command], limits: vec![] }
}

#[test]
fn a_program_runs_where_and_with_what_it_was_told() {
    let root = std::fs::File::open("/").unwrap();
    let (ended, output) = launch(&shell("pwd; echo $A; exit 3"), root.as_fd()).unwrap();
    assert_eq!((ended, output.as_str()), (ExitCause::Status(3), "/\nb\n"));
}

#[test]
fn failures_say_where_they_were() {
    let root = std::fs::File::open("/").unwrap();
    let missing = Case { name: c"/none", args: vec!["x"], limits: vec![] };
    assert_eq!(launch(&missing, root.as_fd()).unwrap_err(), LaunchError::Exec(libc::ENOENT));
    let file = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(launch(&shell("true"), file.as_fd()).unwrap_err(), LaunchError::Setup(libc::ENOTDIR));
}

#[test]
fn limits_are_cut_to_the_hard_one() {
    let root = std::fs::File::open("/").unwrap();
    let endless = Bounds { soft: Some(50), hard: None };
    let case = Case { limits: vec![(Limit::Descriptors, endless)], ..shell("ulimit -Sn; ulimit -Hn") };
    let hard = current(Limit::Descriptors).hard.unwrap();
    assert_eq!(launch(&case, root.as_fd()).unwrap().1, format!("50\n{hard}\n"));
}

#[test]
fn a_string_with_nul_is_refused() {
    let mut strings = Strings::with_capacity(10);
    assert_eq!(strings.push(b"a\0b"), Err(HasNul));
    assert_eq!(strings.pointers().len(), 1);
}

#[test]
fn an_inherited_descriptor_is_given_out_once() {
    assert!(inherited(2).is_err() && inherited(32).is_err() && inherited(-1).is_err());
    // Nothing was passed to this test as 31.
    assert!(inherited(31).is_err());
}
