//! `_hostler`, the module that Python imports: what it calls of this code.

use crate::engine::Python;
use crate::exchange::{self, with};
use crate::metrics;
use crate::py::{self, Object, Outcome, PythonError};
use crate::response::Head;
use hostler_engine::process;
use hostler_wire::work::Severity;
use pyo3_ffi as ffi;
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

pub(crate) type Call = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;

pub(crate) const fn method(name: &'static CStr, call: Call, doc: &'static CStr) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: call },
        ml_flags: ffi::METH_VARARGS,
        ml_doc: doc.as_ptr(),
    }
}

/// A value that never changes, which C has no type for.
pub(crate) struct Immutable<T>(pub(crate) T);

// SAFETY: nobody writes to it; the pointers in it are to constants.
unsafe impl<T> Sync for Immutable<T> {}

static METHODS: Immutable<[ffi::PyMethodDef; 8]> = Immutable([
    method(c"run", run, c"Becomes the engine; never returns."),
    method(c"log", log, c"log(severity, bytes): a line of the ErrorLog."),
    method(c"read", read, c"read(request, most): some bytes of a request's body; none: its end."),
    method(c"request", request, c"The number of the request that is served; 0: there is none."),
    method(c"is_forked_away", is_forked_away, c"Whether a program has forked this process."),
    method(c"busy", busy, c"Microseconds that requests have taken in this process."),
    method(c"measure", measure, c"Has each request told to measured() from now on."),
    ffi::PyMethodDef::zeroed(),
]);

/// The function that an application calls; it holds the request's number.
static START_RESPONSE: Immutable<ffi::PyMethodDef> = Immutable(method(
    c"start_response",
    start_response,
    c"start_response(status, headers, exc_info=None) -> write",
));
static WRITE: Immutable<ffi::PyMethodDef> = Immutable(method(c"write", write, c"write(bytes)"));

/// A definition that Python may keep; with the lock it changes counters in it.
pub(crate) struct Definition(pub(crate) std::cell::UnsafeCell<ffi::PyModuleDef>);

// SAFETY: Python uses it with its lock.
unsafe impl Sync for Definition {}

static SLOTS: Immutable<[ffi::PyModuleDef_Slot; 1]> =
    Immutable([ffi::PyModuleDef_Slot { slot: 0, value: null_mut() }]);

static DEFINITION: Definition = Definition(std::cell::UnsafeCell::new(ffi::PyModuleDef {
    m_base: ffi::PyModuleDef_HEAD_INIT,
    m_name: c"_hostler".as_ptr(),
    m_doc: c"What applications and their server say to each other.".as_ptr(),
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
pub extern "C" fn PyInit__hostler() -> *mut ffi::PyObject {
    // SAFETY: the definition lives for ever.
    unsafe { ffi::PyModuleDef_Init(DEFINITION.0.get()) }
}

/// The functions of the module in a dictionary, for the module of `support.py`.
pub(crate) fn functions() -> Outcome {
    // SAFETY: constants; the module is this code's.
    unsafe {
        let module = Object::owned(ffi::PyModule_New(c"_hostler".as_ptr()))?;
        match ffi::PyModule_AddFunctions(module.as_ptr(), METHODS.0.as_ptr().cast_mut()) {
            0 => Ok(module),
            _ => Err(PythonError),
        }
    }
}

/// `start_response` for the request with this number.
pub(crate) fn start_response_of(serial: &Object) -> Outcome {
    function(&START_RESPONSE, serial)
}

/// A function that holds an object of its own.
pub(crate) fn function(definition: &'static Immutable<ffi::PyMethodDef>, own: &Object) -> Outcome {
    let definition = (&raw const definition.0).cast_mut();
    // SAFETY: the definition lives for ever, and is not written to; the function takes a share in the object.
    unsafe { Object::owned(ffi::PyCFunction_NewEx(definition, own.as_ptr(), null_mut())) }
}

/// Returns a function's result for Python: an object, or null for an exception.
pub(crate) fn given(outcome: Outcome<*mut ffi::PyObject>) -> *mut ffi::PyObject {
    outcome.unwrap_or(null_mut())
}

/// An argument; `None`: there are not so many.
pub(crate) fn argument(arguments: *mut ffi::PyObject, at: isize) -> Option<Object> {
    // SAFETY: Python calls with a tuple; its items are borrowed, and shared here.
    unsafe {
        if at >= ffi::PyTuple_Size(arguments) {
            return None;
        }
        Object::borrowed(ffi::PyTuple_GetItem(arguments, at)).ok()
    }
}

pub(crate) fn needed(arguments: *mut ffi::PyObject, at: isize) -> Outcome {
    argument(arguments, at).ok_or_else(|| {
        // SAFETY: the type of an exception.
        unsafe { py::raise(ffi::PyExc_TypeError, "an argument is missing") }
    })
}

fn serial_of(object: *mut ffi::PyObject) -> u64 {
    // SAFETY: a number of ours; of another object there comes an error, and a number that no request has.
    let serial = unsafe { ffi::PyLong_AsUnsignedLongLong(object) };
    if serial == u64::MAX {
        py::clear();
    }
    serial
}

unsafe extern "C" fn run(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let _ = hostler_engine::run::<Python>();
    process::exit_now(0)
}

unsafe extern "C" fn log(_: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let (severity, line) = (needed(arguments, 0)?, needed(arguments, 1)?);
        // SAFETY: an object.
        let severity = unsafe { ffi::PyLong_AsLong(severity.as_ptr()) };
        let severity = Severity::numbered(c_int::try_from(severity).unwrap_or(3));
        exchange::log(severity, line.bytes().unwrap_or_default());
        Ok(py::none())
    })())
}

