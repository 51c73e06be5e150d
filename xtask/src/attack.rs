//! `cargo xtask attack`: every attack of one tenant on the others, long, with the release programs; its table goes
//! to docs/faults.md.

use crate::cargo;
use anyhow::{Context, Result};
use std::fs;
use std::process::Command;

const DOCUMENT: &str = "docs/faults.md";
const BEGIN: &str = "<!-- cargo xtask attack: begin -->\n";
const END: &str = "<!-- cargo xtask attack: end -->\n";
const HEAD: &str = "\
| what A does | B's p99 before, ms | B's p50 meanwhile | p99 | longest | front grows by, MiB |
|---|---:|---:|---:|---:|---:|
";

/// Runs the attacks one after the other. The machine should do nothing else.
pub(crate) fn run() -> Result<()> {
    cargo::run(&["build", "--release", "--bins"])?;
    let rows = cargo::workspace().join("target/attack.md");
    if rows.exists() {
        fs::remove_file(&rows)?;
    }
    let mut test = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    test.args(["test", "--release", "--package", "hostler-tests", "--test", "scenarios", "--"]);
    test.args(["tenants::", "--test-threads", "1"]);
    test.env("HOSTLER_ATTACK", "long").env("HOSTLER_ATTACK_TABLE", &rows);
    let tried = cargo::finish(&mut test);
    let table = fs::read_to_string(&rows).context("no attack has run: they take root")?;
    eprint!("\n{HEAD}{table}");
    tried?;
    let document = fs::read_to_string(DOCUMENT)?;
    fs::write(DOCUMENT, replaced(&document, &table).context("docs/faults.md has no place for the table")?)?;
    Ok(())
}

/// The document with this table's rows between the marks.
fn replaced(document: &str, rows: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{HEAD}{rows}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let document = format!("a\n{BEGIN}old\n{END}b\n");
        assert_eq!(replaced(&document, "new\n").unwrap(), format!("a\n{BEGIN}{HEAD}new\n{END}b\n"));
        assert_eq!(replaced("a", "new\n"), None);
    }
}
