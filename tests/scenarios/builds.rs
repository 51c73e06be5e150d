//! Programs of different builds beside each other, and programs that are replaced under a running server. The other
//! build is a copy of a real program in whose file the number of the build is another one.

use crate::faults::{await_that, process};
use crate::workers::{metric, parents, site};
use hostler_tests::{Server, Site, hostler, needs_root};
use memchr::memmem;
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The mark of the build id in a program's file.
pub(crate) const MARK: &[u8] = b"hostler-build:";
pub(crate) const DIGITS: usize = 24;
/// The limit for refusals, which are immediate.
const AT_ONCE: Duration = Duration::from_secs(8);
const ADVICE: &str = "install all of Hostler's programs together, then stop and start the server";

/// Returns the path of a built program.
fn built(name: &str) -> PathBuf {
    let path = hostler().with_file_name(name);
    if path.exists() { path } else { hostler().with_file_name("../libexec/hostler").join(name) }
}

/// The same programs in a folder of the site's.
fn with_programs(site: Site) -> Site {
    let site = site.dir("bin");
    for name in ["hostler", "hostler-master", "hostler-front", "hostler-site", "hostler-perl"] {
        let (from, to) = (built(name), site.path("bin").join(name));
        fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop)).expect("a copy of the program");
    }
    let command = site.path("bin/hostler");
    site.command(command)
}

/// Puts a program of another build in the place of this one, as an installation does: by a new file.
fn replace(site: &Site, name: &str) {
    let path = site.path("bin").join(name);
    let mut bytes = fs::read(&path).expect("the program");
    let mut marked = memmem::find_iter(&bytes, MARK).filter_map(|at| bytes.get(at..at + MARK.len() + DIGITS));
    let is_number = |found: &&[u8]| found[MARK.len()..].iter().all(u8::is_ascii_hexdigit);
    let own = marked.find(is_number).expect("the number of the build").to_vec();
    let mut other = own.clone();
    let last = other.len() - 1;
    other[last] = if own[last] == b'0' { b'1' } else { b'0' };
    let places: Vec<usize> = memmem::find_iter(&bytes, &own).collect();
    for at in places {
        bytes[at..at + own.len()].copy_from_slice(&other);
    }
    let new = path.with_extension("new");
    fs::write(&new, bytes).expect("the other build");
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("its mode");
    fs::rename(&new, &path).expect("it takes the place");
}

fn error_with(server: &Server, cause: &str) -> String {
    let line = server.await_error(cause);
    assert!(line.contains(ADVICE) && line.contains("[id "), "{line}");
    line
}

#[test]
fn an_engine_of_another_build_is_refused_at_once_with_its_cause() {
    let site = with_programs(site(""));
    replace(&site, "hostler-perl");
    let server = site.start();
    for _ in 0..3 {
        let begin = Instant::now();
        let answer = server.get("/w/hello");
        assert_eq!(answer.status, 503, "{}", answer.text());
        // Time: it is refused, and not waited for.
        assert!(begin.elapsed() < AT_ONCE, "{:?}", begin.elapsed());
    }
    let line = error_with(&server, "the engine is of build");
    assert!(line.contains("the server's programs are of different builds"), "{line}");
    assert_eq!(server.get("/x").text(), "x", "what needs no engine is served");
    await_that("it is counted by its cause", || {
        metric(&server, "hostler_pool_errors_total", "OtherBuild") >= 3
    });
    assert!(server.get("/server-status").text().contains(" × the server's programs are of different builds"));
    await_that("no engine is left", || parents(&server).is_empty());
}

#[test]
fn a_site_process_of_another_build_is_refused_at_once_with_its_cause() {
    let site = with_programs(Site::new().file("htdocs/x", "x"));
    replace(&site, "hostler-site");
    let server = site.start();
    let begin = Instant::now();
    assert_eq!(server.get("/x").status, 503);
    // Time: it is refused, and not waited for.
    assert!(begin.elapsed() < AT_ONCE, "{:?}", begin.elapsed());
    let line = error_with(&server, "hostler-site is of build");
    assert!(line.contains("hostler-front of build"), "{line}");
}

