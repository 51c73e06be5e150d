//! `_hostler_cycle`: what an ASGI worker does for each request, for the interpreters that can load it: a request is taken from
//! its frame, `receive` and `send` are told what is plain, and all else is left to the same in Python (`asgi/connection.py`,
//! `asgi/http.py`), whose objects hold all that is known of a request. Other implementations of Python do without it.
//!
//! `receive()` and `send(message)` give what can be awaited, once, as a coroutine can ([`step`]); nothing happens before that, since
//! threads of the application's may call them for the event loop.

mod answer;
mod head;
mod hear;
mod link;
mod links;
mod names;
mod step;

use crate::module::{Definition, Immutable, argument, function, given, method, needed};
use crate::py::{self, Object, Outcome, PythonError};
use names::Names;
use pyo3_ffi as ffi;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::ptr::null_mut;

static METHODS: Immutable<[ffi::PyMethodDef; 10]> = Immutable([
    method(c"confine", confine, c"confine(): no other process of the user's may look into this one."),
    method(c"prepare", prepare, c"prepare(make, loads, extensions): the class of requests, what reads scopes, and what goes into them."),
    method(c"bind", bind, c"bind(cycle): its receive and send."),
    method(c"hears", hears, c"hears(connection): its data_received."),
    method(c"begin", links::begin, c"begin(call_soon, look, [settle]): a worker's event loop, which looks after memory beside connections."),
    method(c"greet", links::greet, c"greet(descriptor): what a new connection begins with, and its memory."),
    method(c"look", links::look_now, c"look(): serves what is in the memory."),
    method(c"settle", links::settle_now, c"settle(): wakes the front for answers that are there."),
    method(c"leave", links::leave, c"leave(): this process has been forked, and the memory is its parent's."),
    ffi::PyMethodDef::zeroed(),
]);

static SLOTS: Immutable<[ffi::PyModuleDef_Slot; 2]> = Immutable([
    ffi::PyModuleDef_Slot { slot: ffi::Py_mod_exec, value: exec as *mut _ },
    ffi::PyModuleDef_Slot { slot: 0, value: null_mut() },
]);

static DEFINITION: Definition = Definition(UnsafeCell::new(ffi::PyModuleDef {
    m_base: ffi::PyModuleDef_HEAD_INIT,
    m_name: c"_hostler_cycle".as_ptr(),
    m_doc: c"What an ASGI worker does for each request.".as_ptr(),
    m_size: 0,
    m_methods: METHODS.0.as_ptr().cast_mut(),
    m_slots: SLOTS.0.as_ptr().cast_mut(),
    m_traverse: None,
    m_clear: None,
    m_free: None,
}));

/// The function that Python looks for in an extension of this name.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "Python's word for it")]
pub extern "C" fn PyInit__hostler_cycle() -> *mut ffi::PyObject {
    // SAFETY: the definition lives for ever.
    unsafe { ffi::PyModuleDef_Init(DEFINITION.0.get()) }
}

unsafe extern "C" fn confine(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given(match hostler_sys::harden::settle(c"hostler-python") {
        Ok(()) => Ok(py::none()),
        // SAFETY: the type of an exception.
        Err(error) => Err(unsafe { py::raise(ffi::PyExc_OSError, &error.to_string()) }),
    })
}

/// Objects that are made once and used for each request.
struct Shared {
    names: Names,
    /// The type of [`step`].
    step: Object,
    /// The type of [`link`].
    link: Object,
    /// `http.Http`, `marshal.loads`, `http.EXTENSIONS`.
    given: Option<[Object; 3]>,
}

/// It is there from the module's first use on.
struct Place(UnsafeCell<Option<Shared>>);

// SAFETY: used with the interpreter's lock only.
unsafe impl Sync for Place {}

static SHARED: Place = Place(UnsafeCell::new(None));

/// Returns the shared objects. Not to be called before the module was loaded.
fn shared() -> Outcome<&'static Shared> {
    // SAFETY: with the lock; it is written to while the module is loaded and prepared, before any request.
    unsafe { (*SHARED.0.get()).as_ref().ok_or(PythonError) }
}

unsafe extern "C" fn exec(_: *mut ffi::PyObject) -> c_int {
    let make = || {
        let (names, step, link) = (Names::new()?, step::new_type()?, link::new_type()?);
        Ok(Shared { names, step, link, given: None })
    };
    let made: Outcome<Shared> = make();
    match made {
        Ok(made) => {
            // SAFETY: with the lock; nobody has it yet.
            unsafe { *SHARED.0.get() = Some(made) };
            0
        }
        Err(PythonError) => -1,
    }
}

unsafe extern "C" fn prepare(_: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let all = [needed(arguments, 0)?, needed(arguments, 1)?, needed(arguments, 2)?];
        // SAFETY: with the lock, before any request.
        if let Some(shared) = unsafe { &mut *SHARED.0.get() } {
            shared.given = Some(all);
        }
        Ok(py::none())
    })())
}

/// A function of one object.
const fn one(name: &'static std::ffi::CStr, call: ffi::PyCFunction, flags: c_int) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: call },
        ml_flags: flags,
        ml_doc: std::ptr::null(),
    }
}

static RECEIVE: Immutable<ffi::PyMethodDef> = Immutable(one(c"receive", step::receive, ffi::METH_NOARGS));
static SEND: Immutable<ffi::PyMethodDef> = Immutable(one(c"send", step::send, ffi::METH_O));
static DATA_RECEIVED: Immutable<ffi::PyMethodDef> =
    Immutable(one(c"data_received", hear::data_received, ffi::METH_O));

unsafe extern "C" fn bind(_: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let cycle = needed(arguments, 0)?;
        let (receive, send) = (function(&RECEIVE, &cycle)?, function(&SEND, &cycle)?);
        // SAFETY: a new tuple takes what it is given.
        unsafe {
            let pair = Object::owned(ffi::PyTuple_New(2))?;
            ffi::PyTuple_SetItem(pair.as_ptr(), 0, receive.into_ptr());
            ffi::PyTuple_SetItem(pair.as_ptr(), 1, send.into_ptr());
            Ok(pair.into_ptr())
        }
    })())
}

unsafe extern "C" fn hears(_: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given(
        argument(arguments, 0)
            .ok_or(PythonError)
            .and_then(|own| Ok(function(&DATA_RECEIVED, &own)?.into_ptr())),
    )
}