unsafe extern "C" fn read(_: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let (serial, most) = (needed(arguments, 0)?, needed(arguments, 1)?);
        // SAFETY: an object.
        let most = unsafe { ffi::PyLong_AsSsize_t(most.as_ptr()) };
        let most = usize::try_from(most).map_err(|_| PythonError)?;
        let piece = with(serial_of(serial.as_ptr()), |exchange| exchange.read(most))?;
        Ok(py::bytes(&piece)?.into_ptr())
    })())
}

unsafe extern "C" fn is_forked_away(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given(py::truth(process::is_forked_away()).map(Object::into_ptr))
}

unsafe extern "C" fn start_response(
    own: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    given((|| {
        let (status, headers) = (needed(arguments, 0)?, needed(arguments, 1)?);
        let exc_info = exc_info(arguments)?;
        let head = Head::of(&status, &headers)?;
        // SAFETY: an object of ours.
        let serial = unsafe { Object::borrowed(own) }?;
        with(serial_of(own), |exchange| exchange.start(head, exc_info))?;
        Ok(function(&WRITE, &serial)?.into_ptr())
    })())
}

/// The third of three arguments at most: a tuple, or None.
fn exc_info(arguments: *mut ffi::PyObject) -> Outcome<Option<Object>> {
    // SAFETY: Python calls with a tuple; types of exceptions.
    unsafe {
        let count = ffi::PyTuple_Size(arguments);
        if count > 3 {
            let message = format!("start_response takes at most 3 arguments ({count} given)");
            return Err(py::raise(ffi::PyExc_TypeError, &message));
        }
        let info = argument(arguments, 2).filter(|info| !info.is_none());
        if info.as_ref().is_some_and(|info| ffi::PyTuple_Check(info.as_ptr()) == 0) {
            return Err(py::raise(ffi::PyExc_RuntimeError, "exception info must be a tuple"));
        }
        Ok(info)
    }
}

unsafe extern "C" fn request(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given(py::number(exchange::serial()).map(Object::into_ptr))
}

unsafe extern "C" fn busy(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given(py::number(metrics::busy()).map(Object::into_ptr))
}

unsafe extern "C" fn measure(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    metrics::measure();
    py::none()
}

unsafe extern "C" fn write(own: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject {
    given((|| {
        let data = needed(arguments, 0)?;
        with(serial_of(own), |exchange| {
            exchange.write(bytes_of(&data)?, false)?;
            exchange.publish();
            Ok(py::none())
        })
    })())
}

/// A piece of a body.
pub(crate) fn bytes_of(data: &Object) -> Outcome<&[u8]> {
    data.bytes().ok_or_else(|| {
        let message = format!("byte string value expected, value of type {} found", data.type_name());
        // SAFETY: the type of an exception.
        unsafe { py::raise(ffi::PyExc_TypeError, &message) }
    })
}
