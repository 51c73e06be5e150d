//! The life of the engine's processes: what is loaded, how workers come and go.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod front;

use front::{Engine, LONG, code, directory, request, setup};
use hostler_perl_frames::Phase;
use hostler_perl_frames::{Preload, PreloadKind, Setup};
use hostler_wire::site::Exit;
use rustix::process::{Pid, Signal};
use std::time::{Duration, Instant};

const HELLO: &str = "sub main::h { $_[0]->print(\"Hello $$\"); 0 }";
const SLOW: &str = "sub main::h { $_[0]->print('begun'); $_[0]->rflush; select undef, undef, undef, 0.3; \
                    select undef, undef, undef, 0.3; $_[0]->print(' ended'); 0 }";

fn hello() -> hostler_perl_frames::Directory {
    directory(&[(Phase::Response, &["main::h"])])
}

fn failure(preload: Preload) -> String {
    let setup = Setup { generation: 2, preload: vec![preload], ..Setup::default() };
    Engine::start(setup).err().expect("it should not be ready")
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn command_line(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8(line).unwrap().trim_end_matches('\0').to_owned()
}

#[test]
fn what_cannot_be_loaded_is_told_in_perls_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("startup.pl");
    std::fs::write(&file, "my $x = ;\n").unwrap();
    let preload = |kind, text: &str| Preload {
        kind,
        text: text.into(),
        origin: "httpd.conf:12".into(),
        configured: false,
    };
    let why = failure(preload(PreloadKind::File, file.to_str().unwrap()));
    assert!(why.starts_with("httpd.conf:12: PerlRequire "), "{why}");
    assert!(why.contains("syntax error at") && why.contains("startup.pl line 1"), "{why}");
    let why = failure(preload(PreloadKind::Module, "No::Such"));
    assert!(why.contains("httpd.conf:12: PerlModule No::Such: Can't locate No/Such.pm in @INC"), "{why}");
    let why = failure(preload(PreloadKind::Module, "system 'true'"));
    assert!(why.contains("not the name of a module"), "{why}");
    let why = failure(preload(PreloadKind::Code, "\ndie 'here'"));
    assert!(why.contains("here at httpd.conf line 13"), "{why}");
    let why = failure(code("exit 3"));
    assert!(why.contains("it called exit"), "{why}");
}

#[test]
fn late_things_are_loaded_last() {
    let mut late = setup("push @main::order, 'code'");
    let call = Preload {
        kind: PreloadKind::LateCall,
        text: "main::late".into(),
        origin: "test.conf:1".into(),
        configured: false,
    };
    late.preload.insert(0, call);
    late.preload.push(code("sub main::late { push @main::order, 'late'; 0 } push @main::order, 'more'"));
    late.preload.push(code("sub main::h { $_[0]->print(join ',', @main::order); 0 }"));
    let mut engine = Engine::start(late).unwrap();
    assert_eq!(engine.fork().ask_in(&hello(), request("modperl"), b"").body, "code,more,late");
}

#[test]
fn workers_are_named_and_confined() {
    let mut engine = Engine::start(setup(HELLO)).unwrap();
    let worker = engine.fork();
    let deadline = Instant::now() + LONG;
    while !command_line(worker.pid).ends_with("worker") && Instant::now() < deadline {
        // Time: looks again.
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(command_line(worker.pid), "hostler-perl: test worker");
    assert_eq!(command_line(engine.child.id()), "hostler-perl: test");
    let status = std::fs::read_to_string(format!("/proc/{}/status", worker.pid)).unwrap();
    assert!(status.contains("Name:\thostler-perl"), "{status}");
}

#[test]
fn a_worker_has_no_descriptors_but_its_own() {
    let list = "sub main::h { opendir my $d, '/proc/self/fd'; my @all = grep /^\\d+$/, readdir $d; \
                $_[0]->print(join ' ', map { readlink(\"/proc/self/fd/$_\") // 'gone' } sort { $a <=> $b } @all); 0 }";
    let mut engine = Engine::start(setup(list)).unwrap();
    let first = engine.fork();
    let answer = engine.fork().ask_in(&hello(), request("modperl"), b"");
    let kinds: Vec<&str> = answer.body.split(' ').map(|name| name.split(':').next().unwrap()).collect();
    // Standard input, output and error, the front's bell, and the folder that is being listed.
    assert_eq!(kinds[..3], ["/dev/null", "pipe", "pipe"], "{}", answer.body);
    let others = kinds[3..].iter().filter(|kind| **kind != "anon_inode" && !kind.starts_with("/proc/"));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&&str>::new(), "{}", answer.body);
    drop(first);
}

#[test]
fn workers_go_after_their_share_of_requests() {
    let mut limited = setup(HELLO);
    limited.max_requests = 2;
    let mut engine = Engine::start(limited).unwrap();
    let mut worker = engine.fork();
    assert!(!worker.ask_in(&hello(), request("modperl"), b"").exits);
    assert!(worker.ask_in(&hello(), request("modperl"), b"").exits);
    assert_eq!(engine.exit_of(&worker), Exit::Status(0));
}

