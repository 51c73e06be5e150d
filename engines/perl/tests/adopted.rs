//! A parent that works for several fronts, one after the other or at once; and when it is of no use to a further one.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod front;

use front::{Engine, LONG, code, directory, request, setup};
use hostler_perl_frames::Phase;
use hostler_perl_frames::{Preload, PreloadKind, Setup};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

const HELLO: &str = "our $loaded = $$; sub main::h { $_[0]->print(\"$loaded $$\"); 0 }";

fn hello() -> hostler_perl_frames::Directory {
    directory(&[(Phase::Response, &["main::h"])])
}

fn exists(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn await_that(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        // Time: patience.
        assert!(start.elapsed() < LONG, "waited in vain: {what}");
        // Time: looks again.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until files that were written until now are older than what is loaded next: else they might be changing.
fn settle() {
    let now = SystemTime::now();
    await_that("the clock goes on", || now.elapsed().is_ok_and(|time| time > Duration::from_millis(50)));
}

#[test]
fn fronts_have_workers_of_their_own_and_one_interpreter() {
    let mut engine = Engine::start(setup(HELLO)).unwrap();
    let mut old = engine.fork();
    let (mut next, workers) = engine.adopt().unwrap();
    assert_eq!(workers, 1, "it knows how many the pool had");
    // The same number means another worker to each.
    let mut new = next.fork();
    assert_eq!(old.id, new.id);
    let body = |worker: &mut front::Worker| worker.ask_in(&hello(), request("modperl"), b"").body;
    let (first, second) = (body(&mut old), body(&mut new));
    assert_eq!(
        (first, second),
        (format!("{0} {1}", engine.child.id(), old.pid), format!("{0} {1}", engine.child.id(), new.pid))
    );
    engine.kill(old.id);
    assert!(engine.exit_of(&old) == hostler_wire::site::Exit::Signal(9));
    assert!(exists(new.pid));
    assert_eq!(body(&mut new), format!("{} {}", engine.child.id(), new.pid));
}

#[test]
fn a_front_that_goes_takes_its_workers_and_nobody_else_s() {
    let mut engine = Engine::start(setup(HELLO)).unwrap();
    let old = engine.fork();
    let (mut next, _) = engine.adopt().unwrap();
    let mut new = next.fork();
    engine.leave_to(next);
    await_that("the worker of the front that has gone ends", || !exists(old.pid));
    new.ask_in(&hello(), request("modperl"), b"");
    assert!(exists(new.pid));
    let newer = engine.fork();
    let (_, workers) = engine.adopt().unwrap();
    assert_eq!(workers, 2);
    assert!(engine.hang_up().success());
    assert!(!exists(new.pid) && !exists(newer.pid));
}

#[test]
fn a_front_that_is_gone_waits_for_its_requests_while_another_is_served() {
    let slow = "sub main::h { select undef, undef, undef, 0.5; $_[0]->print('done'); 0 }";
    let mut engine = Engine::start(setup(slow)).unwrap();
    let mut old = engine.fork();
    let (mut next, _) = engine.adopt().unwrap();
    old.begin(&hello(), request("modperl"));
    await_that("it is at it", || old.is_taken());
    let mut new = next.fork();
    engine.leave_to(next);
    assert_eq!(new.ask_in(&hello(), request("modperl"), b"").body, "done");
    assert_eq!(old.end().body, "done");
}

#[test]
fn a_worker_has_no_descriptor_of_another_front() {
    let names = "sub main::h { my %n; $n{readlink $_ // ''}++ for </proc/$$/fd/*>; \
                 $_[0]->print(join ' ', scalar(grep /eventfd/, map { ($_) x $n{$_} } keys %n), \
                                        scalar(grep /^socket/, keys %n)); 0 }";
    let engine = Engine::start(setup(names)).unwrap();
    let (mut next, _) = engine.adopt().unwrap();
    let mut worker = next.fork();
    assert_eq!(worker.ask_in(&hello(), request("modperl"), b"").body, "1 0", "its own bell, and no socket");
}

/// Returns whether a parent that has loaded `text` (FOLDER stands for a folder of files) is still of use after
/// `change`.
fn outlives(files: &[(&str, &str)], text: &str, change: impl Fn(&Path)) -> bool {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "plugins"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    settle();
    let text = text.replace("FOLDER", folder.path().to_str().unwrap());
    let engine = Engine::start(setup(&text)).unwrap_or_else(|why| panic!("{why}"));
    assert!(engine.adopt().is_some() || text.contains("elsewhere"), "{text}");
    change(folder.path());
    engine.adopt().is_some()
}

const USES: &str = "use lib 'FOLDER/b'; use lib 'FOLDER/a'; require M;";
const M: &str = "package M; 1;";

#[test]
fn what_has_not_changed_is_not_loaded_again() {
    assert!(outlives(&[("b/M.pm", M)], USES, |_| ()));
    // What nothing depends on may change.
    assert!(outlives(&[("b/M.pm", M)], USES, |folder| fs::write(folder.join("b/N.pm"), M).unwrap()));
}

#[test]
fn a_changed_module_is_loaded_again() {
    assert!(!outlives(&[("b/M.pm", M)], USES, |folder| fs::write(folder.join("b/M.pm"), "package M; 2;")
        .unwrap()));
    // Of the same length and time, but another file.
    assert!(!outlives(&[("b/M.pm", M)], USES, |folder| {
        let (old, new) = (folder.join("b/M.pm"), folder.join("b/new"));
        fs::write(&new, M).unwrap();
        let time = fs::metadata(&old).unwrap().modified().unwrap();
        fs::File::options().write(true).open(&new).unwrap().set_modified(time).unwrap();
        fs::rename(new, old).unwrap();
    }));
    assert!(!outlives(&[("b/M.pm", M)], USES, |folder| fs::remove_file(folder.join("b/M.pm")).unwrap()));
}

#[test]
fn a_module_that_would_be_found_first_now_is_seen() {
    assert!(!outlives(&[("b/M.pm", M)], USES, |folder| fs::write(folder.join("a/M.pm"), M).unwrap()));
    let optional = "use lib 'FOLDER/a'; eval { require Optional }";
    assert!(!outlives(&[], optional, |folder| fs::write(folder.join("a/Optional.pm"), "1;").unwrap()));
}

#[test]
fn files_that_a_start_up_file_reads_are_seen() {
    for (read, file) in [
        ("open my $f, '<', 'FOLDER/conf' or die; my @x = <$f>", "conf"),
        ("open my $f, 'FOLDER/conf' or die", "conf"),
        ("open my $f, ' <  FOLDER/conf ' or die", "conf"),
        ("use Fcntl; sysopen my $f, 'FOLDER/conf', O_RDONLY or die", "conf"),
        ("do 'FOLDER/conf'", "conf"),
        ("chdir 'FOLDER'; open my $f, '<', 'conf' or die; chdir '/'", "conf"),
        ("my $has = -e 'FOLDER/local'", "local"),
        ("open my $f, '<', 'FOLDER/local'", "local"),
        ("my @s = stat 'FOLDER/conf'", "conf"),
        ("opendir my $d, 'FOLDER/plugins' or die; my @x = readdir $d", "plugins/New.pm"),
    ] {
        let change = |folder: &Path| fs::write(folder.join(file), "2;#").unwrap();
        assert!(outlives(&[("conf", "1;")], read, |_| ()), "{read}");
        assert!(!outlives(&[("conf", "1;")], read, change), "{read}");
    }
}

#[test]
fn what_comes_from_elsewhere_is_fetched_again() {
    for load in [
        "my $x = `true`",
        "system 'true'",
        "open my $p, '-|', 'true'",
        "open my $p, 'true |'",
        "my @x = <FOLDER/*>",
    ] {
        assert!(!outlives(&[], &format!("{load}; # elsewhere"), |_| ()), "{load}");
    }
    // Not what is only written, or stays in memory.
    for load in [
        "open my $f, '>>', 'FOLDER/log' or die; print $f 1",
        "open my $f, '<', \\'text'",
        "open my $f, '<&', STDIN",
    ] {
        assert!(outlives(&[], load, |folder| fs::write(folder.join("log"), "2").unwrap()), "{load}");
    }
}

#[test]
fn what_changes_while_it_is_loaded_is_loaded_again() {
    let writes = "open my $f, '<', 'FOLDER/conf' or die; open my $o, '>', 'FOLDER/conf'; print $o 3; close $o # elsewhere";
    assert!(!outlives(&[("conf", "1;")], writes, |_| ()));
}

#[test]
fn a_parent_for_one_request_each_works_for_several_fronts_too() {
    let one_shot = Setup { one_shot: true, ..setup(HELLO) };
    let mut engine = Engine::start(one_shot).unwrap();
    let mut old = engine.fork();
    let (mut next, _) = engine.adopt().unwrap();
    let mut new = next.fork();
    assert!(old.ask_in(&hello(), request("modperl"), b"").body.ends_with(&format!(" {}", old.pid)));
    assert!(new.ask_in(&hello(), request("modperl"), b"").body.ends_with(&format!(" {}", new.pid)));
    assert_eq!(engine.exit_of(&old), hostler_wire::site::Exit::Status(0));
    assert_eq!(next.exit_of(&new), hostler_wire::site::Exit::Status(0));
}

#[test]
fn a_module_by_name_counts_like_code() {
    let preload = Preload {
        kind: PreloadKind::Module,
        text: "CGI".into(),
        origin: "test.conf:1".into(),
        configured: false,
    };
    let mut with = setup("1;");
    with.preload.insert(0, preload);
    with.preload.push(code(
        "use POSIX; use Scalar::Util; use Time::HiRes; use File::Spec; use Socket; use Sys::Hostname",
    ));
    assert!(Engine::start(with).unwrap().adopt().is_some());
}
