//! Names of attributes and of messages' entries, made once so that dictionaries find them at once.

use crate::py::{self, Object, Outcome};
use pyo3_ffi as ffi;

macro_rules! names {
    ($($name:ident $text:literal,)*) => {
        /// The names.
        pub(super) struct Names {
            $(pub(super) $name: Object,)*
        }

        impl Names {
            pub(super) fn new() -> Outcome<Self> {
                Ok(Self { $($name: py::interned($text)?,)* })
            }
        }
    };
}

names! {
    // Of messages and scopes.
    kind c"type", status c"status", headers c"headers", trailers c"trailers", body c"body", more_body c"more_body",
    extensions c"extensions", state c"state",
    request c"http.request", response_start c"http.response.start", response_body c"http.response.body",
    // Of requests.
    connection c"connection", is_lost c"is_lost", is_started c"_is_started", is_complete c"_is_complete",
    is_over c"_is_over", is_head c"_is_head", head c"_head", left c"_left", said_trailers c"_trailers",
    pieces c"_pieces", whole c"_whole", told c"_told", waiters c"_waiters",
    wake c"_wake", receive c"receive", send c"send", throw c"throw", close c"close",
    // Of connections, their transports and the worker.
    worker c"worker", transport c"transport", cycle c"cycle", last c"last", room c"room", no_room c"_room",
    is_raw c"is_raw", buffer c"_buffer", heard c"heard",
    write c"write", is_closing c"is_closing",
    introduction c"introduction", memory c"memory", pause_writing c"pause_writing", resume_writing c"resume_writing",
    now c"now", begun c"begun", is_retiring c"is_retiring", start c"start", copy c"copy",
}

impl Object {
    /// An attribute by its name.
    pub(super) fn get(&self, name: &Self) -> Outcome {
        // SAFETY: objects.
        unsafe { Self::owned(ffi::PyObject_GetAttr(self.as_ptr(), name.as_ptr())) }
    }

    /// Gives an attribute a value.
    pub(super) fn put(&self, name: &Self, value: &Self) -> Outcome<()> {
        // SAFETY: objects.
        match unsafe { ffi::PyObject_SetAttr(self.as_ptr(), name.as_ptr(), value.as_ptr()) } {
            0 => Ok(()),
            _ => Err(py::PythonError),
        }
    }

    /// Returns whether an attribute is true.
    pub(super) fn has(&self, name: &Self) -> Outcome<bool> {
        self.get(name)?.is_true()
    }

    /// Returns whether it is true.
    pub(super) fn is_true(&self) -> Outcome<bool> {
        // SAFETY: an object.
        match unsafe { ffi::PyObject_IsTrue(self.as_ptr()) } {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(py::PythonError),
        }
    }

    /// Calls a method.
    pub(super) fn invoke(&self, name: &Self, argument: Option<&Self>) -> Outcome {
        let end = std::ptr::null_mut::<ffi::PyObject>();
        // SAFETY: objects, and a null pointer behind the last of them.
        unsafe {
            Self::owned(match argument {
                Some(argument) => {
                    ffi::PyObject_CallMethodObjArgs(self.as_ptr(), name.as_ptr(), argument.as_ptr(), end)
                }
                None => ffi::PyObject_CallMethodObjArgs(self.as_ptr(), name.as_ptr(), end),
            })
        }
    }

    /// An entry of a dictionary.
    pub(super) fn entry(&self, key: &Self) -> Outcome<Option<Self>> {
        // SAFETY: a dictionary, whose entry is borrowed and shared here; no entry is no error.
        unsafe {
            let found = ffi::PyDict_GetItemWithError(self.as_ptr(), key.as_ptr());
            if found.is_null() && !ffi::PyErr_Occurred().is_null() {
                return Err(py::PythonError);
            }
            Ok(Self::borrowed(found).ok())
        }
    }

    /// The bytes of an object that is `bytes` and nothing derived from it.
    pub(super) fn plain_bytes(&self) -> Option<&[u8]> {
        // SAFETY: the type is only compared.
        let is_plain = unsafe { ffi::PyBytes_CheckExact(self.as_ptr()) != 0 };
        self.bytes().filter(|_| is_plain)
    }

    /// A number that fits.
    pub(super) fn plain_number(&self) -> Option<i64> {
        // SAFETY: a number; one that does not fit raises, which is taken back.
        unsafe {
            if ffi::PyLong_CheckExact(self.as_ptr()) == 0 {
                return None;
            }
            let value = ffi::PyLong_AsLongLong(self.as_ptr());
            if value == -1 && !ffi::PyErr_Occurred().is_null() {
                py::clear();
                return None;
            }
            Some(value)
        }
    }

    /// Returns whether it is this text.
    pub(super) fn is_text(&self, text: &Self, bytes: &std::ffi::CStr) -> bool {
        // SAFETY: what is no text is not compared.
        self.as_ptr() == text.as_ptr()
            || unsafe {
                ffi::PyUnicode_Check(self.as_ptr()) != 0
                    && ffi::PyUnicode_CompareWithASCIIString(self.as_ptr(), bytes.as_ptr()) == 0
            }
    }
}
