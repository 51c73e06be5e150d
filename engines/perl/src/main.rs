//! hostler-perl: the Perl engine. A warm parent loads the interpreter and what a site preloads, then forks workers,
//! which serve requests that the front hands over through shared memory ([`hostler_engine`]).
//!
//! As `hostler-perl configure` it runs `<Perl>` sections, and files that build configuration, while one is read ([`configure`]).
//!
//! **Runs as** the site's user, started by the site's process.
//!
//! **Diagnostics**: see [`hostler_engine`].

#[cfg(with_perl)]
mod callbacks;
#[cfg(with_perl)]
mod configure;
#[cfg(with_perl)]
mod convert;
#[cfg(with_perl)]
mod directory;
#[cfg(with_perl)]
mod engine;
#[cfg(with_perl)]
mod ffi;
#[cfg(with_perl)]
mod loaded;
#[cfg(with_perl)]
mod look;
#[cfg(with_perl)]
mod perl;
#[cfg(with_perl)]
mod worker;

use std::process::ExitCode;

#[cfg(with_perl)]
fn main() -> ExitCode {
    use hostler_engine::Engine;
    if std::env::args().nth(1).is_some_and(|word| word == "--version") {
        println!("hostler-perl {} for Perl {}", env!("CARGO_PKG_VERSION"), env!("SYSTEM_PERL_VERSION"));
        return ExitCode::SUCCESS;
    }
    // Perl keeps nothing there, and programs see this process's environment.
    // SAFETY: the process has one thread.
    unsafe { std::env::remove_var(hostler_wire::site::STATE) };
    if std::env::args().nth(1).is_some_and(|word| word == "configure") {
        return hostler_engine::run_with(engine::Perl::name(), |socket| configure::run(&socket));
    }
    hostler_engine::run::<engine::Perl>()
}

#[cfg(not(with_perl))]
fn main() -> ExitCode {
    eprintln!("this hostler-perl was built without Perl: install libperl-dev and build again");
    ExitCode::FAILURE
}
