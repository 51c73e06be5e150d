//! `data_received` of a connection to the front: a whole request without a body that has come at once is begun here, and all else
//! is for the same in Python (`Connection.heard`).

use super::link::Link;
use super::{links, shared};
use crate::module::given;
use crate::py::{self, Object, Outcome};
use hostler_python_frames::asgi;
use pyo3_ffi as ffi;

/// A frame's letter and length.
const FRAME: usize = 5;

pub(super) unsafe extern "C" fn data_received(
    own: *mut ffi::PyObject,
    data: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the function's own object, and its argument.
    let objects = unsafe { (Object::borrowed(own), Object::borrowed(data)) };
    given((|| {
        let (connection, data) = (objects.0?, objects.1?);
        match data.plain_bytes().and_then(behind_calls) {
            Some(rest) if may_be_called(&connection)? => {
                links::look()?;
                if !rest.is_empty() {
                    hear(&connection, &py::bytes(rest)?)?;
                }
            }
            _ => hear(&connection, &data)?,
        }
        Ok(py::none())
    })())
}

/// Returns the bytes after those that call the worker; `None`: it begins with none of those.
fn behind_calls(data: &[u8]) -> Option<&[u8]> {
    let calls = data.iter().take_while(|byte| **byte == asgi::CALL[0]).count();
    (calls > 0).then(|| &data[calls..])
}

/// Returns whether what looks so is a call: requests go through memory, or no frame of one over the socket is amid its
/// bytes, which are a client's. A WebSocket's are so always, and it has no memory.
fn may_be_called(connection: &Object) -> Outcome<bool> {
    let names = &shared()?.names;
    if connection.get(&names.memory)?.is_none() {
        return Ok(false);
    }
    Ok(Link::of(&connection.get(&names.transport)?).is_some() || !connection.has(&names.buffer)?)
}

/// Handles a connection's input.
pub(super) fn hear(connection: &Object, data: &Object) -> Outcome<()> {
    if !begin(connection, data)? {
        connection.invoke(&shared()?.names.heard, Some(data))?;
    }
    Ok(())
}

/// The scope in a frame that has all there is to come, and what stands before it: its flags.
fn scope_of(data: &[u8]) -> Option<(u8, &[u8])> {
    let (frame, payload) = data.split_at_checked(FRAME)?;
    let (length, kind) = (u32::from_be_bytes(frame[1..].try_into().ok()?), frame[0]);
    let (flags, scope) = payload.split_first()?;
    (kind == b'S' && usize::try_from(length) == Ok(payload.len())).then_some((*flags, scope))
}

/// Returns whether it was plain.
fn begin(connection: &Object, data: &Object) -> Outcome<bool> {
    let shared = shared()?;
    let (names, Some([make, loads, extensions])) = (&shared.names, &shared.given) else { return Ok(false) };
    let Some((flags, scope)) = data.plain_bytes().and_then(scope_of) else { return Ok(false) };
    let has = |name| connection.has(name);
    if flags > 1 {
        // A body that comes once it is asked for.
        return Ok(false);
    }
    if has(&names.is_raw)? || has(&names.buffer)? || has(&names.introduction)? {
        return Ok(false);
    }
    let scope = loads.call(&[&py::bytes(scope)?])?;
    let kind = scope.entry(&names.kind)?;
    // SAFETY: the type of an entry is only compared.
    let is_http = kind.is_some_and(|kind| unsafe {
        ffi::PyUnicode_Check(kind.as_ptr()) != 0
            && ffi::PyUnicode_CompareWithASCIIString(kind.as_ptr(), c"http".as_ptr()) == 0
    });
    if !is_http {
        return Ok(false);
    }
    if let Some(has) = scope.entry(&names.extensions)? {
        // SAFETY: dictionaries.
        if unsafe { ffi::PyDict_Update(has.as_ptr(), extensions.as_ptr()) } != 0 {
            return Err(py::PythonError);
        }
    }
    let worker = connection.get(&names.worker)?;
    let begun = worker.get(&names.begun)?.plain_number().unwrap_or(0);
    worker.put(&names.begun, &py::number((begun + 1).cast_unsigned())?)?;
    let state = worker.get(&names.state)?;
    if !state.is_none() {
        py::set(&scope, &names.state, &state.invoke(&names.copy, None)?)?;
    }
    let cycle = make.call(&[connection, &scope, &py::truth(flags & 1 != 0)?])?;
    connection.put(&names.cycle, &cycle)?;
    worker.invoke(&names.start, Some(&cycle))?;
    Ok(true)
}
