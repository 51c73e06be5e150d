//! Two tenants with Perl in warm workers, and what a program of one tries against the other. All of it takes root.

use super::super::{await_that, process};
use crate::workers::{parents, workers};
use hostler_tests::{Server, Site, hostler, needs_root, skipped};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

const ANNA: u32 = 64_111;
const BERT: u32 = 64_112;

/// Tries what it is told; prints a line that starts with `GOT` for whatever succeeds.
const TRIES: &str = include_str!("tries.pl");

/// A worker's report about itself.
const SELF: &str = r#"use strict;
print "Content-Type: text/plain\n\n";
open my $status, '<', '/proc/self/status' or die; print <$status>;
open my $limits, '<', '/proc/self/limits' or die; print <$limits>;
print "dumpable: ", syscall(157, 3, 0, 0, 0, 0), "\n";
print "environment: $_\n" for `/usr/bin/env`;
close $status; close $limits;
for my $number (0 .. 1023) {
    open my $info, '<', "/proc/self/fdinfo/$number" or next;
    my $target = readlink "/proc/self/fd/$number" or next;
    next if $number == fileno $info;
    print "descriptor: $number $target\n";
}
"#;

fn host(name: &str, uid: u32) -> String {
    format!(
        "<VirtualHost *:@PORT@>\nServerName {name}.test\nDocumentRoot \"@ROOT@/{name}/htdocs\"\n\
         AssignUserID #{uid} #{uid}\nAlias /perl/ \"@ROOT@/{name}/perl/\"\n\
         <Directory \"@ROOT@/{name}\">\nRequire all granted\n</Directory>\n\
         <Location /perl>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n\
         Options +ExecCGI\n</Location>\n</VirtualHost>\n"
    )
}

/// A tenant whose files nobody else can read.
fn tenant(site: Site, name: &str, uid: u32) -> Site {
    let secret = format!("{name}/htdocs/secret");
    let site = site.file(&secret, format!("{name}'s secret")).dir(&format!("{name}/perl"));
    let site =
        site.script(&format!("{name}/perl/tries.pl"), TRIES).script(&format!("{name}/perl/self.pl"), SELF);
    let owned = ["", "/htdocs", "/htdocs/secret", "/perl", "/perl/tries.pl", "/perl/self.pl"];
    let site = owned.iter().fold(site, |site, part| site.owner(&format!("{name}{part}"), uid));
    ["", "/htdocs", "/perl"].iter().fold(site, |site, part| site.mode(&format!("{name}{part}"), 0o700))
}

fn two_tenants() -> Server {
    let site = tenant(tenant(Site::new(), "anna", ANNA), "bert", BERT).mode("logs", 0o700);
    let site =
        site.environment("HOSTLER_TEST_SECRET", "of the operator").environment("PERL_TEST_SECRET", "too");
    let server =
        site.config("StartServers 2").config(&host("anna", ANNA)).config(&host("bert", BERT)).start();
    for name in ["anna", "bert"] {
        assert_eq!(get(&server, name, "/perl/self.pl").status, 200);
    }
    await_that("both have their workers", || workers(&server).len() == 4);
    server
}

fn get(server: &Server, name: &str, target: &str) -> hostler_tests::Response {
    server.get_with(target, &format!("Host: {name}.test\r\n"))
}

fn is_of(pid: u32, uid: u32) -> bool {
    process::status(pid, "Uid").is_some_and(|users| users.split('\t').all(|user| user == uid.to_string()))
}

/// A tenant's processes: site, engine's parent, workers.
fn processes_of(server: &Server, uid: u32) -> Vec<u32> {
    let all = [process::named(server, "hostler-site"), parents(server), workers(server)].concat();
    let theirs: Vec<u32> = all.into_iter().filter(|pid| is_of(*pid, uid)).collect();
    assert_eq!(
        theirs.len(),
        4,
        "{:?}",
        theirs.iter().map(|pid| process::command_line(*pid)).collect::<Vec<_>>()
    );
    theirs
}

fn words(pids: &[u32]) -> String {
    pids.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
}

