//! Memory beside a worker's connections: how it comes to be there, and how the event loop looks after it.
//!
//! The front calls the worker over the socket of any of its connections (`hear`), once for all that it has written. The worker looks at
//! those that have asked to be called and were, and asks again.
//!
//! A thread of the front that sleeps is woken at once by the first answer for it. Those that follow within [`LINGER`], while many
//! are served in a row, leave it to [`settle`]: the thread is awake by then, and looks at all of them before it sleeps again.

use super::link::Link;
use super::shared;
use crate::module::{argument, given, needed};
use crate::py::{self, Object, Outcome, PythonError};
use hostler_python_frames::asgi;
use hostler_ring::Bell;
use hostler_ring::polled::PolledWorker;
use hostler_sys::fdpass::{self, Wait};
use pyo3_ffi as ffi;
use std::cell::UnsafeCell;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The longest time that a response waits before the front is woken for it, while others are served.
const LINGER: Duration = Duration::from_micros(50);

/// A worker's links.
struct Links {
    /// The open ones.
    all: Vec<Link>,
    /// Bells of the front's, by their number.
    bells: Vec<(u64, Weak<Vec<OwnedFd>>)>,
    /// The event loop's.
    call_soon: Option<Object>,
    /// [`look`], as Python calls it.
    look: Option<Object>,
    /// It is being looked at them.
    looking: bool,
    /// It will be looked at them in the event loop's next turn.
    soon: bool,
    /// For what is read.
    buffer: Vec<u8>,
    /// [`settle`], as Python calls it, where requests begin in the event loop's next turn; `None`: they begin at once.
    settle: Option<Object>,
    /// Requests are served in a row, and [`settle`] follows.
    in_a_row: bool,
    /// Bells that are to be rung then.
    due: Vec<Bell>,
    /// When one was rung.
    rung: Option<Instant>,
}

/// They are there from a worker's beginning on.
struct Place(UnsafeCell<Links>);

// SAFETY: used with the interpreter's lock only.
unsafe impl Sync for Place {}

static LINKS: Place = Place(UnsafeCell::new(Links {
    all: Vec::new(),
    bells: Vec::new(),
    call_soon: None,
    look: None,
    looking: false,
    soon: false,
    buffer: Vec::new(),
    settle: None,
    in_a_row: false,
    due: Vec::new(),
    rung: None,
}));

/// Runs with them; nothing of Python's is run meanwhile.
fn with<T>(run: impl FnOnce(&mut Links) -> T) -> T {
    // SAFETY: with the lock, and nobody else comes here before this is over.
    run(unsafe { &mut *LINKS.0.get() })
}

pub(super) fn add(link: &Link) {
    with(|links| links.all.push(link.clone()));
}

pub(super) fn remove(link: &Link) {
    let removed = with(|links| {
        let at = links.all.iter().position(|other| other.object().as_ptr() == link.object().as_ptr())?;
        Some(links.all.swap_remove(at))
    });
    drop(removed);
}

/// Reads at most so many bytes of a request; `None`: there are none.
pub(super) fn read(memory: &mut PolledWorker, most: usize) -> Outcome<Option<Object>> {
    with(|links| {
        links.buffer.resize(most, 0);
        let count = memory.read(&mut links.buffer);
        (count > 0).then(|| py::bytes(&links.buffer[..count])).transpose()
    })
}

/// Serves what has come.
pub(super) fn look() -> Outcome<()> {
    // Whoever is served may come back here; what has come for others is seen all the same, or in the next turn.
    if with(|links| std::mem::replace(&mut links.looking, true)) {
        return look_soon();
    }
    with(|links| links.in_a_row = true);
    let looked = look_at_all();
    let settles_later = with(|links| {
        links.looking = false;
        links.call_soon.clone().zip(links.settle.clone())
    });
    match settles_later.map(|(call_soon, settle)| call_soon.call(&[&settle])) {
        Some(Ok(_)) => {}
        Some(Err(error)) => {
            settle();
            return looked.and(Err(error));
        }
        None => settle(),
    }
    looked
}

/// Rings a bell, or has it rung soon.
pub(super) fn ring(bell: Bell) {
    with(|links| {
        let now = Instant::now();
        let is_recent = links.rung.is_some_and(|rung| now.duration_since(rung) < LINGER);
        if !(links.in_a_row && is_recent) {
            links.rung = Some(now);
            bell.ring();
        } else if !links.due.contains(&bell) {
            links.due.push(bell);
        }
    });
}

/// Rings what is due: no more requests are served in a row.
fn settle() {
    with(|links| {
        links.in_a_row = false;
        if !links.due.is_empty() {
            links.rung = Some(Instant::now());
            links.due.drain(..).for_each(|bell| bell.ring());
        }
    });
}

