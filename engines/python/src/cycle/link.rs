//! A connection's memory (`hostler_ring`), as its transport: what asyncio's transports do, as far as connections ask for it. The
//! connection's own transport, over the socket, ends it.

use super::links;
use super::shared;
use crate::module::{Immutable, given, method, needed};
use crate::py::{self, Object, Outcome};
use hostler_ring::polled::PolledWorker;
use pyo3_ffi as ffi;
use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

/// Bytes that may wait for room before whoever writes is asked to wait, and to how few they have to come down then.
const HIGH: usize = 256 << 10;
const LOW: usize = 64 << 10;
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Pieces of a request's that are served in a row.
const TURN: usize = 16;

/// The object.
#[repr(C)]
struct LinkObject {
    head: ffi::PyObject,
    inner: *mut RefCell<Inner>,
}

/// Its contents. No Python code runs while it is borrowed.
struct Inner {
    /// `None`: it is not to be used any more.
    memory: Option<PolledWorker>,
    connection: Option<Object>,
    /// The connection's own transport.
    socket: Option<Object>,
    /// The bytes that found no room, and how many of them have been sent.
    pending: Vec<u8>,
    gone: usize,
    /// Nothing is to be read.
    is_paused: bool,
    /// It is read on, and nobody has asked to be called for what is there.
    is_resumed: bool,
    /// The writer was asked to wait.
    is_full: bool,
    /// The answer is complete with what is pending.
    finishes: bool,
    /// The connection is to be closed behind what is pending; nothing more is taken.
    is_closing: bool,
}

impl Inner {
    /// Writes what there is room for; whether all has gone.
    fn flush(&mut self) -> bool {
        let Some(memory) = &mut self.memory else { return true };
        if self.gone < self.pending.len() {
            self.gone += memory.write(&self.pending[self.gone..]);
        }
        if self.gone < self.pending.len() {
            return false;
        }
        self.pending = Vec::new();
        self.gone = 0;
        if std::mem::take(&mut self.finishes) {
            memory.finish();
        }
        true
    }

    /// Has the front woken for what was written, if it sleeps.
    fn ring(&self) {
        if let Some(bell) = self.memory.as_ref().and_then(PolledWorker::take_bell) {
            links::ring(bell);
        }
    }

    /// Asks to be called for what may come. False: there is something to read.
    fn sleep(&mut self) -> bool {
        loop {
            let before = self.gone;
            let is_flushed = self.flush();
            let reads = !self.is_paused && !self.is_closing;
            let Some(memory) = &mut self.memory else { return true };
            if memory.sleep(reads, !is_flushed) {
                return true;
            }
            if is_flushed || self.gone == before {
                return self.is_closing;
            }
        }
    }
}

static METHODS: Immutable<[ffi::PyMethodDef; 9]> = Immutable([
    method(c"attach", attach, c"attach(connection, transport): whose it is."),
    method(c"detach", detach, c"The connection is closed."),
    method(c"write", write, c"write(data)"),
    method(c"finish", finish, c"The answer is complete."),
    method(c"close", close, c"Closes the connection behind what was written."),
    method(c"is_closing", is_closing, c"Whether it is closed, or about to be."),
    method(c"pause_reading", pause_reading, c"Reads no more."),
    method(c"resume_reading", resume_reading, c"Reads on."),
    ffi::PyMethodDef::zeroed(),
]);

/// Its type.
pub(super) fn new_type() -> Outcome {
    let slot = |slot: c_int, value: *mut c_void| ffi::PyType_Slot { slot, pfunc: value };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_methods, METHODS.0.as_ptr().cast_mut().cast()),
        slot(0, null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"_hostler_cycle.Link".as_ptr(),
        basicsize: size_of::<LinkObject>() as c_int,
        itemsize: 0,
        flags: ffi::Py_TPFLAGS_DEFAULT as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the functions have the signatures of their slots; the type keeps copies of what is described here, and of the methods
    // pointers to what lives for ever.
    unsafe { Object::owned(ffi::PyType_FromSpec(&raw mut spec)) }
}

