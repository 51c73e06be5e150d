//! The lines of the error log about a start and a reload, in the words of Apache's event MPM: logwatch and other programs
//! that read logs know them.

use crate::log;
use crate::request::settings::product;
use crate::request::thread::Thread;

/// Writes them for this front, whose generation is the third word of its command line.
pub(crate) fn log(thread: &Thread) {
    let generation = std::env::args_os().nth(2);
    if generation.is_some_and(|number| number != "1") {
        log::notice(thread, MODULE, "AH00493: SIGUSR1 received.  Doing graceful restart");
    }
    let product = product(thread.shared.config.main());
    log::notice(thread, MODULE, &format!("AH00489: {product} configured -- resuming normal operations"));
}

const MODULE: &str = "mpm_event";
