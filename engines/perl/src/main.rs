//! hostler-perl: the Perl engine. A warm parent loads the interpreter and what a site preloads, then forks workers,
//! which serve requests that the front hands over through shared memory.
//!
//! As `hostler-perl configure` it runs `<Perl>` sections, and files that build configuration, while one is read ([`configure`]).
//!
//! **Runs as** the site's user; started by the site's process with a socket as descriptor 0, whose other end is the
//! front's (`hostler_wire::engine`). The fronts of later generations may be attached to it, if they would have it load
//! the same. The workers of a front end when its socket is closed, each after the request it is at, and the parent with
//! the last of them.
//!
//! **Diagnostics**: what can't be loaded goes to the front as [`hostler_wire::engine::FromEngine::Failed`]; a
//! malformed frame ends the process with one line on standard error and status 1.

#[cfg(with_perl)]
mod callbacks;
#[cfg(with_perl)]
mod configure;
#[cfg(with_perl)]
mod control;
#[cfg(with_perl)]
mod convert;
#[cfg(with_perl)]
mod directory;
#[cfg(with_perl)]
mod ffi;
#[cfg(with_perl)]
mod incoming;
#[cfg(with_perl)]
mod link;
#[cfg(with_perl)]
mod loaded;
#[cfg(with_perl)]
mod look;
#[cfg(with_perl)]
mod parent;
#[cfg(with_perl)]
mod perl;
#[cfg(with_perl)]
mod process;
#[cfg(with_perl)]
mod processor;
#[cfg(with_perl)]
mod serving;
#[cfg(with_perl)]
mod worker;

use std::process::ExitCode;

#[cfg(with_perl)]
fn main() -> ExitCode {
    let configures = std::env::args().nth(1).is_some_and(|word| word == "configure");
    let done = process::settle()
        .and_then(|socket| if configures { configure::run(&socket) } else { parent::run(socket) });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("hostler-perl: {e}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(with_perl))]
fn main() -> ExitCode {
    eprintln!("this hostler-perl was built without Perl: install libperl-dev and build again");
    ExitCode::FAILURE
}
