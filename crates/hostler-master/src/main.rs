//! `hostler-master`: binds ports, spawns front and sites, reaps, throttles, reloads.
//!
//! It never parses a configuration, serves a request or starts a thread, and of what its children send it reads
//! sixteen bytes at a time. The planner (a short-lived child) tells it what to do in a [`hostler_wire::plan::Plan`].
//!
//! **Runs as** whoever starts it, normally root.
//! **Diagnostics** on stderr, one line each: info, warning, error (something was refused or failed and the server
//! goes on), fatal (the server ends). Ends with 0 after a stop, 1 or the planner's status when it can't start,
//! 2 after wrong arguments.

mod control;
mod door;
mod generation;
mod groups;
mod handover;
mod homes;
mod listen;
mod logs;
mod master;
mod options;
mod pid_file;
mod plan;
mod programs;
mod reap;
mod reload;
mod report;
mod site;
mod spawn;
mod status_socket;
mod stop;
mod throttle;
mod watchdog;

use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match options::Options::from_arguments(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(usage) => {
            report::fatal(&usage);
            return ExitCode::from(2);
        }
    };
    match master::Master::new(options) {
        Ok(master) => ExitCode::from(master.run()),
        Err(why) => {
            report::fatal(&why);
            ExitCode::FAILURE
        }
    }
}
