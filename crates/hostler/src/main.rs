//! `hostler`: the operator's command. It starts, checks, explains and signals servers; it serves nothing itself.
//! Hidden in it is the planner, which the master runs to turn a configuration into a plan.
//!
//! Exit status: 0 done, 1 the configuration (or what it needs) is at fault, 2 wrong arguments; `status` also has 3:
//! not running.

mod backend;
mod check;
mod cli;
mod closed_pipe;
mod docs;
mod explain;
mod load;
mod open_as;
mod perl_sections;
mod plan;
mod run;
mod serve;
mod signal;
mod sites;
mod status;
mod survey;
mod version;

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// Why a command failed: a sentence, or several lines, for stderr.
pub(crate) struct Failed(String);

impl<T: std::fmt::Display> From<T> for Failed {
    fn from(why: T) -> Self {
        Self(why.to_string())
    }
}

fn main() -> ExitCode {
    closed_pipe::ends_quietly(command)
}

fn command() -> ExitCode {
    if let Err(why) = hostler_techniques::install() {
        return finish(Err(why.into()));
    }
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if matches!(&words[..], [word] if word == "--version" || word == "-V") {
        print!("{}", version::text());
        return ExitCode::SUCCESS;
    }
    let done = match cli::Cli::parse().command {
        cli::Command::Serve(args) => serve::serve(&args),
        cli::Command::Run(args) => run::run(&args),
        cli::Command::Check(args) => check::command(&args),
        cli::Command::Sites(args) => sites::sites(&args),
        cli::Command::Explain(args) => explain::explain(&args),
        cli::Command::Reload(args) => signal::reload(&args),
        cli::Command::Stop(args) => signal::stop(&args),
        cli::Command::Backend(args) => backend::command(&args),
        cli::Command::Status(args) => return status::status(&args),
        cli::Command::Lab(args) => match hostler_lab::command::run(&args) {
            Ok(status) => return status,
            Err(why) => Err(format!("{why:#}").into()),
        },
        cli::Command::Plan(args) => plan::command(&args),
        cli::Command::PipedLog { target } => plan::piped::command(&target),
        cli::Command::ReopenLogs => plan::reopen::command(),
        cli::Command::OpenAs => open_as::command(),
        cli::Command::Docs(args) => docs::write(&args),
    };
    finish(done)
}

/// A command's end: its exit status, and on stderr why it failed.
pub(crate) fn finish(done: Result<(), Failed>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(why)) if closed_pipe::is_meant(&why) => closed_pipe::status(),
        Err(Failed(why)) => {
            for line in why.lines() {
                let _ = writeln!(std::io::stderr(), "hostler: error: {line}");
            }
            ExitCode::FAILURE
        }
    }
}
