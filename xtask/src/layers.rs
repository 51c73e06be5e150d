//! `cargo xtask layers`: does each crate use lower layers only, and does its code keep to its role?
//!
//! The rules are data in `layers.toml`; dependencies come from the crates' `Cargo.toml`. Development
//! dependencies are free: a test may use what the crate may not. The order inside a crate is [`crate::folders`]'.

use crate::{folders, source};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// `layers.toml`.
#[derive(Deserialize)]
struct Rules {
    /// Layer number to the crates on it.
    layers: BTreeMap<String, Vec<String>>,
    /// Crates whose dependencies inside the workspace are a closed list.
    #[serde(default)]
    only: BTreeMap<String, Vec<String>>,
    /// For crates whose folders have an order: lines of names, from the lowest. Names on one line belong together.
    #[serde(default)]
    folders: BTreeMap<String, Vec<String>>,
    /// Temporarily accepted upward uses: `file uses module`.
    #[serde(default)]
    upwards: BTreeMap<String, BTreeSet<String>>,
    /// Words that must not occur in a crate.
    #[serde(default)]
    words: Vec<Words>,
}

#[derive(Deserialize)]
struct Words {
    #[serde(rename = "crate")]
    name: String,
    never: Vec<String>,
    reason: String,
}

/// A crate of the workspace and its dependencies, ours and foreign.
struct Member {
    name: String,
    folder: PathBuf,
    uses: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let rules: Rules = toml::from_str(&std::fs::read_to_string("layers.toml")?).context("layers.toml")?;
    let members = members()?;
    let mut wrong = misplaced(&rules, &members)?;
    wrong.extend(closed_lists(&rules, &members));
    for words in &rules.words {
        wrong.extend(forbidden_words(words, &members)?);
    }
    let none = BTreeSet::new();
    for (name, lines) in &rules.folders {
        match members.iter().find(|member| member.name == *name) {
            Some(member) => wrong.extend(folders::wrong(
                name,
                &member.folder.join("src"),
                lines,
                rules.upwards.get(name).unwrap_or(&none),
            )?),
            None => wrong.push(format!("layers.toml: there is no crate {name}")),
        }
    }
    if !wrong.is_empty() {
        bail!("layers.toml is not kept:\n  {}", wrong.join("\n  "));
    }
    eprintln!("layers: {} crates keep to layers.toml", members.len());
    Ok(())
}

/// Crates that are in no layer, and dependencies that do not point downwards.
fn misplaced(rules: &Rules, members: &[Member]) -> Result<Vec<String>> {
    let mut layer_of = BTreeMap::new();
    for (layer, crates) in &rules.layers {
        let layer: u32 =
            layer.parse().with_context(|| format!("layers.toml: layer {layer} is not a number"))?;
        layer_of.extend(crates.iter().map(|name| (name.as_str(), layer)));
    }
    let mut wrong = Vec::new();
    for member in members {
        let Some(own) = layer_of.get(member.name.as_str()) else {
            wrong.push(format!("{} is in no layer: enter it in layers.toml", member.name));
            continue;
        };
        for used in &member.uses {
            // A crate of ours that is in no layer is reported at its own turn.
            if let Some(other) = layer_of.get(used.as_str())
                && other >= own
            {
                wrong.push(format!("{} (layer {own}) uses {used} (layer {other})", member.name));
            }
        }
    }
    Ok(wrong)
}

fn closed_lists(rules: &Rules, members: &[Member]) -> Vec<String> {
    let ours = |name: &String| members.iter().any(|member| member.name == *name);
    let mut wrong = Vec::new();
    for member in members {
        let Some(allowed) = rules.only.get(&member.name) else { continue };
        let extra = member.uses.iter().filter(|used| ours(used) && !allowed.contains(used));
        wrong.extend(extra.map(|used| format!("{} may not use {used}", member.name)));
    }
    wrong
}

fn forbidden_words(words: &Words, members: &[Member]) -> Result<Vec<String>> {
    let Some(member) = members.iter().find(|member| member.name == words.name) else {
        return Ok(vec![format!("layers.toml: there is no crate {}", words.name)]);
    };
    let mut wrong = Vec::new();
    for source in source::below(&member.folder.join("src"))? {
        for (number, line) in source.bare_lines() {
            let found = words.never.iter().filter(|word| line.contains(word.as_str()));
            wrong.extend(
                found.map(|word| format!("{}:{number}: `{word}`: {}", source.path.display(), words.reason)),
            );
        }
    }
    Ok(wrong)
}

fn members() -> Result<Vec<Member>> {
    let mut folders: Vec<PathBuf> =
        ["bench", "conformance", "tests", "fuzz", "xtask"].iter().map(PathBuf::from).collect();
    for entry in std::fs::read_dir("crates")? {
        folders.push(entry?.path());
    }
    for entry in std::fs::read_dir("engines")? {
        let engine = entry?.path();
        folders.extend([engine.join("technique"), engine]);
    }
    folders.sort();
    folders.iter().filter(|folder| folder.join("Cargo.toml").exists()).map(|folder| member(folder)).collect()
}

fn member(folder: &Path) -> Result<Member> {
    let file = folder.join("Cargo.toml");
    let manifest: toml::Table =
        toml::from_str(&std::fs::read_to_string(&file)?).with_context(|| file.display().to_string())?;
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let name = name.with_context(|| format!("{} names no package", file.display()))?.to_owned();
    let tables =
        ["dependencies", "build-dependencies"].iter().filter_map(|key| manifest.get(*key)?.as_table());
    let uses = tables.flat_map(|table| table.keys().cloned()).collect();
    Ok(Member { name, folder: folder.to_path_buf(), uses })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, uses: &[&str]) -> Member {
        Member {
            name: name.into(),
            folder: PathBuf::new(),
            uses: uses.iter().map(|used| (*used).into()).collect(),
        }
    }

    fn rules() -> Rules {
        toml::from_str("[layers]\n0 = ['low', 'lower']\n1 = ['high']\n[only]\nhigh = ['low']").unwrap()
    }

    #[test]
    fn a_dependency_must_point_downwards() {
        let fine = [member("low", &["serde"]), member("high", &["low"])];
        assert!(misplaced(&rules(), &fine).unwrap().is_empty());
        let sideways = [member("low", &["lower"])];
        assert_eq!(misplaced(&rules(), &sideways).unwrap(), ["low (layer 0) uses lower (layer 0)"]);
        let upwards = [member("low", &["high"])];
        assert_eq!(misplaced(&rules(), &upwards).unwrap(), ["low (layer 0) uses high (layer 1)"]);
    }

    #[test]
    fn a_crate_without_a_layer_is_named() {
        assert_eq!(misplaced(&rules(), &[member("new", &[])]).unwrap().len(), 1);
    }

    #[test]
    fn a_closed_list_is_closed() {
        let members = [member("low", &[]), member("lower", &[]), member("high", &["low", "lower", "libc"])];
        assert_eq!(closed_lists(&rules(), &members), ["high may not use lower"]);
    }
}
