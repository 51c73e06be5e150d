//! `hostler lab`: its arguments and what they do.
//!
//! Exit status: 0 done, 1 failed (nothing could be measured, interrupted, or something got worse), 2 wrong arguments.

mod compared;
mod measure;
mod progress;

pub use measure::{Measure, measured};

use crate::load::direct::LoadArgs;
use crate::{report, run, scenario};
use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `hostler lab`.
#[derive(Args, Clone, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct LabArgs {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  hostler lab list                           scenarios, and the servers that are installed here
  hostler lab registry --quick               Registry script or handler, in a few minutes
  hostler lab registry --quick --cpu 0.1     the same on a slow machine: servers get a tenth of a processor
  hostler lab bench1 --saturation            raise the load until an answer takes over 3 s
  hostler lab bench2 --technique psgi,handler --contestants hostler,apache-prefork
  hostler lab ./mine.toml                    a scenario of your own (start from a copy of one in lab/scenarios)
  hostler lab compare OLD NEW                what changed beyond noise?

A run goes to a folder of its own, lab/runs/DATE-MACHINE/SCENARIO: run.json, summary.txt, report.html, the samples as CSV, and
what the servers were configured with. Ctrl-C ends it early; what was measured until then is kept.";

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// List scenarios with their cases, and the servers that can take part here.
    List,
    /// E1: a script under Registry, or a handler of your own?
    #[command(after_help = MEASURE_EXAMPLES)]
    Registry(Measure),
    /// E2: server-side includes, with and without keep-alive.
    Include(Measure),
    /// E3: a user for each virtual host.
    Isolation(Measure),
    /// E4: one more client at a time, until an answer takes over 3 s.
    Bench1(Measure),
    /// E4: response time of 1 to 20 clients that ask without a pause.
    Bench2(Measure),
    /// E4: errors of single requests at a rate.
    Bench3(Measure),
    /// E4: a hundred clients: do all wait equally long?
    Bench4(Measure),
    /// A page of your own, in each way that can serve it.
    Run(crate::own_site::OwnSite),
    /// Say what changed between two runs beyond noise; exit status 1 if something got worse.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(compared::CompareArgs),
    /// Load one page, and print what came of it.
    Load(LoadArgs),
    /// Make the report of a run again, and print its tables.
    Report {
        /// The run's folder, or its run.json.
        #[arg(value_name = "RUN")]
        run: PathBuf,
        /// Also draw its answers a second, as SVG, to this file.
        #[arg(long, value_name = "FILE")]
        picture: Option<PathBuf>,
    },
    /// A scenario by its file's name.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

const MEASURE_EXAMPLES: &str = "\
Examples:
  hostler lab registry                                 5,000 requests, 15 at a time, 20 rounds
  hostler lab registry --quick --only light-handler,light-registry
  hostler lab registry --contestants hostler --out /tmp/run";

const COMPARE_EXAMPLES: &str = "\
Examples:
  hostler lab compare lab/runs/2026-11-01-web1/registry lab/runs/2026-11-21-web1/registry
  hostler lab compare old new --json          for programs
  hostler lab compare old new --smallest 5    less than 5 % is no change";

/// Runs `hostler lab`. What is wrong with the arguments is written to stderr.
///
/// # Errors
/// Something could not be read, written or started: a sentence for the user.
pub fn run(args: &LabArgs) -> Result<ExitCode> {
    match &args.command {
        Command::List => list(),
        Command::Registry(how) => measure::scenario("registry", how),
        Command::Include(how) => measure::scenario("include", how),
        Command::Isolation(how) => measure::scenario("isolation", how),
        Command::Bench1(how) => measure::scenario("bench1", how),
        Command::Bench2(how) => measure::scenario("bench2", how),
        Command::Bench3(how) => measure::scenario("bench3", how),
        Command::Bench4(how) => measure::scenario("bench4", how),
        Command::Run(args) => crate::own_site::own_site(args),
        Command::Compare(args) => compared::run(args),
        Command::Load(args) => measure::load(args),
        Command::Report { run, picture } => again(run, picture.as_deref()),
        Command::Other(words) => other(words),
    }
}

