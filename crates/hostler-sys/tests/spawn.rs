//! The inheritance of a spawned child. The children are shells that report about themselves.
//!
//! Tests that change identity need root; without it they say so and pass.
#![allow(clippy::unwrap_used)]

use hostler_sys::limits::{Bounds, Limit};
use hostler_sys::process::{self, ExitCause, Identity, Program, Spawn, SpawnError};
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

/// A number that no other test or person on the machine is likely to run as.
const NOBODY_ELSE: u32 = 64_881;

struct Child {
    script: &'static str,
    identity: Option<Identity>,
    limits: Vec<(Limit, Bounds)>,
    no_new_privs: bool,
}

impl Child {
    fn new(script: &'static str) -> Self {
        Self { script, identity: None, limits: Vec::new(), no_new_privs: false }
    }

    fn run_with(&self, more: &[(BorrowedFd<'_>, RawFd)]) -> Result<String, SpawnError> {
        let program = Program::open(Path::new("/bin/sh")).unwrap();
        let args = ["sh", "-c", self.script].map(|s| CString::new(s).unwrap());
        let null = File::open("/dev/null").unwrap();
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let mut fds = vec![(null.as_fd(), 0), (writer.as_fd(), 1), (writer.as_fd(), 2)];
        fds.extend_from_slice(more);
        let pid = process::spawn(&Spawn {
            program: &program,
            args: &args,
            env: &[c"PATH=/usr/bin:/bin".to_owned()],
            fds: &fds,
            identity: self.identity.as_ref(),
            group: None,
            limits: &self.limits,
            directory: Some(c"/"),
            no_new_privs: self.no_new_privs,
            dies_with_parent: true,
            own_session: false,
        })?;
        drop(writer);
        let mut said = String::new();
        File::from(reader).read_to_string(&mut said).unwrap();
        process::wait(pid).unwrap();
        Ok(said)
    }

    fn run(&self) -> Result<String, SpawnError> {
        self.run_with(&[])
    }
}

fn identity(groups: &[u32]) -> Identity {
    Identity { uid: NOBODY_ELSE, gid: NOBODY_ELSE, groups: groups.to_vec() }
}

fn root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        hostler_untested::not_tested(test, "it changes users, which takes root");
    }
    root
}

#[test]
fn inherits_exactly_the_named_descriptors() {
    let extra = File::open("/etc/passwd").unwrap();
    // Held open without close-on-exec, as a careless library would.
    let careless: Vec<OwnedFd> =
        (0..3).map(|_| rustix::io::dup(File::open("/etc/group").unwrap()).unwrap()).collect();
    // Without a glob, which would open the directory itself.
    let script = "n=0; while [ $n -lt 400 ]; do [ -e /proc/$$/fd/$n ] && echo $n; n=$((n+1)); done";
    let said = Child::new(script).run_with(&[(extra.as_fd(), 7)]).unwrap();
    drop(careless);
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "7"]);
}

#[test]
fn inherits_no_environment_and_no_ignored_signals() {
    let said = Child::new("env | sort; grep -E 'Sig(Ign|Blk)' /proc/self/status").run().unwrap();
    assert!(!said.contains("CARGO"), "{said}");
    assert!(said.contains("PATH=/usr/bin:/bin"), "{said}");
    // Signals 32 and 33 belong to the C library, which lets nobody set them.
    let set = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    let sets: Vec<u64> = said.lines().filter(|line| line.starts_with("Sig")).filter_map(set).collect();
    assert_eq!(sets.iter().map(|set| set & !(3 << 31)).collect::<Vec<_>>(), [0, 0], "{said}");
}

#[test]
fn becomes_the_identity_whole() {
    if !root("becomes_the_identity_whole") {
        return;
    }
    let mut child = Child::new("grep -E '^(Uid|Gid|Groups|Cap(Prm|Eff|Bnd)|NoNewPrivs)' /proc/self/status");
    child.identity = Some(identity(&[]));
    child.no_new_privs = true;
    let said = child.run().unwrap().replace('\t', " ");
    assert!(said.contains("Uid: 64881 64881 64881 64881"), "{said}");
    assert!(said.contains("Gid: 64881 64881 64881 64881"), "{said}");
    assert!(said.lines().any(|line| line.trim() == "Groups:"), "{said}");
    assert_eq!(said.matches("0000000000000000").count(), 3, "{said}");
    assert!(said.contains("NoNewPrivs: 1"), "{said}");

    child.script = "id -G";
    child.identity = Some(identity(&[64_882, 64_883]));
    assert_eq!(child.run().unwrap().trim(), "64881 64882 64883");
}

#[test]
fn a_user_over_its_process_limit_gets_no_child_at_all() {
    if !root("a_user_over_its_process_limit_gets_no_child_at_all") {
        return;
    }
    let someone = Identity { uid: NOBODY_ELSE + 9, ..identity(&[]) };
    // The first process of the user is within every limit; it stays while the second is tried. Its end is that
    // of the pipe it reads.
    let (first, second) = (someone.clone(), someone);
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let (ready, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let waiting = std::thread::spawn(move || {
        let mut child = Child::new("echo here >&5; exec 5>&-; read line <&4");
        child.identity = Some(first);
        child.run_with(&[(reader.as_fd(), 4), (tell.as_fd(), 5)]).unwrap();
    });
    rustix::io::read(&ready, &mut [0; 4]).unwrap();
    let mut child = Child::new("id -u");
    child.identity = Some(second);
    child.limits = vec![(Limit::Processes, Bounds { soft: Some(0), hard: Some(0) })];
    let failed = child.run().unwrap_err();
    drop(writer);
    waiting.join().unwrap();
    assert_eq!(failed.errno, libc::EAGAIN, "{failed}");
}

#[test]
fn without_root_another_identity_fails() {
    if rustix::process::geteuid().is_root() {
        // The same, seen from a child that has given root away: its own setpriv must fail.
        let mut child = Child::new("setpriv --reuid 0 true; echo $?");
        child.identity = Some(identity(&[]));
        assert_ne!(child.run().unwrap().lines().last(), Some("0"));
        return;
    }
    let mut child = Child::new("id -u");
    child.identity = Some(identity(&[]));
    assert_eq!(child.run().unwrap_err().errno, libc::EPERM);
}

#[test]
fn a_program_that_cannot_run_is_an_error_of_the_call() {
    let program = Program::open(Path::new("/etc/passwd")).unwrap();
    let failed = process::spawn(&Spawn {
        program: &program,
        args: &[c"passwd".to_owned()],
        env: &[],
        fds: &[],
        identity: None,
        group: None,
        limits: &[],
        directory: None,
        no_new_privs: false,
        dies_with_parent: false,
        own_session: true,
    });
    assert_eq!(failed.unwrap_err(), SpawnError { step: "execve", errno: libc::EACCES });
}

#[test]
fn an_end_by_signal_is_told_apart() {
    let program = Program::open(Path::new("/bin/sh")).unwrap();
    let start = |script: &str| {
        process::spawn(&Spawn {
            program: &program,
            args: &[c"sh".to_owned(), c"-c".to_owned(), CString::new(script).unwrap()],
            env: &[],
            fds: &[],
            identity: None,
            group: None,
            limits: &[],
            directory: None,
            no_new_privs: false,
            dies_with_parent: false,
            own_session: false,
        })
        .unwrap()
    };
    assert_eq!(process::wait(start("exit 3")).unwrap(), ExitCause::Status(3));
    assert_eq!(process::wait(start("kill -9 $$")).unwrap(), ExitCause::Signal(9));
}
