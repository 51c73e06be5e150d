//! The suite as a test: two threads take subjects from one list.
//!
//! `HOSTLER_UNDER_TEST=apache` checks the table alone, `=hostler` Hostler alone;
//! `CONFORMANCE_ONLY=subject[/case],...` picks; `CONFORMANCE_PRINT=1` shows every answer;
//! `HOSTLER_BIN` names the binary.

use hostler_conformance::run::{Plan, Report, subject};
use hostler_conformance::server::{Kind, apache_installed};
use hostler_conformance::table::Subject;
use hostler_conformance::{differences, syntax, table};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
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
    let folder = std::env::var("APACHE_CONFIGURATION").unwrap_or_else(|_| "/etc/apache2".to_owned());
    if !wanted("debian") || !kinds().contains(&Kind::Hostler) || !Path::new(&folder).exists() {
        println!("no Hostler to check {folder} with, or no such folder");
        return;
    }
    let root = tempfile::tempdir().expect("a folder");
    syntax::prepare(root.path()).expect("its content");
    let checks = syntax::packaged(Path::new(&folder)).expect("the files");
    let judge = |check| syntax::judge(Kind::Hostler, check, root.path()).unwrap_or_else(Some);
    let findings: Vec<String> = checks.iter().filter_map(judge).collect();
    println!("{} files in {folder}: {} failures", checks.len(), findings.len());
    assert!(findings.is_empty(), "{}", findings.join("\n"));
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
            hostler_untested::untested("apache2 is not installed: Hostler is checked against the table alone");
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
        println!("{:12} {:?}, {} failures", report.subject, report.cases, report.failures.len());
    }
    report.failures.len()
}
