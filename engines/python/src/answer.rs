//! Calls an application, and takes what it returns: the pieces of the answer's body, which go as they come.

use crate::exchange::with;
use crate::file;
use crate::module::bytes_of;
use crate::py::{self, Object, Outcome, PythonError};
use crate::support::Support;
use pyo3_ffi as ffi;

/// Has an application answer. What it raises after the answer is complete, in its `close`, is only told.
pub(crate) fn run(
    application: &Object,
    environment: &Object,
    start_response: &Object,
    serial: u64,
    support: &Support,
    script: &str,
) -> Outcome<()> {
    let result = application.call(&[environment, start_response])?;
    let sent = match file::pass(&result, serial, support) {
        Ok(false) => send(&result, serial),
        passed => passed.map(drop),
    };
    if sent.is_err() {
        support.tell(script);
    }
    let sent = match sent {
        Ok(()) => with(serial, |exchange| {
            exchange.complete()?;
            exchange.publish();
            Ok(())
        }),
        Err(PythonError) => with(serial, |exchange| {
            exchange.failed();
            Ok(())
        }),
    };
    // PEP 3333: close is called however the request has ended.
    if close(&result).is_err() {
        support.tell(script);
    }
    sent
}

/// Sends the body.
fn send(result: &Object, serial: u64) -> Outcome<()> {
    // SAFETY: an object; items are borrowed while the list has them, and shared here.
    unsafe {
        let of_list = ffi::PyList_CheckExact(result.as_ptr()) != 0;
        if of_list && ffi::PyList_Size(result.as_ptr()) == 1 {
            let piece = Object::borrowed(ffi::PyList_GetItem(result.as_ptr(), 0))?;
            return with(serial, |exchange| {
                let all = exchange.is_untouched();
                exchange.write(bytes_of(&piece)?, all)
            });
        }
        let is_there = of_list || ffi::PyTuple_CheckExact(result.as_ptr()) != 0;
        let pieces = Object::owned(ffi::PyObject_GetIter(result.as_ptr()))?;
        loop {
            let Ok(piece) = Object::owned(ffi::PyIter_Next(pieces.as_ptr())) else { break };
            let goes_on = with(serial, |exchange| {
                exchange.write(bytes_of(&piece)?, false)?;
                if !is_there {
                    exchange.publish();
                }
                Ok(!exchange.trip.is_abandoned())
            })?;
            if !goes_on {
                // Nobody takes any more of it.
                break;
            }
        }
        if ffi::PyErr_Occurred().is_null() { Ok(()) } else { Err(PythonError) }
    }
}

fn close(result: &Object) -> Outcome<()> {
    match result.attribute(c"close") {
        Ok(close) => close.call(&[]).map(drop),
        Err(PythonError) => {
            py::clear();
            Ok(())
        }
    }
}
