//! hostler-php: the PHP engine. A warm parent starts PHP once, with the opcode cache that its workers share, then forks
//! workers, which serve requests that the front hands over through shared memory ([`hostler_engine`]).
//!
//! **Runs as** the site's user, started by the site's process.
//!
//! **Diagnostics**: see [`hostler_engine`]. What PHP itself says at its start goes to standard error.

#[cfg(with_php)]
mod arena;
#[cfg(with_php)]
mod directory;
#[cfg(with_php)]
mod engine;
#[cfg(with_php)]
mod ffi;
#[cfg(with_php)]
mod host;
#[cfg(with_php)]
mod loaded;
#[cfg(with_php)]
mod php;
#[cfg(with_php)]
mod request;
#[cfg(with_php)]
mod temporary;
#[cfg(with_php)]
mod variables;
#[cfg(with_php)]
mod worker;

use std::process::ExitCode;

#[cfg(with_php)]
fn main() -> ExitCode {
    // Whoever wants to know whether this program can run PHP.
    if std::env::args().nth(1).is_some_and(|word| word == "--version") {
        println!("hostler-php {} for PHP {}", env!("CARGO_PKG_VERSION"), env!("PHP_VERSION"));
        return ExitCode::SUCCESS;
    }
    hostler_engine::run::<engine::Php>()
}

#[cfg(not(with_php))]
fn main() -> ExitCode {
    eprintln!(
        "this hostler-php was built without PHP: install libphp8.2-embed and php8.2-dev, and build again"
    );
    ExitCode::FAILURE
}
