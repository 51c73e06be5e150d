//! `cargo xtask documents`: what the documents name exists.
//!
//! Checked in every Markdown file: the targets of links, paths of this repository between backquotes, and names of tests. And the table of
//! layers in ARCHITECTURE.md agrees with `layers.toml`. Not checked: prose, commands, and names in code blocks.

use crate::source;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of the repository: a name between backquotes that begins with one of them is a path.
const FOLDERS: [&str; 13] = [
    ".ci/",
    "bench/",
    "conformance/",
    "crates/",
    "docs/",
    "engines/",
    "examples/",
    "fuzz/",
    "lab/",
    "packaging/",
    "tests/",
    "xtask/",
    ".cargo/",
];
/// A name of a function with this many underscores is a test's: those are sentences.
const UNDERSCORES: usize = 3;

pub(crate) fn run() -> Result<()> {
    let functions = functions()?;
    let mut wrong = Vec::new();
    let files = markdown()?;
    for file in &files {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = without_blocks(&text);
        let missing = links(&text)
            .filter(|link| !link_leads_somewhere(file, link))
            .map(|link| format!("the link to {link}"));
        let paths = quoted(&text)
            .filter(|name| is_path(name) && !exists(name))
            .map(|name| format!("the path {name}"));
        let tests = quoted(&text).filter_map(test_name).filter(|name| !functions.contains(*name));
        let tests = tests.map(|name| format!("the test {name}"));
        wrong.extend(
            missing
                .chain(paths)
                .chain(tests)
                .map(|what| format!("{}: {what} does not exist", file.display())),
        );
    }
    wrong.extend(layer_table(&fs::read_to_string("ARCHITECTURE.md")?, &fs::read_to_string("layers.toml")?)?);
    if !wrong.is_empty() {
        bail!("the documents name what does not exist:\n  {}", wrong.join("\n  "));
    }
    eprintln!("documents: all that {} files name exists", files.len());
    Ok(())
}

/// The repository's Markdown files: what git knows or would add.
fn markdown() -> Result<Vec<PathBuf>> {
    let mut list = std::process::Command::new("git");
    list.args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"]);
    let output = list.output().context("cannot run git")?;
    let paths = String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect::<Vec<_>>();
    Ok(paths.into_iter().filter(|path| path.exists()).collect())
}

/// Names of all functions in Rust.
fn functions() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for source in source::below(Path::new("."))? {
        for rest in source.text.split("fn ").skip(1) {
            let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
            names.extend(name.map(str::to_owned));
        }
    }
    Ok(names)
}

/// The text without fenced code blocks.
fn without_blocks(text: &str) -> String {
    let parts = text.split("```").step_by(2);
    parts.collect::<Vec<_>>().join("\n")
}

/// The texts between single backquotes on one line.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Targets of links within the repository, without their fragment.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.map(|target| target.split('#').next().unwrap_or_default());
    targets.filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(' '))
}

/// Links are relative to the file, or to the file that it becomes a part of.
fn link_leads_somewhere(file: &Path, link: &str) -> bool {
    let file = if file == Path::new("bench/head.md") { Path::new("docs/performance.md") } else { file };
    file.parent().unwrap_or(Path::new("")).join(link).exists()
}

fn is_path(name: &str) -> bool {
    let is_literal = !name.contains(['*', '<', '{', '…', ' ', '=', '$', '"', '|']) && !name.contains("NNNN");
    is_literal && FOLDERS.iter().any(|folder| name.starts_with(folder))
}

/// A path, or a path and what is in that file (`file.rs:12`, `folder/module::item`).
fn exists(name: &str) -> bool {
    let path = name.split(':').next().unwrap_or(name);
    Path::new(path).exists() || Path::new(&format!("{path}.rs")).exists()
}

/// The function that a name of a test means: its last part.
fn test_name(name: &str) -> Option<&str> {
    let last = name.rsplit("::").next()?;
    let is_plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_';
    let is_name = last.bytes().all(is_plain) && !last.starts_with('_') && !last.ends_with('_');
    (is_name && last.matches('_').count() >= UNDERSCORES && name.contains("::")).then_some(last)
}

/// Lists the differences between the table of crates and the list of layers.
fn layer_table(document: &str, layers: &str) -> Result<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Layers {
        layers: BTreeMap<String, Vec<String>>,
    }
    let layers: Layers = toml::from_str(layers).context("layers.toml")?;
    let listed = layers
        .layers
        .iter()
        .flat_map(|(layer, crates)| crates.iter().map(move |name| (name.as_str(), layer.as_str())));
    let listed: BTreeMap<&str, &str> = listed.collect();
    let section = document.split("\n## ").find(|section| section.starts_with("Layers")).unwrap_or_default();
    let mut shown = BTreeMap::new();
    for row in section.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if let [_, layer, crates, ..] = cells[..]
            && layer.parse::<u32>().is_ok()
        {
            shown.extend(crates.split('`').skip(1).step_by(2).map(|name| (name, layer)));
        }
    }
    let mut wrong = Vec::new();
    for (name, layer) in &listed {
        match shown.get(name) {
            None => wrong.push(format!("ARCHITECTURE.md: the table of layers lacks {name} (layer {layer})")),
            Some(other) if other != layer => {
                wrong.push(format!("ARCHITECTURE.md: {name} is in layer {layer}, not {other} (layers.toml)"));
            }
            Some(_) => {}
        }
    }
    let unknown = shown.keys().filter(|name| !listed.contains_key(*name));
    wrong.extend(unknown.map(|name| format!("ARCHITECTURE.md: layers.toml has no crate {name}")));
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_text_and_not_in_blocks() {
        let text = without_blocks(
            "see [a](b.md#c), [d](https://e.example/) and `crates/f`\n```sh\n`crates/g`\n```\n`h`",
        );
        assert_eq!(links(&text).collect::<Vec<_>>(), ["b.md"]);
        assert_eq!(quoted(&text).collect::<Vec<_>>(), ["crates/f", "h"]);
    }

    #[test]
    fn paths_and_tests_are_told_from_other_words() {
        assert!(is_path("crates/hostler-sys/src/lib.rs") && is_path("docs/"));
        assert!(
            !is_path("conformance/cases/rewrite-*.toml")
                && !is_path("engines/<name>")
                && !is_path("http/one")
        );
        assert_eq!(test_name("faults::http1::a_body_that_stops"), Some("a_body_that_stops"));
        assert_eq!((test_name("faults::http1"), test_name("my_own_variable_name")), (None, None));
    }

    #[test]
    fn the_table_of_layers_is_compared() {
        let layers = "[layers]\n0 = [\"a\", \"b\"]\n1 = [\"c\"]\n";
        let wrong = |rows: &str| {
            layer_table(&format!("# x\n\n## Layers\n\n| layer | crate |\n|---|---|\n{rows}"), layers).unwrap()
        };
        assert!(wrong("| 0 | `a` `b` | x |\n| 1 | `c` | y |\n").is_empty());
        assert_eq!(wrong("| 1 | `a` | x |\n| 1 | `c` `d` | y |\n").len(), 3);
    }
}
