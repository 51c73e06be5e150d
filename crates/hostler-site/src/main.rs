//! hostler-site: opens one site's files and runs its programs, as the site's Unix user. One process, one thread.
//!
//! **Runs as** the site's user; started by the master with one socket at descriptor 3, whose other end is the
//! front's, and one at descriptor 4, over which the master attaches the fronts of later generations. It keeps nothing
//! but its own descriptors and ends when all of its connections with fronts are closed.
//!
//! **Diagnostics**: none of its own; what it finds goes to the front as a value. A malformed frame ends it with
//! one line on standard error and status 1.

mod append;
mod connect;
mod connection;
mod door;
mod homes;
mod interpreter;
mod list;
mod listen;
mod parents;
mod programs;
mod run;
mod serve;
mod shared;
mod walk;

use hostler_sys::{exec, harden};
use hostler_wire::engine::ENGINES;
use std::process::ExitCode;

/// The connection that the master passes.
const FIRST_CONNECTION: i32 = 3;
/// The socket to the master.
const DOOR: i32 = 4;
/// The first engine that the master passes; the others follow.
const FIRST_ENGINE: i32 = 5;

fn main() -> ExitCode {
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("hostler-site: {e}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> std::io::Result<()> {
    let socket = exec::inherited(FIRST_CONNECTION)?;
    let door = exec::inherited(DOOR).ok();
    let names = std::env::var(ENGINES).unwrap_or_default();
    let names = names.split(':').filter(|name| !name.is_empty()).map(str::to_owned);
    let engines = (FIRST_ENGINE..).zip(names);
    let engines = engines.filter_map(|(number, name)| Some((name, exec::inherited(number).ok()?))).collect();
    let homes = homes::Homes::of_environment();
    exec::occupy_standard()?;
    harden::settle(c"hostler-site")?;
    exec::default_signals();
    // Programs inherit it: what they create is not writable by others unless they say so.
    rustix::process::umask(rustix::fs::Mode::WGRP | rustix::fs::Mode::WOTH);
    serve::Site::new(socket, door, engines, homes)?.serve()
}
