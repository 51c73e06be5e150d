//! The parts of a black-box scenario: a site on disk, a running `hostler`, and a client that can misbehave.
//!
//! A scenario reads: configuration, program, request, expectation.
//!
//! ```no_run
//! use hostler_tests::Site;
//!
//! let server = Site::new().file("htdocs/hello.txt", "Hello").start();
//! let answer = server.get("/hello.txt");
//! assert_eq!((answer.status, answer.text()), (200, "Hello".into()));
//! ```
//!
//! The programs are those that were built beside the test (`cargo build --workspace`), or the folder of the
//! command named in `HOSTLER_BIN`. Scenarios live in `scenarios/`, one module for each technique. Comparing
//! with Apache is not done here but in `conformance/`.

mod client;
mod php;
mod server;
mod site;

pub use hostler_untested::untested;
pub use hostler_untested::wait::{await_that, until};

pub use client::{Connection, Response};
pub use php::Php;
pub use server::{Server, free_port, hostler, is_root};
pub use site::{SITE_UID, Site};

/// Returns from the test, saying so, unless it runs as root.
#[macro_export]
macro_rules! needs_root {
    () => {
        if !$crate::is_root() {
            $crate::untested("it changes users, which takes root");
            return;
        }
    };
}

/// Returns from the test, saying so, unless this program is installed.
#[macro_export]
macro_rules! needs_program {
    ($program:literal) => {
        if !std::path::Path::new($program).exists() {
            $crate::untested(concat!($program, " is not installed (./setup.sh test)"));
            return;
        }
    };
}

/// Says that `test` did not run.
pub fn skipped(test: &str, reason: &str) {
    hostler_untested::not_tested(test, reason);
}
