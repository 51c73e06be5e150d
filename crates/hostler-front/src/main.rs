//! The front: everything that speaks HTTP with clients. It maps URLs, checks access, sends files, expands
//! server-side includes, and hands the rest to the sites' processes.
//!
//! **Runs as** an unprivileged user of its own that is no site's user; it can read no site's files but through
//! that site's process. **Diagnostics**: the ErrorLogs of the configuration; before they are open, stderr.

mod access;
mod access_log;
mod agents;
mod aside;
mod body;
mod budget;
mod byte_range;
mod clients;
mod conditional;
mod confine;
mod connection;
mod counters;
mod deadline;
mod descriptors;
mod engines;
mod error;
mod expr_host;
mod fast;
mod files;
mod filter;
mod handler;
mod http1;
mod http2;
mod hub;
mod io;
mod listen;
mod log;
mod map;
mod merge;
mod names;
mod open_file;
mod passwords;
mod preface;
mod reply;
mod request;
mod rewrite;
mod serve;
mod settings;
mod site;
mod site_limits;
mod sites;
mod start;
mod status;
mod stop;
mod table;
mod text;
mod thread;
mod tls;
mod uri;
mod variables;
mod vhost;
mod warm;
mod watchdog;

fn main() -> std::process::ExitCode {
    match start::run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hostler-front: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
