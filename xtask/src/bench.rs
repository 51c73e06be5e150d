//! `cargo xtask bench`: builds what is measured and what measures (folder bench/), and runs it.

use crate::cargo;
use anyhow::Result;
use clap::Args;
use std::process::Command;

/// The options of a measurement.
#[derive(Args)]
pub(crate) struct Options {
    /// Fewer and shorter rounds, only to see that everything works; the figures mean little
    #[arg(long)]
    quick: bool,
    /// Only these parts: files, rewriting, perl, keepalive, programs, tails, tails-perl, php, wordpress, sockets, python,
    /// proxy, servlets, limit, users, steady, memory, jvm, sites, virtual-hosts, idle, start
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Take the programs in target/release as they are
    #[arg(long)]
    no_build: bool,
    /// Print the tables without writing them to docs/performance.md
    #[arg(long)]
    dry_run: bool,
}

/// Makes Java's archive of classes, as `make install` does: servlets are measured as they are installed.
pub(crate) fn archive() {
    let servlet = cargo::programs("release").join("hostler-servlet");
    if servlet.exists()
        && let Err(why) = cargo::finish(Command::new(servlet).arg("--archive"))
    {
        eprintln!("servlets are measured without Java's archive of classes: {why:#}");
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if !options.no_build {
        cargo::run(&["build", "--release"])?;
        cargo::run(&["build", "--release", "--package", "hostler-bench"])?;
        archive();
    }
    let mut bench = Command::new(cargo::programs("release").join("hostler-bench"));
    if !options.only.is_empty() {
        bench.arg("--only").arg(options.only.join(","));
    }
    for (wanted, flag) in [(options.quick, "--quick"), (options.dry_run, "--dry-run")] {
        if wanted {
            bench.arg(flag);
        }
    }
    cargo::finish(&mut bench)
}