#[test]
fn a_one_shot_worker_serves_once_and_runs_end_blocks() {
    let mut single = setup("sub main::h { $_[0]->print(rand); 0 } END { print STDERR 'end block' }");
    single.one_shot = true;
    single.child_exit = vec!["sub { print STDERR 'child exit, '; 0 }".into()];
    let mut engine = Engine::start(single).unwrap();
    let (mut one, mut other) = (engine.fork(), engine.fork());
    let first = one.ask_in(&hello(), request("modperl"), b"");
    assert!(first.exits);
    assert_eq!(engine.exit_of(&one), Exit::Status(0));
    assert_eq!(one.stderr(), "child exit, end block");
    let second = other.ask_in(&hello(), request("modperl"), b"");
    assert_ne!(first.body, second.body, "each worker draws its own random numbers");
}

#[test]
fn child_init_runs_in_each_worker() {
    let mut with_init =
        setup("sub main::init { $main::pid = $$; 0 } sub main::h { $_[0]->print($main::pid); 0 }");
    with_init.child_init = vec!["main::init".into()];
    let mut engine = Engine::start(with_init).unwrap();
    let mut worker = engine.fork();
    assert_eq!(worker.ask_in(&hello(), request("modperl"), b"").body, worker.pid.to_string());
}

#[test]
fn a_killed_worker_is_reported() {
    let mut engine = Engine::start(setup(HELLO)).unwrap();
    let worker = engine.fork();
    engine.kill(worker.id);
    assert_eq!(engine.exit_of(&worker), Exit::Signal(9));
}

#[test]
fn sigterm_lets_a_request_end() {
    let mut engine = Engine::start(setup(SLOW)).unwrap();
    let mut worker = engine.fork();
    worker.begin(&hello(), request("modperl"));
    while !worker.is_taken() {
        std::thread::yield_now();
    }
    signal(worker.pid, Signal::TERM);
    let answer = worker.end();
    assert_eq!((answer.body.as_str(), answer.exits), ("begun ended", true));
    assert_eq!(engine.exit_of(&worker), Exit::Status(0));
}

#[test]
fn sigterm_ends_an_idle_worker() {
    let mut engine = Engine::start(setup(HELLO)).unwrap();
    let (worker, other) = (engine.fork(), engine.fork());
    signal(worker.pid, Signal::TERM);
    assert_eq!(engine.exit_of(&worker), Exit::Status(0));
    engine.retire(other.id);
    assert_eq!(engine.exit_of(&other), Exit::Status(0));
}

#[test]
fn everything_ends_when_the_front_hangs_up() {
    let mut engine = Engine::start(setup(HELLO)).unwrap();
    let workers = [engine.fork(), engine.fork()];
    assert!(engine.hang_up().success());
    for worker in workers {
        assert!(!std::path::Path::new(&format!("/proc/{}", worker.pid)).exists());
    }
}

#[test]
fn workers_end_with_their_parent() {
    let mut engine = Engine::start(setup(HELLO)).unwrap();
    let worker = engine.fork();
    engine.child.kill().unwrap();
    engine.child.wait().unwrap();
    let deadline = Instant::now() + LONG;
    while !command_line(worker.pid).is_empty() {
        assert!(Instant::now() < deadline, "the worker lives on");
        // Time: looks again.
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn child_terminate_ends_the_worker_after_the_request() {
    let mut engine = Engine::start(setup(
        "use Apache2::RequestUtil; sub main::h { $_[0]->child_terminate; $_[0]->print('last'); 0 }",
    ))
    .unwrap();
    let mut worker = engine.fork();
    let answer = worker.ask_in(&hello(), request("modperl"), b"");
    assert_eq!((answer.body.as_str(), answer.exits), ("last", true), "{answer:?}");
    assert_eq!(engine.exit_of(&worker), Exit::Status(0));
}

#[test]
fn environment_and_includes_are_mod_perls() {
    let folder = tempfile::tempdir().unwrap();
    let mut own =
        setup("sub main::h { $_[0]->print(join ' ', @ENV{qw(MOD_PERL MOD_PERL_API_VERSION OWN)}, @INC); 0 }");
    std::fs::create_dir_all(folder.path().join("lib/perl")).unwrap();
    own.server_root = folder.path().to_str().unwrap().to_owned();
    own.env = vec![("OWN".into(), "yes".into())];
    let mut engine = Engine::start(own).unwrap();
    let body = engine.fork().ask_in(&hello(), request("modperl"), b"").body;
    assert!(body.starts_with("mod_perl/2.0.12 2 yes /"), "only folders, as under mod_perl: {body}");
    assert!(!body.contains("CODE("), "{body}");
    let root = folder.path().display();
    assert!(body.ends_with(&format!("{root} {root}/lib/perl")), "{body}");
}

#[test]
fn switches_are_perls_own() {
    let mut strict = setup("sub main::h { $_[0]->print($^W, ${^TAINT}, $INC{'Carp.pm'} ? 1 : 0); 0 }");
    strict.switches = vec!["-w".into(), "-T".into(), "-MCarp".into()];
    let mut engine = Engine::start(strict).unwrap();
    assert_eq!(engine.fork().ask_in(&hello(), request("modperl"), b"").body, "111");
    let mut wrong = setup("1");
    wrong.switches = vec!["-MNo::Such".into()];
    let why = Engine::start(wrong).err().expect("it should not start");
    assert!(why.contains("PerlSwitches"), "{why}");
}
