//! The scenarios of docs/performance.md, which the binary does not carry: each can be read, and has the name of its file, by
//! which `cargo xtask bench` and the aims find it.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_lab::{application, scenario};
use std::path::Path;

#[test]
fn every_scenario_of_the_performance_page_is_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/performance");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let scenario = scenario::load(file.to_str().unwrap()).unwrap();
        assert_eq!(scenario.name, file.file_stem().unwrap().to_str().unwrap());
        let techniques = application::techniques(&scenario.application, &application::Options::default());
        let names: Vec<_> = techniques.unwrap().iter().map(|technique| technique.name).collect();
        for case in &scenario.cases {
            assert!(names.contains(&case.technique.as_str()), "{}: {}", scenario.name, case.name);
        }
        seen += 1;
    }
    assert!(seen > 5, "{seen} scenarios");
}
