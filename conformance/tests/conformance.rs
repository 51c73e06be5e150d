//! The suite as a test: two threads take subjects from one list.
//!
//! `HOSTLER_UNDER_TEST=apache` checks the table alone, `=hostler` Hostler alone;
//! `CONFORMANCE_ONLY=subject[/case],...` picks; `CONFORMANCE_PRINT=1` shows every answer;
//! `HOSTLER_BIN` names the binary.

use hostler_conformance::run::{Plan, Report, subject};
use hostler_conformance::server::{Kind, apache_installed, hostler_binary};
use hostler_conformance::table::Subject;
use hostler_conformance::{differences, syntax, table};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

#[test]
fn every_case_answers_as_apache_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let subjects = table::load(&folder.join("cases")).expect("the cases");
    let differences = differences::load(&folder.join("differences.toml")).expect("the differences");
    for difference in &differences.cases {
        let known = |of: &Subject| {
            of.cases.iter().any(|case| difference.case == format!("{}/{}", of.name, case.name))
        };
        assert!(subjects.iter().any(known), "differences.toml names the unknown case {}", difference.case);
    }
    let plan = Plan {
        kinds: kinds(),
        only: std::env::var("CONFORMANCE_ONLY").ok(),
        differences,
        print: std::env::var_os("CONFORMANCE_PRINT").is_some(),
    };
    let reports = in_two_threads(&plan, &subjects);
    if plan.only.is_none() && plan.kinds.contains(&Kind::Hostler) {
        let used = |index: &usize| reports.iter().any(|report| report.fields.contains(index));
        let unused = (0..plan.differences.fields.len()).find(|index| !used(index));
        let unused = unused.map(|index| &plan.differences.fields[index]);
        assert!(unused.is_none(), "differences.toml lists a field that no longer differs: {unused:?}");
    }
    let ran = reports.iter().any(|report| !report.cases.is_empty());
    let failures: usize = reports.iter().map(show).sum();
    let total: usize = subjects.iter().map(|subject| subject.cases.len()).sum();
    println!("{total} cases in {} subjects on {:?}: {failures} failures", subjects.len(), plan.kinds);
    assert!(ran || matches!(plan.only.as_deref(), Some("syntax" | "debian")), "no case was run");
    assert_eq!(failures, 0, "some cases differ");
}

#[test]
fn configurations_are_accepted_and_refused_as_by_apache() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !wanted("syntax") {
        return;
    }
    let root = tempfile::tempdir().expect("a folder");
    syntax::prepare(root.path()).expect("its content");
    let checks = syntax::load(&folder.join("syntax.toml")).expect("the checks");
    let mut findings = Vec::new();
    for kind in kinds() {
        for check in &checks {
            findings.extend(syntax::judge(kind, check, root.path()).unwrap_or_else(Some));
        }
    }
    println!("{} configurations: {} failures", checks.len(), findings.len());
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// Files of modules that Hostler does not have may warn, but an administrator's folder must not stop it.
#[test]
fn debians_configuration_files_parse() {
    if !wanted("debian") || !kinds().contains(&Kind::Hostler) {
        return;
    }
    let Some(folder) = debians_folder() else {
        return hostler_untested::untested("no copy of Debian's /etc/apache2 (./setup.sh test unpacks one)");
    };
    let root = tempfile::tempdir().expect("a folder");
    syntax::prepare(root.path()).expect("its content");
    let checks = syntax::packaged(&folder).expect("the files");
    let judge = |check| syntax::judge(Kind::Hostler, check, root.path()).unwrap_or_else(Some);
    let findings: Vec<String> = checks.iter().filter_map(judge).collect();
    println!("{} files in {}: {} failures", checks.len(), folder.display(), findings.len());
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// The modules that Debian's package enables when it is installed.
const ENABLED: [(&str, &str); 3] = [
    (
        "mods",
        "access_compat.load alias.conf alias.load auth_basic.load authn_core.load authn_file.load authz_core.load \
         authz_host.load authz_user.load autoindex.conf autoindex.load deflate.conf deflate.load dir.conf dir.load \
         env.load filter.load mime.conf mime.load mpm_event.conf mpm_event.load negotiation.conf negotiation.load \
         reqtimeout.conf reqtimeout.load setenvif.conf setenvif.load status.conf status.load",
    ),
    (
        "conf",
        "charset.conf localized-error-pages.conf other-vhosts-access-log.conf security.conf serve-cgi-bin.conf",
    ),
    ("sites", "000-default.conf"),
];

/// `hostler check -f /etc/apache2/apache2.conf` where nobody has changed anything: the variables are in `envvars`.
#[test]
fn debians_own_configuration_is_accepted_as_it_is_installed() {
    if !wanted("debian") || !kinds().contains(&Kind::Hostler) {
        return;
    }
    let Some(folder) = debians_folder() else {
        return hostler_untested::untested("no copy of Debian's /etc/apache2 (./setup.sh test unpacks one)");
    };
    let root = tempfile::tempdir().expect("a folder");
    let own = root.path().join("apache2");
    let copied = Command::new("cp").arg("-R").arg(&folder).arg(&own).status().expect("cp");
    assert!(copied.success());
    for (kind, names) in ENABLED {
        let _ = fs::remove_dir_all(own.join(format!("{kind}-enabled")));
        fs::create_dir(own.join(format!("{kind}-enabled"))).expect("a folder");
        for name in names.split_whitespace() {
            let available = format!("../{kind}-available/{name}");
            symlink(available, own.join(format!("{kind}-enabled")).join(name)).expect("a link");
        }
    }
    // What the package makes beside its configuration, here below the folder.
    let envvars = fs::read_to_string(own.join("envvars")).expect("envvars");
    let below = |name: &str| root.path().join(name).display().to_string();
    for (usual, name) in
        [("/var/run/apache2", "run"), ("/var/log/apache2", "log"), ("/var/lock/apache2", "lock")]
    {
        assert!(envvars.contains(usual), "{envvars}");
        fs::create_dir(below(name)).expect("a folder");
    }
    let envvars = envvars.replace("/var/run/apache2$SUFFIX", &below("run"));
    let envvars = envvars.replace("/var/log/apache2$SUFFIX", &below("log"));
    fs::write(own.join("envvars"), envvars.replace("/var/lock/apache2$SUFFIX", &below("lock")))
        .expect("envvars");
    let mut check = Command::new(hostler_binary().expect("hostler"));
    check.arg("check").arg("-f").arg(own.join("apache2.conf"));
    // The tests' own user need not be root.
    let output = check.env_remove("APACHE_LOG_DIR").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("is not defined"), "{said}");
}

