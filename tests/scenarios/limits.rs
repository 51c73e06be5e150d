//! `HostlerSiteMemory`, `HostlerSiteCPU`, `HostlerSiteTasks`: what all processes of a site may use together. Where the
//! machine gives us no control group to try it in, only that the server says so.

use crate::faults::{await_that, process};
use crate::workers::{metric, site};
use hostler_tests::{Server, Site, hostler, needs_root, skipped};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

const ANNA: u32 = 64_151;
const BERT: u32 = 64_152;
const TOP: &str = "/sys/fs/cgroup";
const WARNING: &str =
    "hostler-master: warning: HostlerSiteMemory, HostlerSiteCPU and HostlerSiteTasks do not hold: ";

/// A control group for one server, as a service manager gives it to a service (`Delegate=yes`).
struct Delegated(PathBuf);

impl Delegated {
    fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let enabled = fs::read_to_string(format!("{TOP}/cgroup.subtree_control")).unwrap_or_default();
        if !["memory", "cpu", "pids"].iter().all(|name| enabled.split_whitespace().any(|word| word == *name))
        {
            skipped(module_path!(), "cgroup version 2 with memory, cpu and pids is not to be had here");
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(TOP).join(format!("hostler-test-{}-{number}", std::process::id()));
        fs::create_dir(&path).ok()?;
        Some(Self(path))
    }

    /// Starts the server in it.
    fn start(&self, site: Site) -> Server {
        let text = format!(
            "#!/bin/sh\necho $$ > {}/cgroup.procs\nexec {} \"$@\"\n",
            self.0.display(),
            hostler().display()
        );
        let site = site.script("in-group", text);
        let command = site.path("in-group");
        site.command(command).start()
    }

    /// A file in the group of a user's site.
    fn read(&self, server: &Server, uid: u32, file: &str) -> String {
        let group = self.0.join(format!("hostler-{}/site-{uid}-{uid}", server.pid()));
        fs::read_to_string(group.join(file)).unwrap_or_default().trim().to_owned()
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        // What is left in it is a finding of its own.
        if let Err(e) = fs::remove_dir(&self.0) {
            eprintln!("{} is left behind: {e}", self.0.display());
            assert!(std::thread::panicking(), "the server's groups are not removed");
        }
    }
}

/// Two sites with programs and a module of Perl; `limits` are anna's.
fn two_sites(limits: &str) -> Site {
    let host = |name: &str, uid: u32, config: &str| {
        format!(
            "<VirtualHost *:@PORT@>\nServerName {name}.test\nAssignUserID #{uid} #{uid}\n\
             ScriptAlias /cgi-bin/ \"@ROOT@/cgi-bin-{name}/\"\n{config}\n</VirtualHost>"
        )
    };
    let forks = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\"; $| = 1;\n\
                 while (@all < 100) { my $pid = fork; last if !defined $pid; if (!$pid) { sleep 20; exit } push @all, $pid }\n\
                 sleep 1; print scalar(@all), ' ', defined $pid ? 'all' : $!, \"\\n\"; kill 9, @all; 1 while wait > 0;\n";
    site("MaxRequestWorkers 4")
        .script("cgi-bin-anna/forks", forks)
        .owner("cgi-bin-anna", ANNA)
        .owner("cgi-bin-anna/forks", ANNA)
        .config(&host("anna", ANNA, limits))
        .config(&host("bert", BERT, ""))
}

/// Returns the output of `hostler status`.
fn status_of(server: &Server) -> String {
    let mut command = Command::new(hostler());
    let done = command.arg("status").arg("-f").arg(server.site().path("httpd.conf")).output();
    String::from_utf8_lossy(&done.expect("hostler runs").stdout).into_owned()
}

fn get(server: &Server, name: &str, target: &str) -> (u16, String) {
    let answer = server.get_with(target, &format!("Host: {name}.test\r\n"));
    (answer.status, answer.text())
}

