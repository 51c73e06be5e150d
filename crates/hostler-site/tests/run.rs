//! Running programs: what a program gets, and each reason why one is not started.

#![allow(clippy::unwrap_used)]

mod client;

use client::*;
use hostler_sys::limits::{Bounds, Limit};
use hostler_wire::site::{Exit, Limits, Program, Run, RunError};
use serde_bytes::ByteBuf;
use std::os::fd::AsFd;
use std::path::Path;

const ENOEXEC: i32 = 8;

fn bytes(texts: &[&str]) -> Vec<ByteBuf> {
    texts.iter().map(|text| ByteBuf::from(*text)).collect()
}

#[test]
fn a_script_gets_its_path_its_arguments_and_its_directory() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("cgi");
    let path =
        tree.executable("cgi/show", "#!/bin/sh -e\npwd; printf '<%s>' \"$0\" \"$@\" >&2; exit 7\n", 0o755);
    let program =
        Program::Script { path: ByteBuf::from(path.to_str().unwrap()), args: bytes(&["a b", "", "$(c)"]) };
    let output = site.run(program).unwrap();
    assert_eq!(output.stdout, format!("{}\n", tree.path("cgi").display()));
    assert_eq!(output.stderr, format!("<{}><a b><><$(c)>", path.display()));
    assert_eq!(output.exit, Exit::Status(7));
}

#[test]
fn the_environment_is_exactly_the_one_given() {
    let (tree, mut site) = (Tree::new(), Site::start());
    // The script itself is what `cat` shows after the environment.
    let path = tree.executable("env", "#!/bin/cat /proc/self/environ\n", 0o755);
    let run = Run {
        id: 77,
        program: script(&path),
        env: bytes(&["B=2", "A=1", "EMPTY=", "B=3", "odd entry", "U=\u{e4}"]),
        suexec: true,
        no_new_privs: false,
        limits: Limits::default(),
    };
    let started = site.start_run(&run, rustix::pipe::pipe().unwrap()).unwrap();
    assert_eq!(
        site.finish(started).stdout,
        "B=2\0A=1\0EMPTY=\0B=3\0odd entry\0U=\u{e4}\0#!/bin/cat /proc/self/environ\n"
    );
}

#[test]
fn a_program_has_no_descriptors_but_the_standard_ones() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let mut site = Site::start_with(None, &[(reader.as_fd(), 4), (writer.as_fd(), 9)], &[]);
    let output = site.shell("ls /proc/self/fd");
    // `ls` has the directory itself open as 3.
    assert_eq!(output.stdout.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
}

#[test]
fn signals_group_and_umask_are_a_fresh_processs() {
    let mut site = Site::start();
    let output = site.shell("grep -E 'Sig(Blk|Ign)' /proc/self/status; umask; cat /proc/$$/stat");
    let lines: Vec<_> = output.stdout.lines().collect();
    assert!(
        lines[0].ends_with("\t0000000000000000") && lines[1].ends_with("\t0000000000000000"),
        "{lines:?}"
    );
    assert_eq!(lines[2], "0022");
    let stat: Vec<_> = lines[3].split(' ').collect();
    assert_eq!(stat[0], stat[4], "its own process group");
}

#[test]
fn input_is_streamed_while_output_is_read() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let path = tree.executable("cat", "#!/bin/cat -\n", 0o755);
    let mut started = site.start_program(script(&path)).unwrap();
    let stdin = std::fs::File::from(started.stdin.take().unwrap());
    let writer = std::thread::spawn(move || {
        let mut stdin = stdin;
        for _ in 0..100 {
            std::io::Write::write_all(&mut stdin, &[b'x'; 10_000]).unwrap();
        }
    });
    let stdout = std::mem::replace(&mut started.stdout, std::fs::File::open("/dev/null").unwrap().into());
    let output = text(stdout);
    writer.join().unwrap();
    assert!(output.starts_with("xxx") && output.len() >= 1_000_000);
    assert_eq!(site.exit_of(started.id), Exit::Status(0));
}

