//! `wsgi.file_wrapper` around a file on disk: the front sends it, or the ranges of it that the client asks for, and the worker
//! is free for the next request.

use crate::exchange::{Exchange, waiting, with};
use crate::py::{Object, Outcome};
use crate::support::Support;
use hostler_python_frames::file::{File, TAKEN};

/// Has the front send what an application has returned, if that is such a file; whether it will.
pub(crate) fn pass(result: &Object, serial: u64, support: &Support) -> Outcome<bool> {
    if !support.is_file_wrapper(result) {
        return Ok(false);
    }
    let found = support.call(c"file_of", &[result])?;
    let Some(file) = found.bytes().and_then(|bytes| File::decode(bytes).ok()) else { return Ok(false) };
    with(serial, |exchange| Ok(exchange.pass(&file)))
}

impl Exchange<'_> {
    fn pass(&mut self, rest: &File<'_>) -> bool {
        let Some(length) = self.response.of_file(rest.length).filter(|length| *length > 0) else {
            return false;
        };
        if self.response.is_head_only() {
            self.pass_head(length);
            return true;
        }
        let trip = &mut *self.trip;
        trip.say_own(|e| File { length, ..*rest }.encode(e));
        trip.publish();
        let is_taken = waiting(|| trip.await_own()).is_ok() && trip.own() == TAKEN;
        if is_taken {
            self.pass_head(length);
        } else {
            // It is read, and is as long all the same.
            self.response.set_length(length);
        }
        is_taken
    }
}
