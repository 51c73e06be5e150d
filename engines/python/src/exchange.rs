//! The request that is being served, for what Python calls: its body, its log. One at a time; an application that calls
//! when its request is over, or from a process that it has forked, is told so.

use crate::py::{self, Outcome, PythonError};
use crate::response::Response;
use crate::worker::Trip;
use hostler_engine::{NoMessage, process};
use hostler_wire::work::Severity;
use pyo3_ffi as ffi;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};

/// A request on its way.
pub(crate) struct Exchange<'a> {
    pub(crate) trip: &'a mut Trip,
    pub(crate) response: Response,
}

/// The one that is being served. Written and read by whoever has the interpreter's lock.
static CURRENT: AtomicPtr<Exchange<'static>> = AtomicPtr::new(null_mut());
/// The serial number of an exchange in this process.
static SERIAL: AtomicU64 = AtomicU64::new(0);
/// Its thread waits for something of it, without the lock.
static WAITS: AtomicBool = AtomicBool::new(false);

/// While it is there its exchange is the current one.
pub(crate) struct Current;

impl Current {
    /// Makes it the current one, and gives its number.
    ///
    /// # Safety
    /// The exchange is used by nobody else, and stays where it is, as long as the guard lives, but through [`with`].
    pub(crate) unsafe fn of(exchange: *mut Exchange<'_>) -> (Self, u64) {
        CURRENT.store(exchange.cast(), Relaxed);
        WAITS.store(false, Relaxed);
        (Self, SERIAL.fetch_add(1, Relaxed) + 1)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.store(null_mut(), Relaxed);
    }
}

/// The number of the request that is served; 0: there is none.
pub(crate) fn serial() -> u64 {
    if CURRENT.load(Relaxed).is_null() { 0 } else { SERIAL.load(Relaxed) }
}

/// Does something with the current request, if it has this number.
pub(crate) fn with<T>(serial: u64, work: impl FnOnce(&mut Exchange<'_>) -> Outcome<T>) -> Outcome<T> {
    let current = CURRENT.load(Relaxed);
    if current.is_null() || SERIAL.load(Relaxed) != serial || process::is_forked_away() {
        // SAFETY: the type of an exception.
        return Err(unsafe { py::raise(ffi::PyExc_RuntimeError, "request object has expired") });
    }
    if WAITS.load(Relaxed) {
        let message = "another thread waits for something of this request";
        // SAFETY: the type of an exception.
        return Err(unsafe { py::raise(ffi::PyExc_RuntimeError, message) });
    }
    // SAFETY: it lives as long as its guard, which this thread, or one that waits for it, holds; nobody else has it, since
    // whoever has the lock is alone but for who waits.
    work(unsafe { &mut *current })
}

/// Waits with the request for something, without the lock.
pub(crate) fn waiting<T>(work: impl FnOnce() -> T) -> T {
    WAITS.store(true, Relaxed);
    let done = py::without_lock(work);
    WAITS.store(false, Relaxed);
    done
}

/// A line for the log: of the request, if there is one, else of the process.
pub(crate) fn log(severity: Severity, text: &[u8]) {
    let current = CURRENT.load(Relaxed);
    if current.is_null() || process::is_forked_away() || WAITS.load(Relaxed) {
        return process::complain_as(severity, text);
    }
    // SAFETY: as in `with`.
    let exchange = unsafe { &mut *current };
    if exchange.trip.is_abandoned() {
        // Nobody listens to the request's own lines any more.
        process::complain_as(severity, text);
    } else {
        exchange.trip.log(severity, true, text);
    }
}

/// Bytes read at once at most.
const PIECE: usize = 1 << 20;

impl Exchange<'_> {
    /// Some bytes of the request's body, of so many at most. Nothing: its end.
    pub(crate) fn read(&mut self, most: usize) -> Outcome<Vec<u8>> {
        let mut piece = vec![0; most.clamp(1, PIECE)];
        loop {
            let read = waiting(|| self.trip.read_body(&mut piece));
            match read {
                Ok(count) => {
                    piece.truncate(count);
                    return Ok(piece);
                }
                Err(NoMessage::Interrupted) => check_signals()?,
                Err(_) => {
                    let message =
                        "request data read error: the client has gone, or has sent too much or too slowly";
                    // SAFETY: the type of an exception.
                    return Err(unsafe { py::raise(ffi::PyExc_OSError, message) });
                }
            }
        }
    }
}

/// Runs what the program has for signals that have come.
fn check_signals() -> Outcome<()> {
    // SAFETY: plain.
    match unsafe { ffi::PyErr_CheckSignals() } {
        0 => Ok(()),
        _ => Err(PythonError),
    }
}