#[test]
fn limits_are_set_and_never_above_what_may_be() {
    let mut site = Site::start();
    let limits = Limits {
        cpu: Some((5, 9)),
        mem: Some((1 << 30, u64::MAX)),
        nproc: Some((u64::MAX, u64::MAX)),
        nice: None,
    };
    let command = ByteBuf::from("ulimit -St; ulimit -Ht; ulimit -Sv");
    let program = Program::Shell { command, directory: ByteBuf::from("/") };
    let run = Run { id: 5, program, env: vec![], suexec: true, no_new_privs: false, limits };
    let started = site.start_run(&run, rustix::pipe::pipe().unwrap()).unwrap();
    assert_eq!(site.finish(started).stdout, "5\n9\n1048576\n");
}

#[test]
fn a_signal_is_told_as_such() {
    let mut site = Site::start();
    assert_eq!(site.shell("kill -SEGV $$").exit, Exit::Signal(11));
    assert_eq!(site.shell("exit 255").exit, Exit::Status(255));
}

#[test]
fn a_shell_command_runs_in_the_documents_directory() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let directory = ByteBuf::from(tree.directory("docs").to_str().unwrap());
    let command = ByteBuf::from("pwd; echo $0 $A");
    let output = site.run(Program::Shell { command, directory }).unwrap();
    assert_eq!(output.stdout, format!("{}\n/bin/sh b\n", tree.path("docs").display()));
    let directory = ByteBuf::from("/nowhere/at/all");
    let missing = site.run(Program::Shell { command: ByteBuf::from("true"), directory });
    assert_eq!(missing.unwrap_err(), RunError::NotFound);
}

#[test]
fn binaries_and_links_run() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("cgi");
    std::fs::copy("/bin/echo", tree.path("cgi/echo")).unwrap();
    chmod(&tree.path("cgi/echo"), 0o711);
    tree.link("../cgi/echo", "cgi/link");
    for name in ["cgi/echo", "cgi/link"] {
        let path = ByteBuf::from(tree.path(name).to_str().unwrap());
        let output = site.run(Program::Script { path, args: bytes(&["hello"]) }).unwrap();
        assert_eq!((output.stdout.as_str(), output.exit), ("hello\n", Exit::Status(0)));
    }
    tree.executable("cgi/script", "#!/bin/sh\necho $0; pwd\n", 0o755);
    tree.link("cgi/script", "outside");
    let output = site.run(script(&tree.path("outside"))).unwrap();
    assert_eq!(output.stdout, format!("{}\n{}\n", tree.path("outside").display(), tree.path("").display()));
}

#[test]
fn each_way_to_be_refused_has_its_reason() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let uid = rustix::process::geteuid().as_raw();
    let hello = "#!/bin/sh\necho hello\n";
    for (name, mode) in [("plain", 0o644), ("group", 0o775), ("others", 0o757)] {
        tree.executable(name, hello, mode);
    }
    tree.directory("directory");
    tree.directory("writable");
    tree.executable("writable/cgi", hello, 0o755);
    chmod(&tree.path("writable"), 0o775);
    tree.directory("sticky");
    tree.executable("sticky/cgi", hello, 0o755);
    chmod(&tree.path("sticky"), 0o1777);
    tree.link("writable/cgi", "to-writable");
    tree.link("missing", "dangling");
    let expected = [
        ("missing", RunError::NotFound),
        ("plain/below", RunError::NotFound),
        ("dangling", RunError::NotFound),
        ("directory", RunError::NotRegular),
        ("directory/", RunError::NotRegular),
        ("plain", RunError::NotExecutable { uid, mode: 0o644 }),
        ("group", RunError::Writable { mode: 0o775 }),
        ("others", RunError::Writable { mode: 0o757 }),
        ("writable/cgi", RunError::DirectoryWritable { mode: 0o775 }),
        ("sticky/cgi", RunError::DirectoryWritable { mode: 0o1777 }),
        ("to-writable", RunError::DirectoryWritable { mode: 0o775 }),
    ];
    for (name, error) in expected {
        let path = ByteBuf::from(format!("{}/{name}", tree.path("").display()));
        assert_eq!(site.run(Program::Script { path, args: vec![] }).unwrap_err(), error, "{name}");
    }
    let fifo = tree.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o755.into(), 0).unwrap();
    assert_eq!(site.run(script(&fifo)).unwrap_err(), RunError::NotRegular);
}

