//! The part of the engine that is written in Python (`support.py`, and what stands behind it).

use crate::module;
use crate::py::{self, Object, Outcome, PythonError};
use pyo3_ffi as ffi;
use std::ffi::CStr;

const TEXT: &str = concat!(
    include_str!("support.py"),
    include_str!("scripts.py"),
    include_str!("trial.py"),
    include_str!("guards.py"),
    include_str!("forwarded.py"),
    include_str!("mod_wsgi.py"),
    "\0"
);

/// Its module.
pub(crate) struct Support {
    module: Object,
    /// The class of what `wsgi.file_wrapper` makes.
    file_wrapper: Object,
}

impl Support {
    /// Runs the text.
    pub(crate) fn load() -> Outcome<Self> {
        let text = CStr::from_bytes_with_nul(TEXT.as_bytes()).map_err(|_| PythonError)?;
        // SAFETY: strings and objects; the dictionary is the module's, which is kept.
        unsafe {
            let name = c"_hostler_support";
            let code =
                Object::owned(ffi::Py_CompileString(text.as_ptr(), c"hostler".as_ptr(), ffi::Py_file_input))?;
            let support = Object::borrowed(ffi::PyImport_AddModule(name.as_ptr()))?;
            let scope = Object::borrowed(ffi::PyModule_GetDict(support.as_ptr()))?;
            let builtins = Object::borrowed(ffi::PyEval_GetBuiltins())?;
            ffi::PyDict_SetItemString(scope.as_ptr(), c"__builtins__".as_ptr(), builtins.as_ptr());
            let own = module::functions()?;
            ffi::PyDict_SetItemString(scope.as_ptr(), c"_hostler".as_ptr(), own.as_ptr());
            Object::owned(ffi::PyEval_EvalCode(code.as_ptr(), scope.as_ptr(), scope.as_ptr()))?;
            let file_wrapper = support.attribute(c"FileWrapper")?;
            Ok(Self { module: support, file_wrapper })
        }
    }

    /// One of its names.
    pub(crate) fn name(&self, name: &CStr) -> Outcome {
        self.module.attribute(name)
    }

    /// Returns whether `wsgi.file_wrapper` has made it.
    pub(crate) fn is_file_wrapper(&self, object: &Object) -> bool {
        // SAFETY: each object has a type, which is only compared.
        unsafe { ffi::Py_TYPE(object.as_ptr()).cast() == self.file_wrapper.as_ptr() }
    }

    /// Calls one of its functions.
    pub(crate) fn call(&self, name: &CStr, arguments: &[&Object]) -> Outcome {
        self.name(name)?.call(arguments)
    }

    /// Writes the exception that is set into the log, as that of this script.
    pub(crate) fn tell(&self, script: &str) {
        let told = taken().and_then(|raised| self.call(c"tell", &[&py::text(script)?, &raised]));
        if told.is_err() {
            py::clear();
        }
    }
}

/// The exception that is set, as an object; it is set no more.
fn taken() -> Outcome {
    let (mut kind, mut value, mut trace) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the three are this code's afterwards.
    unsafe {
        ffi::PyErr_Fetch(&raw mut kind, &raw mut value, &raw mut trace);
        ffi::PyErr_NormalizeException(&raw mut kind, &raw mut value, &raw mut trace);
        drop(Object::owned(kind));
        let raised = Object::owned(value)?;
        if let Ok(trace) = Object::owned(trace) {
            ffi::PyException_SetTraceback(raised.as_ptr(), trace.as_ptr());
        }
        Ok(raised)
    }
}

/// The exception that is set, in a sentence.
pub(crate) fn sentence() -> String {
    let text = taken().and_then(|raised| {
        // SAFETY: an object.
        let text = unsafe { Object::owned(ffi::PyObject_Str(raised.as_ptr())) }?;
        Ok(format!("{}: {}", raised.type_name(), py::utf8_of(&text)?))
    });
    text.unwrap_or_else(|PythonError| {
        py::clear();
        "something that can't be told".to_owned()
    })
}

/// Texts as a list.
pub(crate) fn list<'a>(texts: impl Iterator<Item = &'a str>) -> Outcome {
    // SAFETY: a new list, and objects that it takes shares in.
    unsafe {
        let list = Object::owned(ffi::PyList_New(0))?;
        for text in texts {
            if ffi::PyList_Append(list.as_ptr(), py::text(text)?.as_ptr()) != 0 {
                return Err(PythonError);
            }
        }
        Ok(list)
    }
}