#[test]
fn a_worker_reaches_nothing_of_another_tenant_s_nor_of_the_server_s() {
    needs_root!();
    let server = two_tenants();
    let theirs = [processes_of(&server, BERT), vec![process::front(&server), server.pid()]].concat();
    let root = server.site().root().to_string_lossy().into_owned();
    let files = [
        "bert/htdocs/secret",
        "bert/perl/self.pl",
        "bert/htdocs",
        "bert",
        "logs/error.log",
        "logs",
        "hostler.pid.status",
    ]
    .map(|file| format!("{root}/{file}"));
    let query = format!("all+{}+{}", files.join("+"), words(&theirs));
    let told = get(&server, "anna", &format!("/perl/tries.pl?{query}")).text();
    assert_eq!(told, "end\n");
    // There is a socket that it could have connected to.
    assert!(fs::metadata(server.site().path("hostler.pid.status")).is_ok());
    // The same script does find what it may have: its own files.
    let own = get(&server, "anna", &format!("/perl/tries.pl?all+{root}/anna/htdocs/secret")).text();
    assert_eq!(
        own,
        format!("GOT read {root}/anna/htdocs/secret\nGOT linked {root}/anna/htdocs/secret\nend\n")
    );
    assert!(theirs.iter().all(|pid| process::runs(*pid)));
    assert_eq!(get(&server, "bert", "/secret").text(), "bert's secret");
}

#[test]
fn a_worker_may_not_look_into_its_own_tenant_s_other_processes() {
    needs_root!();
    let server = two_tenants();
    let told =
        get(&server, "anna", &format!("/perl/tries.pl?look+{}", words(&processes_of(&server, ANNA)))).text();
    let (own, foreign): (Vec<_>, Vec<_>) = told.lines().partition(|line| line.contains(" (self)"));
    assert_eq!(foreign, ["end"], "{told}");
    assert!(!own.is_empty(), "what it tries works where it may: on itself");
}

#[test]
fn a_worker_has_its_user_s_identity_the_listed_descriptors_and_nothing_more() {
    needs_root!();
    let server = two_tenants();
    let told = get(&server, "anna", "/perl/self.pl").text();
    let line = |name: &str| {
        let found = told.lines().find_map(|line| line.strip_prefix(name));
        found.unwrap_or_else(|| panic!("no {name} in\n{told}")).trim().to_owned()
    };
    let four = vec![ANNA.to_string(); 4].join("\t");
    assert_eq!((line("Uid:"), line("Gid:"), line("Groups:")), (four.clone(), four, ANNA.to_string()));
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(line(set).trim_matches('0'), "", "{set}");
    }
    assert_eq!((line("NoNewPrivs:"), line("dumpable:")), ("1".into(), "0".into()));
    let core: Vec<String> = line("Max core file size").split_whitespace().map(str::to_owned).collect();
    assert_eq!(core[..2], ["0", "0"]);
    assert!(!told.contains("SECRET"), "{told}");
    let mut kinds: Vec<&str> = told
        .lines()
        .filter_map(|line| line.strip_prefix("descriptor: ")?.split_once(' '))
        .map(|(_, target)| target.split([':', '(']).next().unwrap_or_default().trim_end())
        .collect();
    kinds.sort_unstable();
    kinds.dedup_by(|a, b| a == b && *a == "anon_inode");
    // Standard input; one eventfd for each thread of the front; the way to the log. The memory that it shares with
    // the front is mapped, and has no descriptor any more.
    assert_eq!(kinds, ["/dev/null", "anon_inode", "pipe", "pipe"], "{told}");
    let of_other_kind = |line: &&str| {
        line.starts_with("descriptor") && line.contains("anon_inode") && !line.ends_with("[eventfd]")
    };
    assert_eq!(told.lines().find(of_other_kind), None);
}

#[test]
fn no_secret_of_the_operator_s_is_in_any_environment() {
    needs_root!();
    let server = two_tenants();
    let theirs =
        [processes_of(&server, ANNA), processes_of(&server, BERT), vec![process::front(&server)]].concat();
    for pid in theirs {
        let environment = fs::read_to_string(format!("/proc/{pid}/environ")).expect("root may read it");
        assert!(!environment.contains("HOSTLER_TEST_SECRET"), "{}", process::command_line(pid));
    }
}

