//! `receive` and `send` of a request where they are plain: a request without a body, an answer's head, and pieces of its body that
//! there is room for. The request's object in Python (`asgi/http.py`) holds all state, and has the same for what is not.

use super::head::Head;
use super::link::Link;
use super::names::Names;
use super::shared;
use crate::py::{self, Object, Outcome};
use pyo3_ffi as ffi;

/// The state of it.
pub(super) enum Done {
    /// It is done, with this result.
    With(Object),
    /// It is done but for what this coroutine waits for.
    Waits(Object),
    /// Nothing has been done: it is not plain.
    NotYet,
}

fn nothing() -> Outcome<Done> {
    // SAFETY: None is for ever.
    Ok(Done::With(unsafe { Object::owned(py::none()) }?))
}

/// The request's next message.
pub(super) fn receive(cycle: &Object) -> Outcome<Done> {
    let names = &shared()?.names;
    let is_plain = cycle.has(&names.whole)?
        && !cycle.has(&names.told)?
        && !cycle.has(&names.pieces)?
        && !cycle.has(&names.is_lost)?
        && !cycle.has(&names.is_complete)?;
    if !is_plain {
        return Ok(Done::NotYet);
    }
    cycle.put(&names.told, &py::truth(true)?)?;
    // SAFETY: a new dictionary.
    let message = unsafe { Object::owned(ffi::PyDict_New()) }?;
    py::set(&message, &names.kind, &names.request)?;
    py::set(&message, &names.body, &py::bytes(b"")?)?;
    py::set(&message, &names.more_body, &py::truth(false)?)?;
    Ok(Done::With(message))
}

/// A message of the answer.
pub(super) fn send(cycle: &Object, message: &Object) -> Outcome<Done> {
    let names = &shared()?.names;
    // SAFETY: the type is only compared.
    if unsafe { ffi::PyDict_CheckExact(message.as_ptr()) } == 0 || cycle.has(&names.is_lost)? {
        return Ok(Done::NotYet);
    }
    let Some(kind) = message.entry(&names.kind)? else { return Ok(Done::NotYet) };
    if kind.is_text(&names.response_body, c"http.response.body") {
        return body(names, cycle, message);
    }
    if kind.is_text(&names.response_start, c"http.response.start") && start(names, cycle, message)? {
        return nothing();
    }
    Ok(Done::NotYet)
}

/// Returns whether it was plain.
fn start(names: &Names, cycle: &Object, message: &Object) -> Outcome<bool> {
    if cycle.has(&names.is_started)? || message.entry(&names.trailers)?.is_some() {
        return Ok(false);
    }
    let status = message.entry(&names.status)?.and_then(|status| status.plain_number());
    let Some(status @ 200..=999) = status else { return Ok(false) };
    let fields = message.entry(&names.headers)?;
    let Some(head) = Head::of(status as u16, fields.as_ref())? else { return Ok(false) };
    let has_body = !matches!(status, 204 | 304) && !cycle.has(&names.is_head)?;
    if let Some(length) = head.length.filter(|_| has_body) {
        cycle.put(&names.left, &py::number(length.cast_unsigned())?)?;
    }
    cycle.put(&names.head, &py::bytes(&head.frame)?)?;
    cycle.put(&names.is_started, &py::truth(true)?)?;
    Ok(true)
}

/// The end of a response (`wire.DONE`, `wire.LAST`).
const DONE: &[u8] = b"E\0\0\0\x01\x01";
const LAST: &[u8] = b"E\0\0\0\x01\0";

fn body(names: &Names, cycle: &Object, message: &Object) -> Outcome<Done> {
    let is_plain = cycle.has(&names.is_started)?
        && !cycle.has(&names.is_complete)?
        && !cycle.has(&names.is_over)?
        && cycle.get(&names.said_trailers)?.is_none();
    let given = message.entry(&names.body)?;
    let piece = match &given {
        Some(piece) => piece.plain_bytes(),
        None => Some(&b""[..]),
    };
    let (true, Some(piece)) = (is_plain, piece) else { return Ok(Done::NotYet) };
    let more = message.entry(&names.more_body)?.map_or(Ok(false), |more| more.is_true())?;
    let Ok(length) = u32::try_from(piece.len()) else { return Ok(Done::NotYet) };
    let said = cycle.get(&names.left)?;
    if !said.is_none() {
        let left = said.plain_number().map(|left| left - i64::from(length));
        let Some(left @ 0..) = left else { return Ok(Done::NotYet) };
        if left > 0 && !more {
            return Ok(Done::NotYet);
        }
        cycle.put(&names.left, &py::number(left.cast_unsigned())?)?;
    }
    let head = cycle.get(&names.head)?;
    let mut out = Vec::with_capacity(head.bytes().map_or(0, <[u8]>::len) + piece.len() + 16);
    if let Some(head) = head.bytes().filter(|head| !head.is_empty()) {
        out.extend_from_slice(head);
        cycle.put(&names.head, &py::bytes(b"")?)?;
    }
    if !piece.is_empty() && !cycle.has(&names.is_head)? {
        out.push(b'B');
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(piece);
    }
    let connection = cycle.get(&names.connection)?;
    if more { say_more(names, &connection, &out) } else { finish(names, cycle, &connection, out) }
}

fn say(names: &Names, connection: &Object, worker: &Object, out: &[u8]) -> Outcome {
    connection.put(&names.last, &worker.get(&names.now)?)?;
    let transport = connection.get(&names.transport)?;
    match Link::of(&transport) {
        Some(link) => link.write(out)?,
        None => drop(transport.invoke(&names.write, Some(&py::bytes(out)?))?),
    }
    Ok(transport)
}

fn say_more(names: &Names, connection: &Object, out: &[u8]) -> Outcome<Done> {
    let transport = if out.is_empty() {
        connection.get(&names.transport)?
    } else {
        say(names, connection, &connection.get(&names.worker)?, out)?
    };
    let has_room = connection.get(&names.no_room)?.is_none();
    if has_room && !transport.invoke(&names.is_closing, None)?.is_true()? {
        return nothing();
    }
    Ok(Done::Waits(connection.invoke(&names.room, None)?))
}

fn finish(names: &Names, cycle: &Object, connection: &Object, mut out: Vec<u8>) -> Outcome<Done> {
    cycle.put(&names.is_complete, &py::truth(true)?)?;
    let worker = connection.get(&names.worker)?;
    let is_clean = cycle.has(&names.whole)? && !worker.has(&names.is_retiring)?;
    out.extend_from_slice(if is_clean { DONE } else { LAST });
    let transport = say(names, connection, &worker, &out)?;
    // SAFETY: None is for ever.
    connection.put(&names.cycle, &unsafe { Object::owned(py::none()) }?)?;
    match Link::of(&transport) {
        Some(link) if is_clean => link.finish(),
        _ if is_clean => {}
        _ => drop(transport.invoke(&names.close, None)?),
    }
    if cycle.has(&names.waiters)? {
        cycle.invoke(&names.wake, None)?;
    }
    nothing()
}
