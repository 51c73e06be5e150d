//! Lines that a log could not take (a full disk, a program that has ended): they are counted, and as soon as there is room
//! again a line of the error log reports the number.

use super::{Severity, When, append};
use crate::request::thread::Thread;
use hostler_config::Server;

/// Most logs that are tried in one call: each may cost a write that fails.
const MOST: usize = 16;

/// Reports what was lost. To be called on one thread, once in a second.
pub(crate) fn tell_lost(thread: &Thread) {
    let logs = &thread.shared.logs;
    let lossy = (0..logs.len()).filter(|index| logs.destination(*index).is_some_and(|log| log.lost() > 0));
    for index in lossy.take(MOST) {
        tell(thread, index);
    }
}

fn tell(thread: &Thread, index: usize) {
    let logs = &thread.shared.logs;
    let Some(log) = logs.destination(index) else { return };
    // An error log reports its own losses, by trying to; those of others are reported when they have taken a line again.
    let own = logs.server_of_error_log(&thread.shared.config, index);
    if own.is_none() && log.is_failing() {
        return;
    }
    let server: &Server = own.unwrap_or_else(|| thread.shared.config.main());
    let reports_to = logs.error_log(server).and_then(|index| logs.destination(index));
    let (count, errno) = log.take_lost();
    let message = format!("lines of {} were lost: {count} ({errno})", logs.target(index));
    append(thread, server, None, (Severity::Error, "core"), message.as_bytes(), When::Now);
    if reports_to.is_none_or(super::Destination::is_failing) {
        // In its own log the report is a lost line more.
        log.not_told(count - u64::from(own.is_some()).min(count));
    }
}