unsafe extern "C" fn dealloc(own: *mut ffi::PyObject) {
    // SAFETY: nobody has the object any more. Its type is let go behind it, as of types that are made at run time.
    unsafe {
        let of = ffi::Py_TYPE(own);
        let inner = (*own.cast::<LinkObject>()).inner;
        if !inner.is_null() {
            drop(Box::from_raw(inner));
        }
        ffi::PyObject_Free(own.cast());
        ffi::Py_DECREF(of.cast());
    }
}

/// One of these objects.
#[derive(Clone)]
pub(super) struct Link(Object);

impl Link {
    /// A new one.
    pub(super) fn new(memory: PolledWorker) -> Outcome<Self> {
        let of = shared()?.link.as_ptr().cast::<ffi::PyTypeObject>();
        let inner = Inner {
            memory: Some(memory),
            connection: None,
            socket: None,
            pending: Vec::new(),
            gone: 0,
            is_paused: false,
            is_resumed: false,
            is_full: false,
            finishes: false,
            is_closing: false,
        };
        // SAFETY: an object of our type, whose fields are null.
        unsafe {
            let object = Object::owned(ffi::PyType_GenericAlloc(of, 0))?;
            (*object.as_ptr().cast::<LinkObject>()).inner = Box::into_raw(Box::new(RefCell::new(inner)));
            Ok(Self(object))
        }
    }

    /// The object, if it is one.
    pub(super) fn of(object: &Object) -> Option<Self> {
        let of = shared().ok()?.link.as_ptr();
        // SAFETY: each object has a type.
        let is_link = unsafe { ffi::Py_TYPE(object.as_ptr()).cast::<ffi::PyObject>() == of };
        is_link.then(|| Self(object.clone()))
    }

    fn inner(&self) -> &RefCell<Inner> {
        // SAFETY: it is there from the object's making to its end.
        unsafe { &*(*self.0.as_ptr().cast::<LinkObject>()).inner }
    }

    pub(super) fn object(&self) -> &Object {
        &self.0
    }

    /// Returns whether nothing has come for which it has asked to be called.
    pub(super) fn is_asleep(&self) -> bool {
        let inner = self.inner().borrow();
        !inner.is_resumed && inner.memory.as_ref().is_none_or(PolledWorker::is_asleep)
    }

    /// Takes what is there of a request, and has the connection serve it. False: there may be more.
    pub(super) fn turn(&self) -> Outcome<bool> {
        for _ in 0..TURN {
            let (connection, begins, piece) = {
                let mut inner = self.inner().borrow_mut();
                let Some(connection) = inner.connection.clone() else { return Ok(true) };
                inner.is_resumed = false;
                let begins = !inner.is_closing && inner.memory.as_mut().is_some_and(PolledWorker::begin);
                if begins {
                    (inner.pending, inner.gone, inner.finishes, inner.is_paused) =
                        (Vec::new(), 0, false, false);
                }
                let reads = !inner.is_paused && !inner.is_closing;
                let memory = inner.memory.as_mut().filter(|_| reads);
                let piece = memory.map_or(Ok(None), |memory| links::read(memory, PIECE))?;
                inner.ring();
                (connection, begins, piece)
            };
            if begins {
                connection.put(&shared()?.names.transport, &self.0)?;
            }
            if let Some(piece) = piece {
                super::hear::hear(&connection, &piece)?;
            }
            let is_asleep = {
                let mut inner = self.inner().borrow_mut();
                let is_asleep = inner.sleep();
                inner.ring();
                is_asleep
            };
            self.has_flushed(&connection)?;
            if is_asleep {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells what follows when there was room.
    fn has_flushed(&self, connection: &Object) -> Outcome<()> {
        let (resumes, closes) = {
            let mut inner = self.inner().borrow_mut();
            let left = inner.pending.len() - inner.gone;
            let resumes = left <= LOW && std::mem::take(&mut inner.is_full);
            (resumes, (inner.is_closing && left == 0).then(|| inner.socket.clone()).flatten())
        };
        let names = &shared()?.names;
        if resumes {
            connection.invoke(&names.resume_writing, None)?;
        }
        if let Some(socket) = closes {
            socket.invoke(&names.close, None)?;
        }
        Ok(())
    }

    /// Writes; what there is no room for waits.
    pub(super) fn write(&self, bytes: &[u8]) -> Outcome<()> {
        let (full, looks) = {
            let mut inner = self.inner().borrow_mut();
            let Inner { memory: Some(memory), pending, is_closing: false, .. } = &mut *inner else {
                return Ok(());
            };
            let written = if pending.is_empty() { memory.write(bytes) } else { 0 };
            if written == bytes.len() {
                inner.ring();
                return Ok(());
            }
            pending.extend_from_slice(&bytes[written..]);
            let looks = !inner.sleep();
            inner.ring();
            let is_full =
                inner.pending.len() - inner.gone > HIGH && !std::mem::replace(&mut inner.is_full, true);
            (inner.connection.clone().filter(|_| is_full), looks)
        };
        if looks {
            links::look_soon()?;
        }
        if let Some(connection) = full {
            connection.invoke(&shared()?.names.pause_writing, None)?;
        }
        Ok(())
    }

    /// The answer is complete.
    pub(super) fn finish(&self) {
        let mut inner = self.inner().borrow_mut();
        let is_flushed = inner.pending.is_empty();
        match &mut inner.memory {
            Some(memory) if is_flushed => memory.finish(),
            _ => inner.finishes = true,
        }
    }

    /// The memory is not this process' any more.
    pub(super) fn leave(&self) {
        // A process that was forked in the middle of something has it borrowed for ever, and can't do anything with it.
        if let Ok(mut inner) = self.inner().try_borrow_mut() {
            std::mem::forget(inner.memory.take());
        }
    }
}

fn own(object: *mut ffi::PyObject) -> Outcome<Link> {
    // SAFETY: the object that a method is called with.
    unsafe { Object::borrowed(object) }.map(Link)
}

unsafe extern "C" fn attach(object: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let (link, connection, socket) = (own(object)?, needed(arguments, 0)?, needed(arguments, 1)?);
        {
            let mut inner = link.inner().borrow_mut();
            (inner.connection, inner.socket) = (Some(connection), Some(socket));
        }
        links::add(&link);
        links::look_soon()?;
        Ok(py::none())
    })())
}

