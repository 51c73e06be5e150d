//! hostler-echo: the smallest engine, in C (`echo.c`), for tests. It answers with what it was asked.
//!
//! **Runs as** the site's user, started by the site's process. **Diagnostics**: see [`hostler_engine`].

use hostler_engine::c::{Verbs, run};
use std::process::ExitCode;

unsafe extern "C" {
    static hostler_echo: Verbs;
}

fn main() -> ExitCode {
    // SAFETY: a constant of echo.c, made by the header's rules.
    unsafe { run(&hostler_echo) }
}