#[test]
fn no_key_of_the_operator_s_session_is_anybody_s() {
    needs_root!();
    let session = "#!/usr/bin/perl\nmy ($type, $name, $key) = ('user', 'hostler-test', 'the operator\\'s key');\n\
                   syscall(250, 1, 0) >= 0 or warn \"no keyrings here: $!\\n\";\n\
                   syscall(248, $type, $name, $key, length $key, -3) >= 0 or warn \"no key: $!\\n\";\n\
                   exec $ENV{HOSTLER_UNDER_TEST}, @ARGV;\n";
    let site = tenant(tenant(Site::new(), "anna", ANNA), "bert", BERT).script("session", session);
    let site = site.environment("HOSTLER_UNDER_TEST", &hostler().to_string_lossy());
    let command = site.path("session");
    let server = site.command(command).config(&host("anna", ANNA)).config(&host("bert", BERT)).start();
    if server.console().contains("no key") {
        return skipped(module_path!(), "keyrings are not to be had here");
    }
    for name in ["anna", "bert"] {
        assert_eq!(get(&server, name, "/perl/tries.pl?all+key:hostler-test").text(), "end\n");
    }
    // The operator himself has it: the script can find keys.
    let rings = fs::read_to_string("/proc/keys").unwrap_or_default();
    assert!(!rings.is_empty());
}

#[test]
fn a_worker_gains_nothing_by_set_id_programs() {
    needs_root!();
    let run = "use strict; print \"Content-Type: text/plain\\n\\n\";\n\
               for my $kind (qw(user group)) { (my $path = $0) =~ s/gains.pl/$kind/; print `$path -u`, `$path -g` }\n\
               open my $status, '<', '/proc/self/status'; print grep { /^(Uid|Gid|Cap(Prm|Eff)):/ } <$status>;\n";
    let site = tenant(tenant(Site::new(), "anna", ANNA), "bert", BERT);
    let site = site.script("anna/perl/gains.pl", run).owner("anna/perl/gains.pl", ANNA);
    for (name, mode) in [("user", 0o4755), ("group", 0o2755)] {
        let path = site.path(&format!("anna/perl/{name}"));
        fs::copy("/usr/bin/id", &path).expect("a copy of id");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("root may set the bit");
    }
    let server = site.config(&host("anna", ANNA)).start();
    let told = get(&server, "anna", "/perl/gains.pl").text();
    assert!(told.starts_with(&format!("{ANNA}\n").repeat(4)), "{told}");
}

#[test]
fn who_gains_by_set_id_programs_is_the_configuration_s_to_say() {
    needs_root!();
    let report = "use strict; print \"Content-Type: text/plain\\n\\n\";\n\
                  open my $status, '<', '/proc/self/status'; print grep { /^(NoNewPrivs|CapBnd):/ } <$status>;\n";
    let report = format!("#!/usr/bin/perl\n{report}");
    for (words, warm, program) in [
        ("", "1", "0"),
        ("HostlerNoNewPrivileges none", "0", "0"),
        ("HostlerNoNewPrivileges engines", "1", "0"),
        ("HostlerNoNewPrivileges all", "1", "1"),
    ] {
        let site = tenant(tenant(Site::new(), "anna", ANNA), "bert", BERT);
        let site = site.script("anna/perl/report.pl", &report).owner("anna/perl/report.pl", ANNA);
        let cgi = format!("{words}\n<Location /perl/report.pl/cgi>\nSetHandler cgi-script\n</Location>");
        let server =
            site.config(&host("anna", ANNA).replace("</VirtualHost>", &format!("{cgi}\n</VirtualHost>")));
        let server = server.start();
        for (path, expected) in [("/perl/report.pl", warm), ("/perl/report.pl/cgi", program)] {
            let told = get(&server, "anna", path).text();
            assert!(told.contains(&format!("NoNewPrivs:\t{expected}\n")), "{words} {path}: {told}");
            // Neither can what a set-id program gains be more than such programs need: not SYS_ADMIN, for one.
            let bound =
                told.lines().find_map(|line| line.strip_prefix("CapBnd:\t")).expect("the bounding set");
            let bound = u64::from_str_radix(bound, 16).expect("a number");
            assert_eq!((bound & 1 << 21, bound & 1 << 16, bound & 1 << 12), (0, 0, 0), "{told}");
            assert_ne!(bound & (1 << 7 | 1 << 6), 0, "{told}");
        }
    }
}

