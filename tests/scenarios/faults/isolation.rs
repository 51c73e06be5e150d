//! Two tenants on one server, and what each tries: all of it takes root, because it changes users.

use super::{await_that, process};
use hostler_tests::{Server, Site, needs_root};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

const ANNA: u32 = 64_101;
const BERT: u32 = 64_102;

fn host(name: &str, uid: u32) -> String {
    format!(
        "<VirtualHost *:@PORT@>\nServerName {name}.test\nDocumentRoot \"@ROOT@/{name}/htdocs\"\n\
         AssignUserID #{uid} #{uid}\nScriptAlias /cgi-bin/ \"@ROOT@/{name}/cgi-bin/\"\n\
         CustomLog \"@ROOT@/{name}/logs/access.log\" \"%r\"\n\
         <Directory \"@ROOT@/{name}\">\nRequire all granted\nOptions +Includes\nAddType text/html .shtml\n\
         AddOutputFilter INCLUDES .shtml\n</Directory>\n</VirtualHost>\n"
    )
}

/// Folders that belong to the tenant, closed to everybody else.
fn tenant(site: Site, name: &str, uid: u32) -> Site {
    let site =
        site.dir(&format!("{name}/htdocs")).dir(&format!("{name}/cgi-bin")).dir(&format!("{name}/logs"));
    let site = site.file(&format!("{name}/htdocs/secret"), format!("{name}'s secret"));
    let owned = ["", "/htdocs", "/cgi-bin", "/logs", "/htdocs/secret"];
    let site = owned.iter().fold(site, |site, part| site.owner(&format!("{name}{part}"), uid));
    let site = site.mode(&format!("{name}/htdocs/secret"), 0o600).mode(&format!("{name}/htdocs"), 0o700);
    site.mode(&format!("{name}/cgi-bin"), 0o700)
}

fn two_tenants() -> Site {
    let site = tenant(tenant(Site::new(), "anna", ANNA), "bert", BERT);
    site.config(&host("anna", ANNA)).config(&host("bert", BERT))
}

fn program(site: Site, name: &str, uid: u32, text: &str) -> Site {
    let path = format!("{name}/cgi-bin/p");
    let head = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\n";
    site.script(&path, format!("{head}{text}\n")).owner(&path, uid)
}

fn get(server: &Server, name: &str, target: &str) -> hostler_tests::Response {
    server.get_with(target, &format!("Host: {name}.test\r\n"))
}

#[test]
fn closed_document_roots_of_two_users_are_both_served() {
    needs_root!();
    let server = two_tenants().start();
    for name in ["anna", "bert"] {
        assert_eq!(get(&server, name, "/secret").text(), format!("{name}'s secret"));
    }
    let sites = process::named(&server, "hostler-site");
    let mut users: Vec<String> = sites.iter().filter_map(|pid| process::status(*pid, "Uid")).collect();
    users.sort();
    assert_eq!(users, [ANNA, BERT].map(|uid| vec![uid.to_string(); 4].join("\t")));
}

#[test]
fn virtual_hosts_of_one_user_share_a_process() {
    needs_root!();
    let site = tenant(tenant(Site::new(), "anna", ANNA), "annas-other", ANNA);
    let server = site.config(&host("anna", ANNA)).config(&host("annas-other", ANNA)).start();
    for name in ["anna", "annas-other"] {
        assert_eq!(get(&server, name, "/secret").text(), format!("{name}'s secret"));
    }
    assert_eq!(process::named(&server, "hostler-site").len(), 1);
}

