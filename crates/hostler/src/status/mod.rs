//! `hostler status`: whether the server runs, and its figures: fronts, sites, pools with their workers.
//!
//! The figures come from the front over the status socket beside the PidFile; what is said there is bounded, decoded
//! into numbers and short texts, and shown without control characters. Nothing of a site's is read.
//!
//! Exit status, as service scripts expect it (LSB): 0 it runs, 3 it does not, 1 that can't be told.

pub(crate) mod ask;
mod columns;
mod figures;
pub(crate) mod fronts;
mod json;
mod limits;
pub(crate) mod members;
mod table;

use hostler_config::Config;
use hostler_sys::process::Pid;
use hostler_wire::report::{Ask, Report};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::Status;
use crate::signal::{self, Absent};
use crate::{Failed, load};
use fronts::Front;

/// The displayed state at one moment.
struct Seen {
    master: Pid,
    pid_file: PathBuf,
    fronts: Vec<Front>,
    /// The figures, or why there are none.
    report: Result<Report, String>,
}

impl Seen {
    fn now(config: &Config) -> Result<Self, Absent> {
        let running = signal::find(config)?;
        let report = ask::report(&running.pid_file, &Ask::Report);
        let fronts = fronts::of(running.pid);
        Ok(Self { master: running.pid, pid_file: running.pid_file, fronts, report })
    }
}

pub(crate) fn status(args: &Status) -> ExitCode {
    let config = match load::files(&args.configuration) {
        Ok(loaded) => loaded.config,
        Err(why) => return crate::finish(Err(why)),
    };
    let mut before: Option<Report> = None;
    loop {
        let seen = match Seen::now(&config) {
            Ok(seen) => seen,
            Err(absent) => return not_running(args, &absent),
        };
        let text =
            if args.json { json::text(&seen, before.as_ref()) } else { table::text(&seen, before.as_ref()) };
        if let Err(why) = &seen.report {
            eprintln!("hostler: warning: there are no figures: {why}");
        }
        let written = show(&text, args.watch.is_some() && !args.json);
        let Some(seconds) = args.watch.filter(|_| written.is_ok()) else { return ExitCode::SUCCESS };
        before = seen.report.ok();
        std::thread::sleep(Duration::from_secs(seconds.max(1).into()));
    }
}

fn not_running(args: &Status, absent: &Absent) -> ExitCode {
    match absent {
        Absent::NotRunning(why) => {
            if args.json {
                println!("{}", json::not_running());
            } else {
                println!("{why}");
            }
            ExitCode::from(3)
        }
        Absent::Unknown(why) => crate::finish(Err(Failed(why.clone()))),
    }
}

/// Prints; on a terminal that is watched, in the place of what stood there.
fn show(text: &str, again: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if again && out.is_terminal() {
        out.write_all(b"\x1b[H\x1b[2J")?;
    }
    out.write_all(text.as_bytes())?;
    out.flush()
}