#[test]
fn nothing_of_the_server_s_lies_where_everybody_looks() {
    needs_root!();
    let server = two_tenants();
    let front = process::status(process::front(&server), "Uid").unwrap_or_default();
    let owners: Vec<String> = vec![ANNA.to_string(), front.split('\t').next().unwrap_or_default().to_owned()];
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    for line in segments.lines().skip(1) {
        assert!(!owners.iter().any(|uid| line.split_whitespace().nth(7) == Some(uid)), "{line}");
    }
    for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        let owner = entry.metadata().map(|data| data.uid().to_string()).unwrap_or_default();
        assert!(!owners.contains(&owner), "{:?}", entry.path());
    }
}

/// Returns the objects of a process that another could share: shared memory, sockets, pipes, eventfds.
fn shared_things(pid: u32) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors").flatten() {
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        let target = target.to_string_lossy().into_owned();
        let number = entry.file_name().to_string_lossy().into_owned();
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
        let line =
            |name: &str| info.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        if target.contains("eventfd") {
            found.insert(line("eventfd-id:"));
        } else if !target.starts_with('/') || target.starts_with("/memfd") {
            // The kernel gives all anonymous inodes one number.
            if !target.starts_with("anon_inode") {
                found.insert(format!("{target} {}", line("ino:")));
            }
        }
    }
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let shared = maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|mode| mode.ends_with('s')));
    found.extend(shared.map(|line| line.split_whitespace().skip(3).collect::<Vec<_>>().join(" ")));
    found
}

#[test]
fn two_tenants_share_no_process_no_memory_and_no_socket() {
    needs_root!();
    let server = two_tenants();
    let things = |uid: u32| -> BTreeSet<String> {
        processes_of(&server, uid).into_iter().flat_map(shared_things).collect()
    };
    let (anna, bert) = (things(ANNA), things(BERT));
    assert!(
        anna.iter().any(|thing| thing.contains("memfd"))
            && anna.iter().any(|thing| thing.contains("eventfd"))
    );
    let both: Vec<_> = anna.intersection(&bert).collect();
    assert!(both.is_empty(), "{both:?}");
    // Each shares something with the front: that is how it is spoken to.
    let front = shared_things(process::front(&server));
    assert!(front.intersection(&anna).count() > 0 && front.intersection(&bert).count() > 0);
}

#[test]
fn no_socket_of_the_server_s_has_a_name_but_the_operator_s() {
    needs_root!();
    let server = two_tenants();
    let pids = [processes_of(&server, ANNA), vec![process::front(&server), server.pid()]].concat();
    let ours: BTreeSet<String> = pids.into_iter().flat_map(shared_things).collect();
    let sockets = fs::read_to_string("/proc/net/unix").expect("the kernel's list");
    let named = sockets.lines().skip(1).filter(|line| line.split_whitespace().count() > 7);
    let inode = |line: &str| line.split_whitespace().nth(6).unwrap_or_default().to_owned();
    let found: Vec<&str> = named
        .filter(|line| ours.iter().any(|thing| thing.contains(&format!("socket:[{}]", inode(line)))))
        .collect();
    // That of `hostler status`, which nobody but root can connect to: `status::only_who_started_the_server_can_ask`.
    assert!(found.iter().all(|line| line.ends_with("/hostler.pid.status")), "{found:?}");
    let tenants: BTreeSet<String> = processes_of(&server, ANNA).into_iter().flat_map(shared_things).collect();
    assert!(!found.iter().any(|line| tenants.iter().any(|thing| thing.contains(&inode(line)))), "{found:?}");
    assert!(ours.iter().any(|thing| thing.contains("socket:[")));
}
