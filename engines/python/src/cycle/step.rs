//! The objects that `receive()` and `send(message)` return: they can be awaited once, as a coroutine can, and are
//! coroutines for asyncio (they have all of `collections.abc.Coroutine`). A plain operation completes at its first
//! step; otherwise that step starts the coroutine of the same name in Python, and further steps continue it.

use super::answer::{self, Done};
use super::shared;
use crate::module::{Immutable, given, method, needed};
use crate::py::{self, Object, Outcome, PythonError};
use pyo3_ffi as ffi;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

/// The object. Its type has a collector's head before it.
#[repr(C)]
struct Step {
    head: ffi::PyObject,
    /// The request; null: it is over.
    cycle: *mut ffi::PyObject,
    /// The message to send; null: something is received.
    message: *mut ffi::PyObject,
    /// The coroutine that it goes on with; null: it has not begun.
    inner: *mut ffi::PyObject,
}

static METHODS: Immutable<[ffi::PyMethodDef; 4]> = Immutable([
    method(c"send", go_on, c"Goes on, as a coroutine does."),
    method(c"throw", throw, c"Raises an exception where it is, as a coroutine does."),
    method(c"close", close, c"Ends it, as a coroutine is ended."),
    ffi::PyMethodDef::zeroed(),
]);

/// Its type.
pub(super) fn new_type() -> Outcome {
    let slot = |slot: c_int, value: *mut c_void| ffi::PyType_Slot { slot, pfunc: value };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_clear, clear as *mut c_void),
        slot(ffi::Py_tp_iter, itself as *mut c_void),
        slot(ffi::Py_tp_iternext, next as *mut c_void),
        slot(ffi::Py_am_await, itself as *mut c_void),
        slot(ffi::Py_tp_methods, METHODS.0.as_ptr().cast_mut().cast()),
        slot(0, null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"_hostler_cycle.Step".as_ptr(),
        basicsize: size_of::<Step>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_HAVE_GC) as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the functions have the signatures of their slots; the type keeps copies of what is described here, and of the methods
    // pointers to what lives for ever.
    unsafe { Object::owned(ffi::PyType_FromSpec(&raw mut spec)) }
}

/// A new one.
///
/// # Safety
/// Both are objects, the message may be null.
unsafe fn new(cycle: *mut ffi::PyObject, message: *mut ffi::PyObject) -> Outcome<*mut ffi::PyObject> {
    let of = shared()?.step.as_ptr().cast::<ffi::PyTypeObject>();
    // SAFETY: an object of our type, whose fields are null, and which takes shares in what it holds.
    unsafe {
        let step = Object::owned(ffi::PyType_GenericAlloc(of, 0))?.into_ptr();
        ffi::Py_INCREF(cycle);
        ffi::Py_XINCREF(message);
        (*step.cast::<Step>()).cycle = cycle;
        (*step.cast::<Step>()).message = message;
        Ok(step)
    }
}

pub(super) unsafe extern "C" fn receive(
    own: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the function's own object.
    given(unsafe { new(own, null_mut()) })
}

pub(super) unsafe extern "C" fn send(
    own: *mut ffi::PyObject,
    message: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the function's own object, and its argument.
    given(unsafe { new(own, message) })
}

/// Lets go what a field holds.
///
/// # Safety
/// The field is null or holds a share.
unsafe fn let_go(field: *mut *mut ffi::PyObject) {
    // SAFETY: the caller's; the field is null before anything is run by that.
    unsafe {
        let held = std::mem::replace(&mut *field, null_mut());
        ffi::Py_XDECREF(held);
    }
}

unsafe extern "C" fn clear(own: *mut ffi::PyObject) -> c_int {
    let step = own.cast::<Step>();
    // SAFETY: an object of our type.
    unsafe {
        let_go(&raw mut (*step).cycle);
        let_go(&raw mut (*step).message);
        let_go(&raw mut (*step).inner);
    }
    0
}

unsafe extern "C" fn dealloc(own: *mut ffi::PyObject) {
    // SAFETY: nobody has the object any more. Its type is let go behind it, as of types that are made at run time.
    unsafe {
        ffi::PyObject_GC_UnTrack(own.cast());
        clear(own);
        let of = ffi::Py_TYPE(own);
        ffi::PyObject_GC_Del(own.cast());
        ffi::Py_DECREF(of.cast());
    }
}

unsafe extern "C" fn traverse(
    own: *mut ffi::PyObject,
    visit: ffi::visitproc,
    argument: *mut c_void,
) -> c_int {
    let step = own.cast::<Step>();
    // SAFETY: an object of our type; the collector's function with its argument.
    unsafe {
        let held = [ffi::Py_TYPE(own).cast(), (*step).cycle, (*step).message, (*step).inner];
        for object in held.into_iter().filter(|object: &*mut ffi::PyObject| !object.is_null()) {
            let said = visit(object, argument);
            if said != 0 {
                return said;
            }
        }
    }
    0
}

unsafe extern "C" fn itself(own: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: an object, in which the caller gets a share.
    unsafe { ffi::Py_INCREF(own) };
    own
}