#[test]
fn a_front_or_a_planner_of_another_build_serves_nothing() {
    for (name, said) in
        [("hostler-front", "hostler-front of build"), ("hostler", "the planner (hostler) is of build")]
    {
        let site = with_programs(Site::new());
        replace(&site, name);
        // The master listens before it has a front: a connection may be taken, but nothing is answered.
        let printed = site.try_start().map_or_else(
            |printed| printed,
            |mut server| {
                assert!(!server.await_end().success());
                server.console()
            },
        );
        assert!(printed.contains(said) && printed.contains(ADVICE), "{name}: {printed}");
        assert!(!printed.contains("generation 1 serves"), "{name}: {printed}");
    }
}

fn reload(server: &Server, program: &Path) -> std::process::Output {
    await_that("the PidFile", || server.site().path("hostler.pid").exists());
    let file = server.site().path("httpd.conf");
    Command::new(program).arg("reload").arg("-f").arg(file).output().expect("hostler runs")
}

#[test]
fn programs_that_are_replaced_do_not_reach_a_running_server() {
    needs_root!();
    // FindBin looks for the program's file, which is another one then.
    let server = with_programs(site("HostlerPoolIdle 300\nPerlModule FindBin")).start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    let done = reload(&server, &server.site().path("bin/hostler"));
    assert!(done.status.success() && done.stderr.is_empty(), "nothing was replaced yet: {done:?}");
    for name in ["hostler", "hostler-master", "hostler-front", "hostler-site", "hostler-perl"] {
        replace(server.site(), name);
    }
    // The old generation goes on, with a new parent and a new process of the site.
    for role in [parents(&server), process::named(&server, "hostler-site")] {
        role.iter().for_each(|pid| process::kill(*pid, Signal::KILL));
        await_that("it is over", || !role.iter().any(|pid| process::runs(*pid)));
        await_that("others take their place", || server.get("/w/hello").text() == "hello");
    }
    // A reload is the old build's, too, and the new command says so.
    let done = reload(&server, &server.site().path("bin/hostler"));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    assert!(
        said.contains("goes on with the programs it was started with") && said.contains("hostler stop"),
        "{said}"
    );
    assert_eq!(server.get("/w/hello").text(), "hello");
    assert!(!server.error_log().contains("of different builds"), "{}", server.error_log());
}

#[test]
fn sections_without_an_engine_to_run_them_stop_the_start_by_name() {
    let section = "ServerAdmin someone@example.org\n<Perl>\n$ServerSignature = 'Off';\n</Perl>\n";
    let start = |site: Site| with_programs(site.config(section));
    let refused = |site: Site| match site.try_start() {
        Ok(_) => panic!("it starts"),
        Err(printed) => printed,
    };
    let plain = || Site::new().file("htdocs/x", "x");

    let missing = start(plain());
    fs::remove_file(missing.path("bin/hostler-perl")).expect("it was there");
    let printed = refused(missing);
    assert!(printed.contains("hostler-perl is neither in "), "{printed}");
    assert!(printed.contains("httpd.conf:"), "the section's place: {printed}");

    let mute = start(plain());
    fs::remove_file(mute.path("bin/hostler-perl")).expect("it was there");
    fs::copy("/bin/true", mute.path("bin/hostler-perl")).expect("a program that says nothing");
    let printed = refused(mute);
    assert!(printed.contains("hostler-perl does not begin"), "{printed}");

    let other = start(plain());
    replace(&other, "hostler-perl");
    let printed = refused(other);
    assert!(printed.contains("build") && printed.contains(ADVICE), "{printed}");

    // Without a section to run, nobody misses it.
    let unneeded = with_programs(plain());
    fs::remove_file(unneeded.path("bin/hostler-perl")).expect("it was there");
    assert_eq!(unneeded.start().get("/x").text(), "x");
}