#[test]
fn a_fork_bomb_stops_at_the_site_s_tasks_and_another_site_serves() {
    needs_root!();
    let Some(group) = Delegated::new() else { return };
    let server = group.start(two_sites("HostlerSiteTasks 24\nHostlerSiteCPU 150%"));
    let forked = std::thread::scope(|scope| {
        let bomb = scope.spawn(|| get(&server, "anna", "/cgi-bin/forks"));
        while !bomb.is_finished() {
            assert_eq!(get(&server, "bert", "/w/hello"), (200, "hello".into()));
        }
        bomb.join().expect("it was asked")
    });
    let count: u32 = forked.1.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(999);
    assert!(forked.0 == 200 && (5..24).contains(&count), "{forked:?}");
    assert_eq!(group.read(&server, ANNA, "pids.max"), "24");
    assert_eq!(group.read(&server, ANNA, "cpu.max"), "150000 100000");
    let page = server.get("/server-status").text();
    assert!(page.contains(" of 24</td>") && page.contains(" of 150 %</td>"), "{page}");
    assert_eq!(metric(&server, "hostler_site_tasks_max", ""), 24);
    assert!(metric(&server, "hostler_site_tasks", "") > 0);
    let shown = status_of(&server);
    assert!(shown.contains(" of 24\n") && shown.contains(" of 150 %"), "{shown}");
    assert_eq!(group.read(&server, BERT, "pids.max"), "", "no limits, no group");
    assert_eq!(get(&server, "anna", "/w/hello").0, 200, "anna is served again");
}

#[test]
fn who_takes_the_site_s_memory_is_ended_and_the_cause_is_named() {
    needs_root!();
    let Some(group) = Delegated::new() else { return };
    let server = group.start(two_sites("HostlerSiteMemory 150M"));
    assert_eq!((get(&server, "anna", "/w/hello").0, get(&server, "bert", "/w/pid").0), (200, 200));
    let neighbour = get(&server, "bert", "/w/pid").1;
    assert_eq!(get(&server, "anna", "/w/eats").0, 502);
    let line = server.await_error("the worker ended while it served the request");
    assert!(line.contains("signal 9") && line.contains("the site has reached HostlerSiteMemory"), "{line}");
    assert_eq!(get(&server, "anna", "/w/hello"), (200, "hello".into()));
    assert_eq!(get(&server, "bert", "/w/pid"), (200, neighbour));
    assert_eq!(group.read(&server, ANNA, "memory.max"), (150 << 20).to_string());
    // Another death is not explained by it once that is over.
    // Time: a death is explained by what was reached within the last seconds.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let mut half = server.connect();
    half.send(b"GET /w/breaks HTTP/1.1\r\nHost: anna.test\r\nConnection: close\r\n\r\n");
    let killed = || server.error_log().lines().rfind(|line| line.contains("signal 9")).map(str::to_owned);
    await_that("another death by signal 9", || killed().is_some_and(|last| last != line));
    assert!(!killed().unwrap_or_default().contains("HostlerSiteMemory"), "{}", server.error_log());
}

#[test]
fn a_reload_changes_the_limits_of_the_site() {
    needs_root!();
    let Some(group) = Delegated::new() else { return };
    let server = group.start(two_sites(""));
    assert_eq!(get(&server, "anna", "/w/hello").0, 200);
    let file = server.site().path("httpd.conf");
    let text = fs::read_to_string(&file).expect("the configuration");
    for (limit, found) in [("HostlerSiteTasks 30", "30"), ("HostlerSiteTasks 40", "40"), ("", "max")] {
        let changed = text.replace("ServerName anna.test", &format!("ServerName anna.test\n{limit}"));
        fs::write(&file, changed).expect("the configuration");
        assert!(process::reload(&server).status.success());
        await_that("the limit", || {
            get(&server, "anna", "/w/hello").0 == 200 && group.read(&server, ANNA, "pids.max") == found
        });
    }
}

#[test]
fn says_plainly_where_limits_do_not_hold() {
    let limits = "HostlerSiteMemory 200M\nHostlerSiteTasks 50";
    let server = site(limits).start();
    assert_eq!(server.get("/x").text(), "x");
    // We are not alone in our group, so they hold only where it is divided already.
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default().to_owned();
    let enabled = fs::read_to_string(format!("{TOP}{own}/cgroup.subtree_control")).unwrap_or_default();
    let holds = enabled.contains("memory") && enabled.contains("pids");
    let console = server.console();
    assert_eq!(console.contains(WARNING), !holds, "{console}");
    let page = server.get("/server-status").text();
    assert_eq!(page.contains("not limited here: "), !holds, "{page}");
    assert_eq!(metric(&server, "hostler_site_limits_hold", ""), u64::from(holds));
    // The same wherever figures are shown, and not that all is well.
    let shown = status_of(&server);
    assert_eq!(shown.contains("is not limited here: "), !holds, "{shown}");
    let file = server.site().path("httpd.conf");
    let check = Command::new(hostler()).arg("check").arg("-f").arg(file).output().expect("hostler runs");
    assert!(check.status.success(), "{check:?}");
    let offered = fs::read_to_string(format!("{TOP}/cgroup.controllers")).unwrap_or_default();
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert_eq!(
        said.contains("will not hold"),
        !(offered.contains("memory") && offered.contains("pids")),
        "{said}"
    );
}

