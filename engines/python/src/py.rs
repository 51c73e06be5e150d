//! Python's objects, counted. All of this is called by the thread that has the interpreter's lock (the GIL), but for what is
//! done in [`without_lock`].

use pyo3_ffi as ffi;
use std::ffi::CStr;
use std::ptr::NonNull;

/// A Python exception is set, which whoever handles this takes or prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PythonError;

/// A result that may be an exception.
pub(crate) type Outcome<T = Object> = Result<T, PythonError>;

/// An object that this code has a share in.
pub(crate) struct Object(NonNull<ffi::PyObject>);

impl Object {
    /// Takes over a new reference; a null pointer is an exception.
    ///
    /// # Safety
    /// The pointer is null or the caller's own reference.
    pub(crate) unsafe fn owned(pointer: *mut ffi::PyObject) -> Outcome {
        NonNull::new(pointer).map(Self).ok_or(PythonError)
    }

    /// Takes a share in what somebody else owns.
    ///
    /// # Safety
    /// The pointer is null or an object's.
    pub(crate) unsafe fn borrowed(pointer: *mut ffi::PyObject) -> Outcome {
        // SAFETY: the caller's.
        unsafe {
            ffi::Py_XINCREF(pointer);
            Self::owned(pointer)
        }
    }

    /// For calls that borrow it.
    pub(crate) fn as_ptr(&self) -> *mut ffi::PyObject {
        self.0.as_ptr()
    }

    /// Gives the share away.
    pub(crate) fn into_ptr(self) -> *mut ffi::PyObject {
        let pointer = self.0.as_ptr();
        std::mem::forget(self);
        pointer
    }

    /// An attribute.
    pub(crate) fn attribute(&self, name: &CStr) -> Outcome {
        // SAFETY: an object and a string.
        unsafe { Self::owned(ffi::PyObject_GetAttrString(self.as_ptr(), name.as_ptr())) }
    }

    /// Calls it.
    pub(crate) fn call(&self, arguments: &[&Self]) -> Outcome {
        // SAFETY: a new tuple takes shares in all arguments before it is used.
        unsafe {
            let tuple = Self::owned(ffi::PyTuple_New(arguments.len().cast_signed()))?;
            for (at, argument) in (0..).zip(arguments) {
                ffi::PyTuple_SetItem(tuple.as_ptr(), at, (*argument).clone().into_ptr());
            }
            Self::owned(ffi::PyObject_Call(self.as_ptr(), tuple.as_ptr(), std::ptr::null_mut()))
        }
    }

    /// The bytes of a `bytes` object.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: the length is asked of the object whose bytes these are; they live as long as it does.
        unsafe {
            if ffi::PyBytes_Check(self.as_ptr()) == 0 {
                return None;
            }
            let start = ffi::PyBytes_AsString(self.as_ptr());
            let length = ffi::PyBytes_Size(self.as_ptr());
            Some(std::slice::from_raw_parts(start.cast(), usize::try_from(length).unwrap_or(0)))
        }
    }

    /// The name of its type.
    pub(crate) fn type_name(&self) -> String {
        // SAFETY: each object has a type.
        let of = unsafe { Self::borrowed(ffi::Py_TYPE(self.as_ptr()).cast()) };
        let name = of.and_then(|of| of.attribute(c"__name__")).and_then(|name| utf8_of(&name));
        name.unwrap_or_else(|PythonError| {
            clear();
            "?".to_owned()
        })
    }

    /// Returns whether it is `None`.
    pub(crate) fn is_none(&self) -> bool {
        // SAFETY: it is only compared.
        self.as_ptr() == unsafe { ffi::Py_None() }
    }
}

impl Clone for Object {
    fn clone(&self) -> Self {
        // SAFETY: an object that is shared.
        unsafe { ffi::Py_INCREF(self.as_ptr()) };
        Self(self.0)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: this share is this code's own.
        unsafe { ffi::Py_DECREF(self.as_ptr()) };
    }
}

