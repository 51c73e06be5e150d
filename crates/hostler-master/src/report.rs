//! The master's words to the operator, on stderr. A message is one line and can't fail: a stderr that is gone is
//! no reason to stop serving.

use std::fmt::Display;
use std::io::Write;

fn say(severity: &str, message: &dyn Display) {
    plainly(&format_args!("hostler-master: {severity}: {message}"));
}

/// A line in the words of whoever started us.
pub(crate) fn plainly(message: &dyn Display) {
    let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
}

/// Prints information for the operator.
pub(crate) fn info(message: &dyn Display) {
    say("info", message);
}

/// Something does not hold that the operator may count on.
pub(crate) fn warning(message: &dyn Display) {
    say("warning", message);
}

/// Something failed; the server goes on.
pub(crate) fn error(message: &dyn Display) {
    say("error", message);
}

/// The server ends.
pub(crate) fn fatal(message: &dyn Display) {
    say("fatal", message);
}
