//! The part of an application's environment that is the same for all requests of a directory: a dictionary that is
//! copied for each, and names of variables that are made once.

use crate::py::{self, Object, Outcome, PythonError};
use hostler_cgi::http_variable;
use pyo3_ffi as ffi;
use std::collections::HashMap;
use std::ffi::CString;

/// Names of fields that are kept; clients may make up others without end.
const MOST: usize = 256;

/// Names of variables.
#[derive(Default)]
pub(crate) struct Names {
    known: HashMap<&'static str, Object>,
    /// By the fields' names, as they came. `None`: no variable is made of it.
    fields: HashMap<Box<[u8]>, Option<Object>>,
}

impl Names {
    /// A variable's name.
    pub(crate) fn of(&mut self, name: &'static str) -> Outcome {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        let made = py::interned(&CString::new(name).unwrap_or_default())?;
        self.known.insert(name, made.clone());
        Ok(made)
    }

    /// The variable of a header field; `None`: it has none, for its name could be taken for another's.
    pub(crate) fn of_field(&mut self, field: &[u8]) -> Outcome<Option<Object>> {
        if let Some(known) = self.fields.get(field) {
            return Ok(known.clone());
        }
        let made = match http_variable(field, true) {
            Some(name) => Some(py::interned(&CString::new(name).unwrap_or_default())?),
            None => None,
        };
        if self.fields.len() < MOST {
            self.fields.insert(field.into(), made.clone());
        }
        Ok(made)
    }
}

/// An environment that is being made.
pub(crate) struct Environment<'a> {
    pub(crate) dictionary: Object,
    pub(crate) names: &'a mut Names,
}

impl Environment<'_> {
    /// Sets a variable.
    pub(crate) fn set(&mut self, name: &'static str, value: &Object) -> Outcome<()> {
        let name = self.names.of(name)?;
        py::set(&self.dictionary, &name, value)
    }

    /// Sets a variable to bytes, each a character.
    pub(crate) fn put(&mut self, name: &'static str, value: &[u8]) -> Outcome<()> {
        self.set(name, &py::latin1(value)?)
    }

    /// Sets a variable, if there is a value for it.
    pub(crate) fn put_some(&mut self, name: &'static str, value: Option<&[u8]>) -> Outcome<()> {
        value.map_or(Ok(()), |value| self.put(name, value))
    }

    /// Sets a variable of any name.
    pub(crate) fn put_any(&mut self, name: &[u8], value: &[u8]) -> Outcome<()> {
        py::set(&self.dictionary, &py::latin1(name)?, &py::latin1(value)?)
    }

    /// Takes a variable away, if it is there.
    pub(crate) fn remove(&mut self, name: &Object) {
        // SAFETY: objects; that there is none is an exception, which is of no interest.
        if unsafe { ffi::PyDict_DelItem(self.dictionary.as_ptr(), name.as_ptr()) } != 0 {
            py::clear();
        }
    }

    /// The value of a variable that may be there.
    pub(crate) fn find(&self, name: &Object) -> Option<Object> {
        // SAFETY: objects; what is found is borrowed, and shared here.
        unsafe { Object::borrowed(ffi::PyDict_GetItem(self.dictionary.as_ptr(), name.as_ptr())).ok() }
    }
}

/// A dictionary of its own.
pub(crate) fn copy(dictionary: &Object) -> Outcome {
    // SAFETY: a dictionary.
    unsafe { Object::owned(ffi::PyDict_Copy(dictionary.as_ptr())) }
}

/// An empty dictionary.
pub(crate) fn empty() -> Outcome {
    // SAFETY: plain.
    unsafe { Object::owned(ffi::PyDict_New()) }
}

/// Numbers as a tuple.
pub(crate) fn tuple(numbers: &[u64]) -> Outcome {
    // SAFETY: a new tuple, whose items are given to it before it is used.
    unsafe {
        let tuple = Object::owned(ffi::PyTuple_New(numbers.len().cast_signed()))?;
        for (at, value) in (0..).zip(numbers) {
            if ffi::PyTuple_SetItem(tuple.as_ptr(), at, py::number(*value)?.into_ptr()) != 0 {
                return Err(PythonError);
            }
        }
        Ok(tuple)
    }
}