#[test]
fn another_process_in_the_group_is_left_where_it_is() {
    needs_root!();
    let Some(group) = Delegated::new() else { return };
    let mut other = Command::new("sleep").arg("60").spawn().expect("sleep runs");
    fs::write(group.0.join("cgroup.procs"), other.id().to_string()).expect("the group takes it");
    let server = group.start(two_sites("HostlerSiteTasks 30"));
    assert_eq!(get(&server, "anna", "/w/hello").0, 200);
    let console = server.console();
    assert!(console.contains(WARNING) && console.contains("there are other processes"), "{console}");
    let members = fs::read_to_string(group.0.join("cgroup.procs")).unwrap_or_default();
    assert!(members.lines().any(|line| line == other.id().to_string()), "{members}");
    drop(server);
    other.kill().and_then(|()| other.wait()).expect("it ends");
}

#[test]
fn no_limits_no_words() {
    let server = Site::new().file("htdocs/x", "x").start();
    assert_eq!(server.get("/x").status, 200);
    assert!(!server.console().contains("HostlerSite"), "{}", server.console());
    let shown = status_of(&server);
    assert!(
        shown.starts_with("running") && !shown.contains("LIMITS") && !shown.contains("limited"),
        "{shown}"
    );
}

#[test]
fn a_limit_that_warm_workers_do_not_have_is_told() {
    let section = "<Location /w>\nRLimitCPU 7\n</Location>";
    let folder = "<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>";
    let server = site(section).config(folder).file("htdocs/.htaccess", "RLimitNPROC 9\n").start();
    let warned =
        "RLimitCPU in <Location /w> holds for CGI programs and commands of SSI there, not for warm workers";
    assert!(server.console().contains(warned), "{}", server.console());
    let file = server.site().path("httpd.conf");
    let check = Command::new(hostler()).arg("check").arg("-f").arg(file).output().expect("hostler runs");
    assert!(String::from_utf8_lossy(&check.stderr).contains(warned) && check.status.success(), "{check:?}");
    for _ in 0..5 {
        assert_eq!(server.get("/w/hello").text(), "hello");
    }
    for directive in ["RLimitCPU", "RLimitNPROC"] {
        let line =
            server.await_error(&format!("{directive} of a section or an access file holds for CGI programs"));
        assert!(line.contains("core:warn"), "{line}");
    }
    // Once for each thread of the front, not with each request.
    let told = server.error_log().matches("RLimitNPROC").count();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(told <= threads, "{told} times:\n{}", server.error_log());
}

#[test]
fn a_limit_outside_of_sections_is_the_warm_workers_own_and_needs_no_words() {
    let server =
        site("RLimitCPU 7\n<Location /cgi>\nSetHandler cgi-script\nRLimitCPU 3\n</Location>").start();
    assert_eq!(server.get("/w/hello").text(), "hello");
    assert!(!server.console().contains("RLimit"), "{}", server.console());
    assert!(!server.error_log().contains("RLimit"), "{}", server.error_log());
}

#[test]
fn nice_values_hold_for_programs_and_for_warm_workers() {
    let nice = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\", getpriority(0, 0);\n";
    let cgi = "Alias /cgi \"@ROOT@/cgi\"\n<Location /cgi>\nSetHandler cgi-script\nOptions +ExecCGI\nNiceValue 7\n</Location>";
    let server = site(&format!("NiceValue 5\n{cgi}"))
        .script("cgi/nice", nice)
        .file("app/nice.psgi", "sub { [200, [], [getpriority(0, 0)]] };\n")
        .config("<Location /app>\nSetHandler psgi\nPSGIApp \"@ROOT@/app/nice.psgi\"\n</Location>")
        .start();
    assert_eq!(server.get("/cgi/nice").text(), "7");
    assert_eq!(server.get("/app").text(), "5");
    assert!(!server.console().contains("NiceValue"), "{}", server.console());
}
