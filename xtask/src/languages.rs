//! C and Perl: how they are laid out, what of Perl is known to go wrong, and how long files are; and what dependencies
//! there are. Sources are those that git knows. `rustfmt` and the lints are for Rust what this is for the others.
//!
//! A tool that is not there says NOT TESTED; `setup.sh test` installs them.

use crate::cargo;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Folders whose C has the layout of `.clang-format`. What is generated keeps its generator's.
const C: &[&str] =
    &["engines/echo", "engines/perl", "engines/php", "crates/hostler-engine/include/hostler_engine.h"];
/// Folders whose Perl is shipped. Tests and samples may do what programs of others do.
const PERL: &[&str] = &["engines/perl/lib"];
/// Folders whose files have a head and a bounded length.
const SHIPPED: &[&str] = &["engines", "crates"];

/// The longest file, in lines.
const LONGEST: usize = 700;

pub(crate) fn run() -> Result<()> {
    heads_and_sizes()?;
    layout_of_c()?;
    perl_critic()?;
    dependencies()
}

/// Licences, duplicates and sources of dependencies (deny.toml), from what cargo has fetched already. Which release of
/// Rust is needed at least the lints look after: clippy knows the workspace's `rust-version`.
fn dependencies() -> Result<()> {
    if !is_there("cargo-deny") {
        return Ok(());
    }
    // It wants to see all of them, those of other systems and of the fuzzing programs, too.
    let fetched =
        Command::new("cargo").args(["metadata", "--offline", "--locked", "--format-version=1"]).output()?;
    if !fetched.status.success() {
        println!("dependencies are not checked: not all of them have been fetched (cargo fetch)");
        return Ok(());
    }
    cargo::run(&["deny", "--offline", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"])
}

fn layout_of_c() -> Result<()> {
    if !is_there("clang-format") {
        return Ok(());
    }
    let files = files(C, &["c", "h"])?;
    cargo::quietly(Command::new("clang-format").args(["--dry-run", "-Werror"]).args(files))
}

fn perl_critic() -> Result<()> {
    if !is_there("perlcritic") {
        return Ok(());
    }
    let files = files(PERL, &["pm", "pl"])?;
    cargo::quietly(Command::new("perlcritic").args(["--profile", ".perlcriticrc", "--quiet"]).args(files))
}

/// Each file begins with what it is, and is no longer than a reader can bear.
fn heads_and_sizes() -> Result<()> {
    let mut wrong = Vec::new();
    for path in files(SHIPPED, &["c", "h", "xs", "pm"])? {
        if Path::new(&path).components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let lines = text.lines().count();
        if lines > LONGEST {
            wrong.push(format!("{path}: {lines} lines; {LONGEST} are the limit"));
        }
        if !has_head(&text) {
            wrong.push(format!("{path}: it does not begin with a comment that says what it is"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

/// A comment before anything else, but for what has to come first.
fn has_head(text: &str) -> bool {
    let first = |line: &&str| {
        let declares = ["package ", "use ", "#!", "#ifndef", "#define", "#pragma"];
        !line.trim().is_empty() && !declares.iter().any(|word| line.starts_with(word))
    };
    text.lines()
        .find(first)
        .is_some_and(|line| ["#", "/*", "//", "="].iter().any(|mark| line.starts_with(mark)))
}

/// The files below some folders, or named, with one of these extensions.
fn files(places: &[&str], extensions: &[&str]) -> Result<Vec<String>> {
    let listed = Command::new("git").arg("ls-files").args(places).current_dir(cargo::workspace()).output();
    let listed = listed.context("cannot run git")?;
    if !listed.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let is_one = |path: &&str| path.rsplit_once('.').is_some_and(|(_, end)| extensions.contains(&end));
    Ok(String::from_utf8_lossy(&listed.stdout).lines().filter(is_one).map(str::to_owned).collect())
}

/// Returns whether a program can be run; says NOT TESTED if it can't.
fn is_there(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        hostler_untested::not_tested("cargo xtask check", &format!("{program} is not installed"));
    }
    is_there
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_before_everything_but_what_has_to_be_first() {
        for text in [
            "/* What it is. */\nint x;\n",
            "package Foo;\nuse strict;\n\n# What it is.\n",
            "#!/usr/bin/perl\n# x\n",
        ] {
            assert!(has_head(text), "{text}");
        }
        for text in ["", "int x; /* late */\n", "package Foo;\nmy $x;\n# late\n"] {
            assert!(!has_head(text), "{text}");
        }
    }
}