#[test]
fn programs_that_exec_refuses_have_their_reason() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let interpreter = |error: RunError| match error {
        RunError::Interpreter { interpreter, hint } => (interpreter, hint),
        other => panic!("{other:?}"),
    };
    let path = tree.executable("no-shebang", "echo hello\n", 0o755);
    assert_eq!(site.run(script(&path)).unwrap_err(), RunError::Exec { errno: ENOEXEC });
    let path = tree.executable("empty", "", 0o755);
    assert_eq!(site.run(script(&path)).unwrap_err(), RunError::Exec { errno: ENOEXEC });
    let path = tree.executable("crlf", "#!/bin/sh\r\necho hello\r\n", 0o755);
    let (name, hint) = interpreter(site.run(script(&path)).unwrap_err());
    assert_eq!((name.as_str(), hint.contains("CRLF")), ("/bin/sh\r", true));
    let path = tree.executable("missing", "#!/opt/none/perl -w\n", 0o755);
    let (name, hint) = interpreter(site.run(script(&path)).unwrap_err());
    assert_eq!((name.as_str(), hint.contains("no such file")), ("/opt/none/perl", true));
    let path = tree.executable("unusable", &format!("#!{}\n", tree.path("missing2").display()), 0o755);
    tree.executable("missing2", "#!/bin/sh\n", 0o644);
    assert!(interpreter(site.run(script(&path)).unwrap_err()).1.contains("may not execute"));
    let path = tree.executable("nameless", "#!\n", 0o755);
    assert_eq!(interpreter(site.run(script(&path)).unwrap_err()).0, "");
    assert_eq!(site.shell("echo still alive").stdout, "still alive\n");
}

#[test]
fn too_much_environment_is_told_as_such() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let path = tree.executable("cgi", "#!/bin/sh\n", 0o755);
    let env = (0..100).map(|n| ByteBuf::from(format!("V{n}={}", "x".repeat(100_000)))).collect();
    let run = Run {
        id: 9,
        program: script(&path),
        env,
        suexec: true,
        no_new_privs: false,
        limits: Limits::default(),
    };
    let error = site.start_run(&run, rustix::pipe::pipe().unwrap()).err();
    assert_eq!(error, Some(RunError::TooLarge));
    let env = bytes(&["A=b\0C=d"]);
    let run = Run {
        id: 10,
        program: script(&path),
        env,
        suexec: true,
        no_new_privs: false,
        limits: Limits::default(),
    };
    let error = site.start_run(&run, rustix::pipe::pipe().unwrap()).err();
    assert_eq!(error, Some(RunError::Exec { errno: EINVAL }));
}

#[test]
fn only_the_sites_user_and_root_may_own_a_program() {
    if !is_root() {
        return;
    }
    let tree = Tree::new();
    tree.directory("cgi");
    for (name, uid) in [("own", 4711), ("root", 0), ("strange", 4712)] {
        chown(&tree.executable(&format!("cgi/{name}"), "#!/bin/sh\nid -u\n", 0o755), uid);
    }
    std::fs::hard_link(tree.path("cgi/strange"), tree.path("cgi/hard")).unwrap();
    chown(&tree.link("strange", "cgi/link"), 4711);
    let mut site = Site::start_as(Some(4711));
    for name in ["cgi/own", "cgi/root"] {
        assert_eq!(site.run(script(&tree.path(name))).unwrap().stdout, "4711\n");
    }
    let wrong = RunError::WrongOwner { owner: 4712, uid: 4711 };
    for name in ["cgi/strange", "cgi/hard", "cgi/link"] {
        assert_eq!(site.run(script(&tree.path(name))).unwrap_err(), wrong, "{name}");
    }
    let path = tree.executable("cgi/private", "#!/bin/sh\n", 0o700);
    assert_eq!(site.run(script(&path)).unwrap_err(), RunError::NotExecutable { uid: 4711, mode: 0o700 });
    chmod(&tree.directory("closed"), 0o700);
    let closed = tree.executable("closed/cgi", "#!/bin/sh\n", 0o755);
    assert_eq!(site.run(script(&closed)).unwrap_err(), RunError::Exec { errno: EACCES });
}