/// Debian's files: those that `setup.sh` has unpacked, else those of the installed package.
fn debians_folder() -> Option<PathBuf> {
    let named = std::env::var_os("APACHE_CONFIGURATION").map(PathBuf::from);
    let test = std::env::current_exe().ok()?;
    let unpacked = test.ancestors().skip(2).take(3).map(|folder| folder.join("oracle/apache2/etc/apache2"));
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/oracle/apache2/etc/apache2");
    let all = named.into_iter().chain(unpacked).chain([workspace, PathBuf::from("/etc/apache2")]);
    // Single modules' packages leave their files in /etc/apache2, too.
    all.into_iter().find(|folder| folder.join("apache2.conf").is_file())
}

fn wanted(test: &str) -> bool {
    std::env::var("CONFORMANCE_ONLY").map_or(true, |only| only == test)
}

fn kinds() -> Vec<Kind> {
    match std::env::var("HOSTLER_UNDER_TEST").as_deref() {
        Ok("apache") => vec![Kind::Apache],
        Ok("hostler") => vec![Kind::Hostler],
        _ if apache_installed() => vec![Kind::Apache, Kind::Hostler],
        _ => {
            hostler_untested::untested(
                "apache2 is not installed: Hostler is checked against the table alone",
            );
            vec![Kind::Hostler]
        }
    }
}

fn in_two_threads(plan: &Plan, subjects: &[Subject]) -> Vec<Report> {
    let parent = tempfile::Builder::new().prefix("conformance-").tempdir().expect("a folder");
    // The servers' unprivileged user must come through.
    fs::set_permissions(parent.path(), Permissions::from_mode(0o755)).expect("its mode");
    let (next, reports) = (Mutex::new(subjects.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(of) = next.lock().expect("the list").next() else { break };
                    let report = subject(plan, of, parent.path());
                    reports.lock().expect("the reports").push(report);
                }
            });
        }
    });
    let mut reports = reports.into_inner().expect("the reports");
    reports.sort_by(|one, two| one.subject.cmp(&two.subject));
    if std::env::var_os("CONFORMANCE_KEEP").is_some() {
        println!("kept: {}", parent.keep().display());
    }
    reports
}

fn show(report: &Report) -> usize {
    print!("{}", report.printed);
    for failure in &report.failures {
        println!("{failure}");
    }
    if !report.cases.is_empty() {
        for case in &report.undecided {
            println!("{}/{case}: Apache answers now as Hostler and now otherwise", report.subject);
        }
        println!("{:12} {:?}, {} failures", report.subject, report.cases, report.failures.len());
    }
    report.failures.len()
}
