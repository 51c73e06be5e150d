//! Time in tests: they wait for events. A pause, or an assertion on how long something took, stands under a comment
//! `// Time: why`, so that whoever meets one that fails on a busy machine knows what it is for, and nobody writes one for
//! want of an event.

use crate::source::{self, Source};
use anyhow::{Result, bail};
use std::path::Path;

/// The start of such a comment.
const REASON: &str = "// Time: ";

pub(crate) fn run() -> Result<()> {
    let mut wrong = Vec::new();
    for folder in ["crates", "engines", "conformance", "tests"] {
        for source in source::below(Path::new(folder))? {
            wrong.extend(without_reason(&source));
        }
    }
    if !wrong.is_empty() {
        bail!(
            "a test waits for an event (hostler_untested::wait), or says in a comment `{REASON}...` why time has to pass or \
             is measured:\n{}",
            wrong.join("\n")
        );
    }
    Ok(())
}

/// The places in the file's tests that have no reason beside them.
fn without_reason(source: &Source) -> Vec<String> {
    let first = if is_of_tests(&source.path) { 0 } else { source.code_lines() };
    let lines: Vec<&str> = source.text.lines().collect();
    let bare = |at: &usize| is_about_time(lines[*at]) && !has_reason(&lines, *at);
    let place = |at: usize| format!("{}:{}: {}", source.path.display(), at + 1, lines[at].trim());
    (first..lines.len()).filter(bare).map(place).collect()
}

fn is_of_tests(path: &Path) -> bool {
    let is_folder = path.components().any(|part| part.as_os_str() == "tests");
    is_folder || path.file_name().is_some_and(|name| name == "tests.rs") || path.starts_with("conformance")
}

/// Returns whether a line lets time pass, or has an opinion of how much has passed.
fn is_about_time(line: &str) -> bool {
    let line = line.trim_start();
    let pauses = ["thread::sleep(", "time::sleep("].iter().any(|call| line.contains(call))
        || line.starts_with("sleep(");
    pauses || (line.starts_with("assert") && line.contains("elapsed()"))
}

/// In the comment above the line, if there is one.
fn has_reason(lines: &[&str], at: usize) -> bool {
    let above = lines[..at].iter().rev().map(|line| line.trim_start());
    above.take_while(|line| line.starts_with("//")).any(|line| line.starts_with(REASON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, text: &str) -> usize {
        without_reason(&Source { path: path.into(), text: text.into() }).len()
    }

    #[test]
    fn tests_say_why_time_passes() {
        let pause = "    std::thread::sleep(PAUSE);\n";
        assert_eq!(places("crates/a/tests/b.rs", pause), 1);
        assert_eq!(places("crates/a/src/b.rs", pause), 0);
        assert_eq!(
            places("crates/a/src/b.rs", &format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{pause}}}\n")),
            1
        );
        for reason in
            ["// Time: a second's grain.\n", "// Time: a file of\n    // this second is read anew.\n"]
        {
            assert_eq!(places("tests/scenarios/b.rs", &format!("    {reason}{pause}")), 0);
        }
        assert_eq!(places("tests/b.rs", &format!("// Any other.\n{pause}")), 1);
        assert_eq!(places("tests/b.rs", "    assert!(begin.elapsed() < LONG);\n"), 1);
        assert_eq!(places("tests/b.rs", "    let took = begin.elapsed();\n"), 0);
    }
}
