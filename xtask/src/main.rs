//! The project's own tool: everything that `make` and CI do, as commands of `cargo xtask`.
//!
//! One file per command. Not here: installing packages (`setup.sh`), installing Hostler (`packaging/install.sh`).

mod attack;
mod bench;
mod cargo;
mod check;
mod comments;
mod docs;
mod documents;
mod folders;
mod fresh;
mod languages;
mod layers;
mod php;
mod runs;
mod showcase;
mod sizes;
mod source;
mod survey;
mod test;
mod time;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Hostler's development tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", version, about)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Serve examples/showcase (what `make run` does)
    Run {
        /// Address and port to listen on; one of them alone, too
        #[arg(long, default_value = showcase::DEFAULT, value_parser = showcase::address)]
        listen: SocketAddr,
    },
    /// Formatting, lints, layers and sizes
    Check,
    /// Everything that has to be green: check, unit tests, black box, conformance, fuzz smoke
    Test,
    /// The conformance table: against the real Apache first, then against Hostler
    Conformance,
    /// A short run of every fuzz target
    FuzzSmoke,
    /// Check the configuration of Debian's packages, and write the result to docs/survey.md
    Survey {
        /// Packages; none: those of the last survey
        packages: Vec<String>,
    },
    /// Does each crate use lower layers only? (layers.toml)
    Layers,
    /// Do the paths, links and tests that the documents name exist?
    Documents,
    /// Long files and long functions
    Sizes {
        /// Also list what is within the limits, longest first
        #[arg(long)]
        all: bool,
    },
    /// Follow the README in a minimal Debian root: make run, the set-up of the tests, make install
    Fresh {
        /// Leave the root below target/fresh, and go on with it the next time: quicker, but no longer fresh
        #[arg(long)]
        keep: bool,
        /// Try the packages of make deb instead: alone, beside Apache, and purged
        #[arg(long)]
        packages: bool,
        /// The first process of the namespace, and where the root is
        #[arg(long, hide = true)]
        inside: Option<PathBuf>,
    },
    /// Measure what one tenant can do to the others, long, with the release programs; its table goes to docs/faults.md
    Attack,
    /// Measure against the packaged Apache and nginx; figures go to docs/performance.md
    Bench(bench::Options),
    /// The lab's runs that are committed, in lab/runs, and the README's picture of them: hours, on a quiet machine
    Runs(runs::Options),
    /// Release programs in target/release
    Build,
    /// Directive reference, man pages and completions
    Docs,
}

fn main() -> Result<()> {
    std::env::set_current_dir(cargo::workspace())?;
    match Cli::parse().task {
        Task::Run { listen } => showcase::run(listen),
        Task::Check => check::run(),
        Task::Test => test::run(),
        Task::Conformance => test::conformance(),
        Task::FuzzSmoke => test::fuzz_smoke(),
        Task::Survey { packages } => survey::run(&packages),
        Task::Layers => layers::run(),
        Task::Documents => documents::run(),
        Task::Sizes { all } => sizes::run(all),
        Task::Fresh { inside: None, keep, packages } => fresh::run(keep, packages),
        Task::Fresh { inside: Some(folder), packages, .. } => fresh::inside(&folder, packages),
        Task::Attack => attack::run(),
        Task::Bench(options) => bench::run(&options),
        Task::Runs(options) => runs::run(&options),
        Task::Build => cargo::run(&["build", "--release"]).and_then(|()| php::build_others("release")),
        Task::Docs => docs::run(),
    }
}
