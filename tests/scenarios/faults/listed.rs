//! docs/faults.md names the test of each fault, docs/guards.md that of each guard: those tests exist, and no scenario of
//! this folder is missing in the former.

use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of all files of a folder, those below included.
fn text_below(folder: &Path) -> String {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path()).collect();
    entries.sort();
    let text = |path: &PathBuf| {
        if path.is_dir() { text_below(path) } else { fs::read_to_string(path).expect("text") }
    };
    entries.iter().map(text).collect()
}

/// Returns the names between backquotes in the tables.
fn named(document: &str) -> Vec<&str> {
    let rows = document.lines().filter(|line| line.starts_with('|'));
    rows.flat_map(|row| row.split('`').skip(1).step_by(2)).collect()
}

/// All tests and cases that these names mean exist.
fn exist(names: &[&str]) {
    let folders = [
        "tests/scenarios",
        "crates/hostler-ring",
        "crates/hostler-gateway/src",
        "crates/hostler-config",
        "crates/hostler/tests",
        "engines/perl/tests",
        "engines/perl/technique/src",
        "engines/perl/frames/src",
        "engines/php/technique",
        "engines/python/src",
        "engines/servlet/technique",
        "crates/hostler-wire/src",
        "crates/hostler-sys/src",
        "crates/hostler-front/src",
        "crates/hostler-site/src",
        "crates/hostler-master/src",
        "crates/hostler-http2/src",
    ];
    let scenarios: String = folders.iter().map(|folder| text_below(&repository().join(folder))).collect();
    // Names of classes have capitals.
    let is_test = |test: &str| !test.contains(|letter: char| letter.is_uppercase() || letter == '>');
    let last =
        |name: &&'_ str| name.rsplit_once("::").map(|(_, test)| test.to_owned()).filter(|test| is_test(test));
    let of_crate = |name: &&'_ str| {
        let (subject, test) = name.rsplit_once(": ")?;
        let known = ["ring", "ring: model", "pool", "perl", "config", "hostler", "…"].contains(&subject)
            && !test.contains(' ');
        known.then(|| test.rsplit("::").next().unwrap_or_default().to_owned())
    };
    for name in names.iter().filter_map(|name| of_crate(name).or_else(|| last(name))) {
        let elsewhere = name == "authorities";
        assert!(elsewhere || scenarios.contains(&format!("fn {name}()")), "there is no test {name}");
    }
    for (subject, case) in names.iter().filter_map(|name| name.split_once('/')) {
        let file = if subject == "syntax" { "syntax.toml" } else { &format!("cases/{subject}.toml") };
        let Ok(table) = fs::read_to_string(repository().join("conformance").join(file)) else {
            continue;
        };
        // `*` stands at the end, or for a word.
        let parts: Vec<&str> = case.split('*').collect();
        let matches = |line: &str| {
            line.starts_with(&format!("name = \"{}", parts[0]))
                && parts.iter().all(|part| line.contains(part))
        };
        assert!(table.lines().any(matches), "there is no case {subject}/{case}");
    }
}

#[test]
fn every_guard_has_its_test() {
    let document = fs::read_to_string(repository().join("docs/guards.md")).expect("the document");
    exist(&named(&document));
    let rows = document.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| directive"));
    for row in rows {
        let test = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        assert!(test.contains('`'), "without a test: {row}");
    }
}

#[test]
fn every_fault_has_its_test() {
    let document = fs::read_to_string(repository().join("docs/faults.md")).expect("the document");
    let names = named(&document);
    exist(&names);
    let here = text_below(&repository().join("tests/scenarios/faults"));
    let tests = here.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split('(').next());
    for test in tests.filter(|test| {
        !matches!(*test, "every_fault_has_its_test" | "every_guard_has_its_test" | "requests_and_bodies_pass")
    }) {
        assert!(names.iter().any(|name| name.ends_with(&format!("::{test}"))), "{test} is not listed");
    }
}