#[test]
fn a_program_has_its_user_s_identity_and_nothing_more() {
    needs_root!();
    let text = "cat /proc/self/status; ls -l /proc/self/fd; env; ulimit -c; id -G";
    let site =
        program(two_tenants(), "anna", ANNA, text).environment("HOSTLER_TEST_SECRET", "of the operator");
    let server = site.start();
    let told = get(&server, "anna", "/cgi-bin/p").text();
    let line = |name: &str| {
        let found = told.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
        found.unwrap_or_else(|| panic!("no {name} in\n{told}")).trim().to_owned()
    };
    let four = vec![ANNA.to_string(); 4].join("\t");
    assert_eq!((line("Uid"), line("Gid")), (four.clone(), four));
    assert_eq!(line("Groups"), ANNA.to_string(), "its own group, as initgroups(3) sets it");
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(line(set).trim_matches('0'), "", "{set}");
    }
    assert_eq!(told.lines().last(), Some(ANNA.to_string().as_str()), "supplementary groups");
    assert!(!told.contains("HOSTLER_TEST_SECRET"), "{told}");
    // Three pipes, and the directory that ls reads.
    let descriptors = told.lines().filter(|line| line.contains(" -> ")).count();
    assert_eq!(descriptors, 4, "{told}");
}

#[test]
fn the_operator_s_environment_ends_at_the_master() {
    needs_root!();
    let server = two_tenants().environment("HOSTLER_TEST_SECRET", "of the operator").start();
    assert_eq!(get(&server, "anna", "/secret").status, 200);
    let children = process::children(server.pid());
    assert!(children.len() >= 2);
    for pid in children {
        let environment = fs::read_to_string(format!("/proc/{pid}/environ")).expect("root may read it");
        assert!(!environment.contains("HOSTLER_TEST_SECRET"), "{}", process::command_line(pid));
        assert_ne!(
            process::status(pid, "Uid").as_deref(),
            Some("0\t0\t0\t0"),
            "{}",
            process::command_line(pid)
        );
    }
}

#[test]
fn no_site_runs_as_root() {
    needs_root!();
    for words in [
        "root root",
        "root #64101",
        "#64101 root",
        "#0 #64101",
        "#64101 #0",
        "#-1 #64101",
        "#4294967296 #1",
        "no-such-user-here #64101",
        "#64101 no-such-group-here",
        "#64101",
    ] {
        let host = host("anna", ANNA).replace(&format!("#{ANNA} #{ANNA}"), words);
        let site = tenant(Site::new(), "anna", ANNA).config(&host);
        let line = {
            let text = fs::read_to_string(site.write_config(1)).expect("the configuration");
            1 + text.lines().position(|line| line.starts_with("AssignUserID")).expect("the line")
        };
        let Err(printed) = site.try_start() else { panic!("AssignUserID {words} is accepted") };
        assert!(printed.contains(&format!("httpd.conf:{line}: AssignUserID")), "{words}: {printed}");
    }
}

#[test]
fn one_tenant_s_program_reaches_nothing_of_the_other_s() {
    needs_root!();
    let text = "root=$1; shift\nfor file in $root/bert/htdocs/secret $root/bert/htdocs $root/bert/cgi-bin $root/logs/console; do\n\
                ls $file/. >/dev/null 2>&1 && echo \"listed $file\"; cat $file >/dev/null 2>&1 && echo \"read $file\"; done\n\
                for pid; do for what in environ mem maps fd cwd exe; do\n\
                ls -l /proc/$pid/$what/. >/dev/null 2>&1 && echo \"saw $what of $pid\"\n\
                head -c 1 /proc/$pid/$what >/dev/null 2>&1 && echo \"read $what of $pid\"; done\n\
                kill -0 $pid 2>/dev/null && echo \"may signal $pid\"; kill -TERM $pid 2>/dev/null && echo \"signalled $pid\"; done\necho end";
    let server = program(two_tenants(), "anna", ANNA, text).mode("logs", 0o700).start();
    assert_eq!(get(&server, "bert", "/secret").status, 200);
    // The master, the front, and bert's site; anna's own does not run yet.
    let mut pids = process::children(server.pid());
    pids.push(server.pid());
    let arguments: Vec<String> = pids.iter().map(ToString::to_string).collect();
    let root = server.site().root().to_string_lossy().into_owned();
    let told = get(&server, "anna", &format!("/cgi-bin/p?{root}+{}", arguments.join("+"))).text();
    assert_eq!(told, "end\n");
    assert!(pids.iter().all(|pid| process::runs(*pid)));
}