/// Bytes as text, each a character (Latin-1), as PEP 3333 has them.
pub(crate) fn latin1(bytes: &[u8]) -> Outcome {
    // SAFETY: so many bytes are there.
    unsafe {
        Object::owned(ffi::PyUnicode_DecodeLatin1(
            bytes.as_ptr().cast(),
            bytes.len().cast_signed(),
            std::ptr::null(),
        ))
    }
}

/// Bytes.
pub(crate) fn bytes(bytes: &[u8]) -> Outcome {
    // SAFETY: so many bytes are there.
    unsafe { Object::owned(ffi::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), bytes.len().cast_signed())) }
}

/// Text.
pub(crate) fn text(text: &str) -> Outcome {
    // SAFETY: so many bytes are there, of UTF-8.
    unsafe { Object::owned(ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len().cast_signed())) }
}

/// A text that is one object wherever it is used, so that dictionaries find it at once.
pub(crate) fn interned(name: &CStr) -> Outcome {
    // SAFETY: a string.
    unsafe { Object::owned(ffi::PyUnicode_InternFromString(name.as_ptr())) }
}

/// A number.
pub(crate) fn number(value: u64) -> Outcome {
    // SAFETY: plain.
    unsafe { Object::owned(ffi::PyLong_FromUnsignedLongLong(value)) }
}

/// `True` or `False`.
pub(crate) fn truth(value: bool) -> Outcome {
    // SAFETY: plain.
    unsafe { Object::owned(ffi::PyBool_FromLong(value.into())) }
}

/// `None`.
pub(crate) fn none() -> *mut ffi::PyObject {
    // SAFETY: None is for ever; the caller gets a share.
    unsafe {
        ffi::Py_INCREF(ffi::Py_None());
        ffi::Py_None()
    }
}

/// A dictionary's entry.
pub(crate) fn set(dictionary: &Object, key: &Object, value: &Object) -> Outcome<()> {
    // SAFETY: objects; the dictionary takes shares.
    match unsafe { ffi::PyDict_SetItem(dictionary.as_ptr(), key.as_ptr(), value.as_ptr()) } {
        0 => Ok(()),
        _ => Err(PythonError),
    }
}

/// A text's bytes, if each of its characters is one (Latin-1).
pub(crate) fn latin1_of(object: &Object) -> Outcome<Vec<u8>> {
    // SAFETY: an object; what is raised for others than text is taken back.
    unsafe {
        if ffi::PyUnicode_Check(object.as_ptr()) == 0 {
            let message = format!("expected unicode object, value of type {} found", object.type_name());
            return Err(raise(ffi::PyExc_TypeError, &message));
        }
        match Object::owned(ffi::PyUnicode_AsLatin1String(object.as_ptr())) {
            Ok(bytes) => Ok(bytes.bytes().unwrap_or_default().to_vec()),
            Err(PythonError) => {
                clear();
                Err(raise(ffi::PyExc_ValueError, "unicode object contains non latin-1 characters"))
            }
        }
    }
}

/// A text.
pub(crate) fn utf8_of(object: &Object) -> Outcome<String> {
    // SAFETY: an object; its encoded form lives until the end.
    unsafe {
        let bytes = Object::owned(ffi::PyUnicode_AsUTF8String(object.as_ptr()))?;
        Ok(String::from_utf8_lossy(bytes.bytes().unwrap_or_default()).into_owned())
    }
}

/// Raises an exception.
///
/// # Safety
/// The pointer is an exception's type.
pub(crate) unsafe fn raise(kind: *mut ffi::PyObject, message: &str) -> PythonError {
    let message = message.replace('\0', "\\0");
    let message = std::ffi::CString::new(message).unwrap_or_default();
    // SAFETY: the caller's; a string.
    unsafe { ffi::PyErr_SetString(kind, message.as_ptr()) };
    PythonError
}

/// Forgets an exception.
pub(crate) fn clear() {
    // SAFETY: plain.
    unsafe { ffi::PyErr_Clear() };
}

/// Does what may take long and touches nothing of Python's; other threads of the program run meanwhile.
pub(crate) fn without_lock<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: this thread has the lock, and has it again afterwards.
    let state = unsafe { ffi::PyEval_SaveThread() };
    let done = work();
    // SAFETY: the state is this thread's.
    unsafe { ffi::PyEval_RestoreThread(state) };
    done
}