#[test]
fn a_program_may_be_set_to_whom_it_would_run_as_anyway() {
    if !is_root() {
        return;
    }
    let tree = Tree::new();
    let mut site = Site::start_as(Some(4711));
    let group = site.shell("id -g").stdout.trim().parse().unwrap();
    for (owner, group, mode, runs) in [
        (4711, group, 0o4755, true),
        (4711, group, 0o6755, true),
        (0, group, 0o4755, false),
        (0, group, 0o2755, true),
        (4711, group + 1, 0o2755, false),
        (4711, group + 1, 0o6755, false),
    ] {
        let path = tree.executable("program", "#!/bin/sh\nid -u\n", 0o755);
        std::os::unix::fs::chown(&path, Some(owner), Some(group)).unwrap();
        chmod(&path, mode);
        let outcome = site.run(script(&path)).map(|output| output.stdout);
        let expected = if runs { Ok("4711\n".to_owned()) } else { Err(RunError::SetId { mode }) };
        assert_eq!(outcome, expected, "{owner} {group} {mode:o}");
    }
}

#[test]
fn a_program_that_may_be_executed_but_not_read_runs() {
    if !is_root() {
        return;
    }
    let tree = Tree::new();
    std::fs::copy("/bin/echo", tree.path("echo")).unwrap();
    chmod(&tree.path("echo"), 0o711);
    let mut site = Site::start_as(Some(4711));
    assert_eq!(site.run(script(&tree.path("echo"))).unwrap().stdout, "\n");
    let path = tree.executable("script", "#!/bin/sh\necho never\n", 0o711);
    let output = site.run(script(&path)).unwrap();
    assert!(output.stderr.contains("ermission denied"), "{output:?}");
}

#[test]
fn a_user_with_too_many_processes_is_told_so() {
    if !is_root() {
        return;
    }
    let limit = (Limit::Processes, Bounds { soft: Some(1), hard: Some(1) });
    let mut site = Site::start_with(Some(47_110), &[], &[limit]);
    let (tree, again) = (Tree::new(), 11);
    let path = tree.executable("cgi", "#!/bin/sh\n", 0o755);
    assert_eq!(site.run(script(&path)).unwrap_err(), RunError::Fork { errno: again });
    assert!(site.walk(Path::new("/")).0.stopped.is_none());
}

#[test]
fn an_engine_is_run_as_it_was_passed_and_no_other() {
    let ourselves = std::fs::File::open(env!("CARGO_BIN_EXE_hostler-site")).unwrap();
    let mut site = Site::start_with(None, &[(ourselves.as_fd(), 5)], &[]);
    for name in ["", "../../bin/sh", "Perl", "no-such-engine", "site", "perl\0"] {
        let refused = site.run(parent(name, "pool", 1, false)).unwrap_err();
        assert_eq!(refused, RunError::NotFound, "{name}");
    }
    // What was passed is this program: without a socket at descriptor 3 it ends at once.
    let output = site.run(parent("perl", "pool", 1, false)).unwrap();
    assert_eq!(output.exit, Exit::Status(1));
    let missing = Site::start().run(parent("perl", "pool", 1, false));
    assert_eq!(missing.unwrap_err(), RunError::NotFound, "none was passed");
}
