//! The end of a command when the reader of its output has closed the pipe (`hostler explain ... | head`): quiet, with the
//! status that a shell reports for SIGPIPE.
//!
//! The print macros panic then. The signal itself stays ignored, so that the panic unwinds and the lab stops the servers
//! that it has started.

use std::panic::{PanicHookInfo, catch_unwind, resume_unwind, set_hook, take_hook};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// 128 and SIGPIPE.
const STATUS: u8 = 141;
const EPIPE: i32 = 32;

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs a command.
pub(crate) fn ends_quietly(command: fn() -> ExitCode) -> ExitCode {
    let usual = take_hook();
    set_hook(Box::new(move |panic| if is_about_output(panic) { note() } else { usual(panic) }));
    match catch_unwind(command) {
        Ok(_) | Err(_) if CLOSED.load(Ordering::Relaxed) => status(),
        Ok(status) => status,
        Err(panic) => resume_unwind(panic),
    }
}

/// Returns whether a command failed with this sentence because of its closed output.
pub(crate) fn is_meant(why: &str) -> bool {
    let closed = std::io::Error::from_raw_os_error(EPIPE).to_string();
    why == closed || CLOSED.load(Ordering::Relaxed)
}

/// The exit status.
pub(crate) fn status() -> ExitCode {
    ExitCode::from(STATUS)
}

fn note() {
    CLOSED.store(true, Ordering::Relaxed);
}

fn is_about_output(panic: &PanicHookInfo<'_>) -> bool {
    let text = panic.payload().downcast_ref::<String>();
    text.is_some_and(|text| text.starts_with("failed printing to std") && text.contains("Broken pipe"))
}
