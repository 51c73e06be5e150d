//! A worker's requests: from the messages of a trip to the interpreter and back.

use hostler_engine::{Next, NoMessage, Serve, process};
use hostler_perl_frames::{Nested, RequestHead, ToPerl};
use hostler_wire::work::{self, FromWorker, Outcome};
use std::ffi::c_int;

use crate::convert::HeadBuffer;
use crate::ffi::{self, RequestIn, Str, Told, told};
use crate::{callbacks, directory, perl};

/// A request on its way.
pub(crate) type Trip = hostler_engine::Trip<Worker>;

/// All that a worker keeps between and during requests, beside what a [`Trip`] keeps.
pub(crate) struct Worker {
    /// Functions to call when it ends.
    child_exit: Vec<String>,
    one_shot: bool,
    request: HeadBuffer,
    answer: HeadBuffer,
    /// The number of requests being served inside the current one.
    nested: u32,
}

impl Serve for Worker {
    type Directory = *mut ffi::Directory;

    fn define(directory: &work::Directory<'_>) -> Option<*mut ffi::Directory> {
        directory::define(directory)
    }

    fn serve(&mut self, trip: &mut Trip) {
        self.nested = 0;
        while self.trip(trip).is_ok_and(|stays| stays) {}
        // A request that stayed has to be cleaned up after.
        callbacks::with(self, trip, || {
            // SAFETY: the buffers are as the last trip has left them.
            unsafe { ffi::hp_perl_release() };
        });
    }

    fn end(&mut self) {
        perl::end(&self.child_exit, self.one_shot);
    }
}

impl Worker {
    pub(crate) fn new(child_exit: Vec<String>, one_shot: bool) -> Self {
        Self { child_exit, one_shot, request: HeadBuffer::new(), answer: HeadBuffer::new(), nested: 0 }
    }

    /// Runs the phases of one trip; whether the request stays for another. [`NoMessage::Abandoned`]: no (further) one comes.
    fn trip(&mut self, trip: &mut Trip) -> Result<bool, NoMessage> {
        let (request, directory) = self.begin(trip)?;
        let stays = c_int::from(trip.stays());
        let stays = callbacks::with(self, trip, || {
            // SAFETY: the request points into buffers that stay as they are until the next trip.
            unsafe { ffi::hp_perl_serve(request, directory, stays) != 0 }
        });
        if process::is_forked_away() {
            process::exit_now(0);
        }
        if stays {
            trip.publish();
        }
        Ok(stays)
    }

    fn begin(&mut self, trip: &mut Trip) -> Result<(*const RequestIn, *mut ffi::Directory), NoMessage> {
        while trip.next()? == Next::Own {
            self.before_request(trip)?;
        }
        let head = RequestHead::decode_request(trip.request()).ok();
        let known = head.and_then(|head| {
            let directory = *trip.directory(head.directory)?;
            Some((self.request.set(&head), directory))
        });
        known.ok_or_else(|| trip.malformed())
    }

    /// Handles messages before a request, or between its trips.
    fn before_request(&mut self, trip: &mut Trip) -> Result<(), NoMessage> {
        let told = match decode(trip) {
            Some(ToPerl::Related { role, head }) => {
                let directory = trip.directory(head.directory).copied().unwrap_or_default();
                let request = self.answer.set(&head);
                // SAFETY: the request's strings live until the call returns; C copies them.
                unsafe { ffi::hp_perl_related(request, directory, role as c_int) };
                return Ok(());
            }
            Some(ToPerl::Nested(nested)) => told_nested(&mut self.answer, trip, &nested),
            _ => None,
        };
        let Some(told) = told else { return Err(trip.malformed()) };
        self.nested += 1;
        callbacks::with(self, trip, || {
            // SAFETY: `told` points into buffers that stay as they are until more is told, which C knows.
            unsafe { ffi::hp_perl_nested(&raw const told) };
        });
        trip.publish();
        Ok(())
    }

    /// Waits for the next part of the reply to a program's question.
    pub(crate) fn await_told(&mut self, trip: &mut Trip) -> Told {
        if trip.await_own().is_err() {
            return Told::GONE;
        }
        let told = match decode(trip) {
            Some(ToPerl::Answer { id, head }) => {
                Some(Told { kind: told::ANSWER, id, request: self.answer.set(&head), ..Told::GONE })
            }
            Some(ToPerl::Nested(nested)) => {
                let told = told_nested(&mut self.answer, trip, &nested);
                self.nested += u32::from(told.is_some());
                told
            }
            // What has become of configuration that the program has added.
            Some(ToPerl::Configured(Ok(id))) => Some(Told { kind: told::CONFIGURED, id, ..Told::GONE }),
            Some(ToPerl::Configured(Err(why))) => {
                Some(Told { kind: told::CONFIGURED, text: Str::new(why), ..Told::GONE })
            }
            Some(ToPerl::Ran(status)) => {
                Some(Told { kind: told::RAN, status: c_int::from(status), ..Told::GONE })
            }
            _ => None,
        };
        told.unwrap_or_else(|| {
            trip.malformed();
            Told::GONE
        })
    }

    /// Says what became of the request; of those inside of it first.
    pub(crate) fn finished(&mut self, trip: &mut Trip, outcome: &Outcome<'_>) {
        if self.nested > 0 {
            self.nested -= 1;
            trip.say(&FromWorker::Finished(outcome.clone()));
        } else {
            trip.finish(outcome);
        }
    }
}

/// Decodes the engine's own message.
fn decode(trip: &Trip) -> Option<ToPerl<'_>> {
    ToPerl::decode(trip.own()).ok()
}

/// A request to be served inside of the one that waits. `None`: its configuration is not known.
fn told_nested(answer: &mut HeadBuffer, trip: &Trip, nested: &Nested<'_>) -> Option<Told> {
    trip.directory(nested.head.directory)?;
    let request = answer.set(&nested.head);
    let Nested { id, main, prev, .. } = *nested;
    Some(Told { kind: told::NESTED, id, main, prev, status: 0, request, text: Str::ABSENT })
}