#[test]
fn a_link_to_another_s_file_needs_the_same_owner_and_the_right_to_read() {
    needs_root!();
    let site = two_tenants().file("bert/open", "everybody's").owner("bert/open", BERT);
    let site = site.config("<Directory \"@ROOT@/anna/htdocs/same\">\nOptions -FollowSymLinks +SymLinksIfOwnerMatch\n</Directory>");
    let site = site.dir("anna/htdocs/same").owner("anna/htdocs/same", ANNA);
    for (name, target) in
        [("open", "bert/open"), ("secret-of-bert", "bert/htdocs/secret"), ("same/open", "bert/open")]
    {
        let link = site.path(&format!("anna/htdocs/{name}"));
        symlink(site.path(target), &link).expect("a link");
        std::os::unix::fs::lchown(&link, Some(ANNA), Some(ANNA)).expect("root may give links away");
    }
    let server = site.start();
    assert_eq!(get(&server, "anna", "/open").text(), "everybody's");
    assert_eq!(get(&server, "anna", "/secret-of-bert").status, 403);
    assert_eq!(get(&server, "anna", "/same/open").status, 403);
}

#[test]
fn a_hard_link_to_another_s_program_is_not_run() {
    needs_root!();
    let site = program(two_tenants(), "bert", BERT, "id -u");
    fs::hard_link(site.path("bert/cgi-bin/p"), site.path("anna/cgi-bin/p")).expect("a hard link");
    let server = site.start();
    assert_eq!(get(&server, "bert", "/cgi-bin/p").text(), format!("{BERT}\n"));
    assert_eq!(get(&server, "anna", "/cgi-bin/p").status, 500);
    let _ = server.await_error("chown it");
}

#[test]
fn a_page_includes_and_executes_as_its_own_user() {
    needs_root!();
    let config = host("anna", ANNA).replace("ScriptAlias", "Alias /bert \"@ROOT@/bert/htdocs\"\nScriptAlias");
    let page = "<!--#exec cmd=\"id -u\" --><!--#include virtual=\"/bert/secret\" --><!--#exec cmd=\"cat ../../bert/htdocs/secret\" -->\
                <!--#include file=\"link\" -->";
    let site =
        tenant(tenant(Site::new(), "anna", ANNA), "bert", BERT).config(&config).config(&host("bert", BERT));
    let site = site.file("anna/htdocs/page.shtml", page).owner("anna/htdocs/page.shtml", ANNA);
    symlink(site.path("bert/htdocs/secret"), site.path("anna/htdocs/link")).expect("a link");
    let server = site.start();
    let told = get(&server, "anna", "/page.shtml").text();
    assert!(told.starts_with(&format!("{ANNA}\n")), "{told}");
    assert!(!told.contains("bert's secret"), "{told}");
    assert_eq!(get(&server, "anna", "/bert/secret").status, 403);
}

#[test]
fn a_document_root_that_becomes_a_link_shows_nothing_of_others() {
    needs_root!();
    let server = two_tenants().mode("logs", 0o700).start();
    assert_eq!(get(&server, "anna", "/secret").status, 200);
    let htdocs = server.site().path("anna/htdocs");
    for target in
        [server.site().path("bert/htdocs"), server.site().path("logs"), "/root".into(), "/proc/self".into()]
    {
        let _ = fs::rename(&htdocs, server.site().path("anna/kept"));
        let _ = fs::remove_file(&htdocs);
        symlink(&target, &htdocs).expect("a link");
        for file in ["/secret", "/console", "/.bashrc", "/environ", "/mem"] {
            let answer = get(&server, "anna", file);
            let text = answer.text();
            assert!(!text.contains("bert's") && !text.contains("info:"), "{target:?}{file}: {text}");
        }
    }
    assert_eq!(get(&server, "bert", "/secret").text(), "bert's secret");
}

