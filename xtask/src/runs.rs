//! `cargo xtask runs`: the lab's runs that are committed, each in its folder below lab/runs, and the README's picture of one of
//! them. Who measures commits what it leaves, and says in docs/techniques.md what follows from it.

use crate::{bench, cargo};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folder and arguments of each run. BENCH1 as it was published is too easy for today's machines: it has ten times the clients, and
/// once as many as it takes.
const RUNS: [(&str, &str); 16] = [
    ("registry", "registry"),
    ("include", "include"),
    ("isolation", "isolation"),
    ("bench1", "bench1 --scale 10"),
    ("bench1-saturation", "bench1 --saturation"),
    ("bench2", "bench2"),
    ("bench3", "bench3"),
    ("bench4", "bench4"),
    ("bench1-keep-alive", "bench1 --scale 10 --keep-alive on"),
    ("bench2-keep-alive", "bench2 --keep-alive on"),
    ("bench3-keep-alive", "bench3 --keep-alive on"),
    ("bench4-keep-alive", "bench4 --keep-alive on"),
    ("bench1-postgresql", "bench1 --scale 10 --database postgresql"),
    ("bench2-postgresql", "bench2 --database postgresql"),
    ("bench3-postgresql", "bench3 --database postgresql"),
    ("bench4-postgresql", "bench4 --database postgresql"),
];

/// The run that the README shows: techniques side by side, as fast as they go.
const SHOWN: &str = "bench2-keep-alive";
const PICTURE: &str = "docs/pictures/techniques.svg";

/// The options of `runs`.
#[derive(Args)]
pub(crate) struct Options {
    /// The folder [default: lab/runs/DATE-MACHINE, as the lab names it]. What is there already is not measured again
    #[arg(long)]
    out: Option<PathBuf>,
    /// As `hostler lab --quick`
    #[arg(long)]
    quick: bool,
    /// Only these (the names of their folders)
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Take the programs of this profile as they are: release or debug
    #[arg(long)]
    no_build: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(stranger) = options.only.iter().find(|name| !RUNS.iter().any(|(run, _)| run == name)) {
        bail!("unknown run {stranger:?} (expected one of {})", RUNS.map(|(name, _)| name).join(", "));
    }
    if options.no_build.is_none() {
        cargo::run(&["build", "--release"])?;
        bench::archive();
    }
    let hostler = cargo::programs(options.no_build.as_deref().unwrap_or("release")).join("hostler");
    let folder = options.out.clone().map_or_else(today, Ok)?;
    let mut failed = Vec::new();
    for (name, words) in RUNS {
        let out = folder.join(name);
        let wanted = options.only.is_empty() || options.only.iter().any(|only| only == name);
        if !wanted || out.join("run.json").exists() {
            continue;
        }
        let mut lab = Command::new(&hostler);
        lab.arg("lab").args(words.split(' ')).args(options.quick.then_some("--quick")).arg("--out").arg(&out);
        // The others are worth having without it.
        if let Err(why) = cargo::finish(&mut lab) {
            eprintln!("{why:#}");
            failed.push(name);
        }
    }
    picture(&hostler, &folder.join(SHOWN))?;
    if !failed.is_empty() {
        bail!("not measured: {}", failed.join(", "));
    }
    Ok(())
}

/// Draws the README's picture, if its run is there.
fn picture(hostler: &Path, run: &Path) -> Result<()> {
    if !run.join("run.json").exists() {
        eprintln!("{PICTURE} is as it was: there is no {}", run.display());
        return Ok(());
    }
    let mut report = Command::new(hostler);
    cargo::finish(report.args(["lab", "report"]).arg(run).arg("--picture").arg(PICTURE))
}

/// Returns the folder of a run made today.
fn today() -> Result<PathBuf> {
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().context("cannot run date")?;
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().split('.').next().filter(|name| !name.is_empty()).unwrap_or("machine");
    Ok(Path::new("lab/runs").join(format!("{}-{name}", String::from_utf8_lossy(&date.stdout).trim())))
}