pub(super) unsafe extern "C" fn settle_now(
    _: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    settle();
    py::none()
}

fn look_at_all() -> Outcome<()> {
    let mut at = 0;
    // One that is closed meanwhile leaves its place to the last one, and another look is due.
    while let Some(link) = with(|links| {
        let next = links.all.get(at..)?.iter().position(|link| !link.is_asleep())?;
        at += next + 1;
        Some(links.all[at - 1].clone())
    }) {
        match link.turn() {
            Ok(true) => {}
            Ok(false) => look_soon()?,
            Err(PythonError) => {
                // As of a callback of the event loop's: it is told, and others are served.
                // SAFETY: an exception is set, and an object.
                unsafe { ffi::PyErr_WriteUnraisable(link.object().as_ptr()) };
                link.object().invoke(&shared()?.names.close, None)?;
            }
        }
    }
    Ok(())
}

/// Has the event loop look in its next turn.
pub(super) fn look_soon() -> Outcome<()> {
    let calls = with(|links| {
        let both = links.call_soon.clone().zip(links.look.clone());
        both.filter(|_| !std::mem::replace(&mut links.soon, true))
    });
    match calls {
        Some((call_soon, look)) => call_soon.call(&[&look]).map(drop),
        None => Ok(()),
    }
}

pub(super) unsafe extern "C" fn look_now(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    with(|links| links.soon = false);
    given(look().map(|()| py::none()))
}

pub(super) unsafe extern "C" fn begin(
    _: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    given((|| {
        let (call_soon, look) = (needed(arguments, 0)?, needed(arguments, 1)?);
        let settle = argument(arguments, 2);
        with(|links| (links.call_soon, links.look, links.settle) = (Some(call_soon), Some(look), settle));
        Ok(py::none())
    })())
}

pub(super) unsafe extern "C" fn leave(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    with(|links| links.all.iter().for_each(Link::leave));
    py::none()
}

/// The first message of a connection.
enum Greeting {
    /// Bytes of a request.
    Bytes(Vec<u8>),
    Memory(Link, [u8; 9]),
    /// Nothing: it is closed.
    End,
}

fn greeting(descriptor: BorrowedFd<'_>) -> io::Result<Greeting> {
    let (mut frame, mut received) = ([0; asgi::MEMORY], Vec::new());
    let count = fdpass::recv(descriptor, &mut frame, &mut received, Wait::No)?;
    if count == 0 {
        return Ok(Greeting::End);
    }
    let Some(number) = asgi::memory_bells(&frame[..count]).filter(|_| received.len() > 1) else {
        return Ok(Greeting::Bytes(frame[..count].to_vec()));
    };
    let memory = received.remove(0);
    let bells = with(|links| {
        links.bells.retain(|(_, bells)| bells.strong_count() > 0);
        let known =
            links.bells.iter().find(|(known, _)| *known == number).and_then(|(_, bells)| bells.upgrade());
        known.unwrap_or_else(|| {
            let bells = Arc::new(received);
            links.bells.push((number, Arc::downgrade(&bells)));
            bells
        })
    });
    let link = PolledWorker::attach(&memory, bells).ok().and_then(|memory| Link::new(memory).ok());
    Ok(match link {
        Some(link) => Greeting::Memory(link, asgi::memory_user(std::process::id())),
        None => {
            py::clear();
            Greeting::Bytes(Vec::new())
        }
    })
}

pub(super) unsafe extern "C" fn greet(
    _: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    given((|| {
        let Some(number @ 0..) = needed(arguments, 0)?.plain_number() else { return Ok(py::none()) };
        // SAFETY: the caller has the descriptor open.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number as i32) };
        let (bytes, link) = match greeting(descriptor) {
            Ok(Greeting::Bytes(bytes)) => (bytes, None),
            Ok(Greeting::Memory(link, introduction)) => (introduction.to_vec(), Some(link)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // SAFETY: the type of an exception.
                return Err(unsafe { py::raise(ffi::PyExc_BlockingIOError, "nothing has come yet") });
            }
            Ok(Greeting::End) | Err(_) => return Ok(py::none()),
        };
        let bytes = py::bytes(&bytes)?;
        // SAFETY: a new tuple takes what it is given.
        unsafe {
            let pair = Object::owned(ffi::PyTuple_New(2))?;
            ffi::PyTuple_SetItem(pair.as_ptr(), 0, bytes.into_ptr());
            let link = link.map_or_else(py::none, |link| link.object().clone().into_ptr());
            ffi::PyTuple_SetItem(pair.as_ptr(), 1, link);
            Ok(pair.into_ptr())
        }
    })())
}