unsafe extern "C" fn detach(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let link = own(object)?;
        links::remove(&link);
        let held = {
            let mut inner = link.inner().borrow_mut();
            inner.is_closing = true;
            (inner.memory.take(), inner.connection.take(), inner.socket.take())
        };
        drop(held);
        // Who was called over this connection may have been called for others.
        links::look_soon()?;
        Ok(py::none())
    })())
}

unsafe extern "C" fn write(object: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let data = needed(arguments, 0)?;
        let Some(bytes) = data.bytes() else {
            // SAFETY: the type of an exception.
            return Err(unsafe { py::raise(ffi::PyExc_TypeError, "only bytes are written") });
        };
        own(object)?.write(bytes)?;
        Ok(py::none())
    })())
}

unsafe extern "C" fn finish(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given(own(object).map(|link| {
        link.finish();
        py::none()
    }))
}

unsafe extern "C" fn close(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let link = own(object)?;
        let connection = {
            let mut inner = link.inner().borrow_mut();
            inner.is_closing = true;
            inner.flush();
            inner.ring();
            inner.connection.clone()
        };
        if let Some(connection) = connection {
            link.has_flushed(&connection)?;
        }
        Ok(py::none())
    })())
}

unsafe extern "C" fn is_closing(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let link = own(object)?;
        let (is_closing, socket) = {
            let inner = link.inner().borrow();
            (inner.is_closing, inner.socket.clone())
        };
        match socket {
            Some(socket) if !is_closing => Ok(socket.invoke(&shared()?.names.is_closing, None)?.into_ptr()),
            _ => Ok(py::truth(true)?.into_ptr()),
        }
    })())
}

unsafe extern "C" fn pause_reading(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given(own(object).map(|link| {
        link.inner().borrow_mut().is_paused = true;
        py::none()
    }))
}

unsafe extern "C" fn resume_reading(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let link = own(object)?;
        let was_paused = {
            let mut inner = link.inner().borrow_mut();
            inner.is_resumed |= inner.is_paused;
            std::mem::take(&mut inner.is_paused)
        };
        if was_paused {
            links::look_soon()?;
        }
        Ok(py::none())
    })())
}