/// `hostler lab FILE ...`, or a name that does not exist.
fn other(words: &[OsString]) -> Result<ExitCode> {
    #[derive(Parser)]
    #[command(name = "hostler lab FILE")]
    struct Line {
        #[command(flatten)]
        how: Measure,
    }
    let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    if let Err(why) = scenario::load(&name) {
        return Ok(wrong_arguments(&format!("{why:#}\nSee also: hostler lab --help")));
    }
    match Line::try_parse_from(words) {
        Ok(line) => measure::scenario(&name, &line.how),
        Err(why) => {
            let _ = why.print();
            Ok(ExitCode::from(u8::try_from(why.exit_code()).unwrap_or(2)))
        }
    }
}

/// Says what is wrong with the arguments.
fn wrong_arguments(why: &str) -> ExitCode {
    for line in why.lines() {
        eprintln!("hostler: error: {line}");
    }
    ExitCode::from(2)
}

/// `hostler lab list`.
fn list() -> Result<ExitCode> {
    let mut out = String::from("Scenarios:\n");
    for name in scenario::all() {
        let scenario = scenario::load(name)?;
        out += &format!("  {name:<10} {}\n", scenario.title);
        let cases: Vec<&str> = scenario.cases.iter().map(|case| case.name.as_str()).collect();
        out += &format!("  {:<10} cases: {}\n", "", cases.join(", "));
        out += &format!("  {:<10} contestants: {}\n", "", scenario.contestants.join(", "));
    }
    out += "\nServers:\n";
    for server in crate::contestant::known() {
        let state = server.unavailable.or(server.version).unwrap_or_default();
        out += &format!("  {:<15} {:<28} {state}\n", server.name, server.title);
    }
    print(&out)
}

/// `hostler lab report RUN`.
fn again(path: &Path, picture: Option<&Path>) -> Result<ExitCode> {
    let run = run::open(path)?;
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    run::reports(&run, folder)?;
    if let Some(file) = picture {
        let drawn = report::picture(&run).context("nothing was measured, so there is nothing to draw")?;
        std::fs::write(file, drawn).with_context(|| format!("cannot write {}", file.display()))?;
    }
    show(&run)?;
    println!("\nReport: {}", folder.join("report.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Prints a run's tables.
fn show(run: &run::Run) -> Result<ExitCode> {
    let terminal = std::io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    print(&report::terminal(run, width(terminal), colour))
}

/// Columns of the terminal; enough for the tables where there is none.
fn width(terminal: bool) -> usize {
    const WIDE: usize = 120;
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let asked = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let columns = columns.or_else(|| asked().filter(|_| terminal));
    columns.filter(|columns| *columns > 0).unwrap_or(WIDE)
}

/// Prints a text; a reader that has gone is no failure.
fn print(text: &str) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        lab: LabArgs,
    }

    fn parsed(words: &str) -> Result<Command, clap::Error> {
        Line::try_parse_from(format!("lab {words}").split(' ')).map(|line| line.lab.command)
    }

    #[test]
    fn the_command_line_is_consistent() {
        Line::command().debug_assert();
    }

    #[test]
    fn scenarios_are_commands_and_files_too() {
        let Command::Registry(how) =
            parsed("registry --quick --cpu 0.1 --only light-handler,heavy-handler").unwrap()
        else {
            panic!("not registry")
        };
        assert!(how.quick && how.only == ["light-handler", "heavy-handler"]);
        assert!(matches!(parsed("./mine.toml --quick").unwrap(), Command::Other(words) if words.len() == 2));
        assert!(parsed("registry --database mysql").is_err());
    }

    #[test]
    fn what_does_not_exist_is_wrong_arguments() {
        assert_eq!(other(&["regestry".into()]).unwrap(), ExitCode::from(2));
        let how = Measure { contestants: vec!["iis".to_owned()], ..Measure::default() };
        assert_eq!(measure::scenario("registry", &how).unwrap(), ExitCode::from(2));
    }
}
