//! The front: everything that speaks HTTP with clients. It maps URLs, checks access, sends files, expands
//! server-side includes, and hands the rest to the sites' processes.
//!
//! **Runs as** an unprivileged user of its own that is no site's user; it can read no site's files but through
//! that site's process. **Diagnostics**: the ErrorLogs of the configuration; before they are open, stderr.

mod hook;
mod http1;
mod http2;
mod io;
mod limits;
mod log;
mod memory;
mod module;
mod modules;
mod process;
mod request;
mod site;
mod technique;
mod tls;
mod values;

/// Runs the front with the process's arguments and inherited descriptors, until it is told to end.
#[must_use]
pub fn main() -> std::process::ExitCode {
    match process::start::run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hostler-front: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