#[test]
fn a_tenant_s_log_that_becomes_a_link_is_not_written_by_root() {
    needs_root!();
    let server = two_tenants().file("victim", "untouched").mode("victim", 0o600).start();
    let log = server.site().path("anna/logs/access.log");
    await_that("the log is written", || {
        let _ = get(&server, "anna", "/secret");
        fs::metadata(&log).is_ok_and(|data| data.len() > 0)
    });
    assert_eq!(fs::metadata(&log).expect("the log").uid(), ANNA, "opened as the tenant");
    let (victim, new) = (server.site().path("victim"), server.site().path("new-file"));
    for target in [&victim, &new] {
        fs::remove_file(&log).expect("the log");
        symlink(target, &log).expect("a link");
        let _ = process::reload(&server);
        for _ in 0..3 {
            assert_eq!(get(&server, "anna", "/secret").status, 200);
        }
    }
    // The folder itself, too.
    fs::rename(server.site().path("anna/logs"), server.site().path("anna/logs-kept")).expect("a rename");
    symlink(server.site().path("logs"), server.site().path("anna/logs")).expect("a link");
    let _ = process::reload(&server);
    assert_eq!(get(&server, "bert", "/secret").status, 200);
    assert_eq!(fs::read_to_string(victim).expect("the victim"), "untouched");
    assert!(!new.exists(), "root made a file where a link pointed");
}

/// Processes of a user who has too many already.
struct Crowd(Vec<Child>);

impl Crowd {
    fn of(uid: u32) -> Self {
        let sleeper = || Command::new("/bin/sleep").arg("600").uid(uid).gid(uid).spawn().expect("a process");
        Self((0..3).map(|_| sleeper()).collect())
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_user_with_too_many_processes_gets_none_as_root() {
    needs_root!();
    const CLARA: u32 = 64_103;
    let site = tenant(Site::new(), "clara", CLARA).config(&host("clara", CLARA));
    let server = site.start();
    let _crowd = Crowd::of(CLARA);
    let master = i32::try_from(server.pid()).ok().and_then(Pid::from_raw);
    // Lower than what it may have, so that it can be put back.
    let maximum = getrlimit(Resource::Nproc).maximum;
    let before = prlimit(master, Resource::Nproc, Rlimit { current: Some(2), maximum }).expect("a limit");
    // Changing to that user, or starting its program, fails with EAGAIN now.
    let answer = get(&server, "clara", "/secret");
    assert!(matches!(answer.status, 500 | 503), "{}: {}", answer.status, answer.text());
    for pid in process::children(server.pid()) {
        let user = process::status(pid, "Uid").unwrap_or_default();
        assert!(!user.starts_with("0\t"), "{} runs as root", process::command_line(pid));
    }
    prlimit(master, Resource::Nproc, before).expect("the limit as it was");
    await_that("the site can be started again", || {
        get(&server, "clara", "/secret").text() == "clara's secret"
    });
}

#[test]
fn a_program_s_limits_hold_for_it_and_its_children() {
    needs_root!();
    const DORA: u32 = 64_104;
    let text = "ulimit -t; ulimit -v; grep 'Max processes' /proc/self/limits; for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; echo end";
    let site = program(tenant(Site::new(), "dora", DORA), "dora", DORA, text);
    let limits = "RLimitCPU 7 9\nRLimitMEM 1073741824 max\nRLimitNPROC 10 10\n</VirtualHost>";
    let server = site.config(&host("dora", DORA).replace("</VirtualHost>", limits)).start();
    let told = get(&server, "dora", "/cgi-bin/p").text();
    assert!(told.starts_with("7\n1048576\nMax processes             10                   10 "), "{told}");
    assert!(
        server.error_log().to_lowercase().contains("fork"),
        "the eleventh process is refused:\n{}",
        server.error_log()
    );
    assert_eq!(get(&server, "dora", "/secret").status, 200);
}