/// A result, as coroutines give it.
fn stop(result: &Object) -> PythonError {
    // SAFETY: the type of an exception, and its argument.
    unsafe {
        // A tuple would be taken for several arguments, and an exception for itself.
        let arguments = Object::owned(ffi::PyTuple_New(1));
        if let Ok(arguments) = arguments {
            ffi::PyTuple_SetItem(arguments.as_ptr(), 0, result.clone().into_ptr());
            ffi::PyErr_SetObject(ffi::PyExc_StopIteration, arguments.as_ptr());
        }
    }
    PythonError
}

/// Goes on with a value. `Ok`: it waits for something; a result is raised.
///
/// # Safety
/// The object is one of our type.
unsafe fn advance(own: *mut ffi::PyObject, value: &Object) -> Outcome {
    let step = own.cast::<Step>();
    let names = &shared()?.names;
    // SAFETY: the caller's. Shares are taken before any of a program's code is run, which may come back here.
    unsafe {
        if let Ok(inner) = Object::borrowed((*step).inner) {
            return through(own, inner.invoke(&names.send, Some(value)));
        }
        let Ok(cycle) = Object::borrowed((*step).cycle) else {
            return Err(py::raise(ffi::PyExc_RuntimeError, "cannot reuse already awaited coroutine"));
        };
        let message = Object::borrowed((*step).message).ok();
        let done = match &message {
            Some(message) => answer::send(&cycle, message),
            None => answer::receive(&cycle),
        };
        let inner = match done {
            Ok(Done::With(result)) => {
                clear(own);
                return Err(stop(&result));
            }
            Ok(Done::Waits(coroutine)) => coroutine,
            Ok(Done::NotYet) => {
                let name = if message.is_some() { &names.send } else { &names.receive };
                through(own, cycle.invoke(name, message.as_ref()))?
            }
            Err(error) => {
                clear(own);
                return Err(error);
            }
        };
        let_go(&raw mut (*step).message);
        (*step).inner = inner.clone().into_ptr();
        through(own, inner.invoke(&names.send, Some(value)))
    }
}

/// Passes on what a coroutine has done; where it is over, so is the object.
///
/// # Safety
/// The object is one of our type.
unsafe fn through(own: *mut ffi::PyObject, done: Outcome) -> Outcome {
    if done.is_err() {
        // SAFETY: the caller's. What is raised stays so while shares are let go.
        unsafe {
            let (mut of, mut value, mut trace) = (null_mut(), null_mut(), null_mut());
            ffi::PyErr_Fetch(&raw mut of, &raw mut value, &raw mut trace);
            clear(own);
            ffi::PyErr_Restore(of, value, trace);
        }
    }
    done
}

unsafe extern "C" fn next(own: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: an object of our type, and None.
    unsafe {
        let none = Object::borrowed(ffi::Py_None());
        given(none.and_then(|none| advance(own, &none)).map(Object::into_ptr))
    }
}

unsafe extern "C" fn go_on(own: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: an object of our type.
    given(needed(arguments, 0).and_then(|value| unsafe { advance(own, &value) }).map(Object::into_ptr))
}

/// Arguments are those of a generator's: an exception, or its type, its value and its traceback.
unsafe extern "C" fn throw(own: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let step = own.cast::<Step>();
    given((|| {
        let names = &shared()?.names;
        let first = needed(arguments, 0)?;
        // SAFETY: an object of our type; the arguments' tuple.
        unsafe {
            let Ok(inner) = Object::borrowed((*step).inner) else {
                // It has not begun.
                clear(own);
                return Err(raise_given(&first, arguments));
            };
            let method = inner.get(&names.throw)?;
            let thrown = Object::owned(ffi::PyObject_CallObject(method.as_ptr(), arguments));
            through(own, thrown).map(Object::into_ptr)
        }
    })())
}

/// Raises what was given to `throw`.
///
/// # Safety
/// The tuple is what `first` comes from.
unsafe fn raise_given(first: &Object, arguments: *mut ffi::PyObject) -> PythonError {
    // SAFETY: the caller's; an instance's type is its own.
    unsafe {
        if ffi::PyExceptionInstance_Check(first.as_ptr()) != 0 {
            ffi::PyErr_SetObject(ffi::Py_TYPE(first.as_ptr()).cast(), first.as_ptr());
        } else if ffi::PyExceptionClass_Check(first.as_ptr()) != 0 {
            let value = if ffi::PyTuple_Size(arguments) > 1 {
                ffi::PyTuple_GetItem(arguments, 1)
            } else {
                ffi::Py_None()
            };
            ffi::PyErr_SetObject(first.as_ptr(), value);
        } else {
            py::raise(
                ffi::PyExc_TypeError,
                "exceptions must be classes or instances deriving from BaseException",
            );
        }
    }
    PythonError
}

unsafe extern "C" fn close(own: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let step = own.cast::<Step>();
    given((|| {
        let names = &shared()?.names;
        // SAFETY: an object of our type.
        unsafe {
            let inner = Object::borrowed((*step).inner).ok();
            clear(own);
            if let Some(inner) = inner {
                inner.invoke(&names.close, None)?;
            }
        }
        Ok(py::none())
    })())
}
