//! The head of an answer, encoded and checked as `asgi/wire.py` does it.

use crate::py::{Object, Outcome};
use crate::response::is_token;
use pyo3_ffi as ffi;

/// An answer's head.
pub(super) struct Head {
    /// The frame.
    pub(super) frame: Vec<u8>,
    /// The length of the body according to its fields.
    pub(super) length: Option<i64>,
}

/// The bytes before the fields: a letter, a length, the status, the number of fields.
const BEGINNING: usize = 9;

impl Head {
    /// Of a message's status and fields; `None`: something about them is not plain, or not right.
    pub(super) fn of(status: u16, fields: Option<&Object>) -> Outcome<Option<Self>> {
        let mut head = Self { frame: Vec::with_capacity(256), length: None };
        head.frame.resize(BEGINNING, 0);
        let count = match fields {
            Some(fields) => head.fields(fields)?,
            None => Some(0),
        };
        let length = u32::try_from(head.frame.len() - 5);
        let (Some(Ok(count)), Ok(length)) = (count.map(u16::try_from), length) else { return Ok(None) };
        head.frame[0] = b'H';
        head.frame[1..5].copy_from_slice(&length.to_be_bytes());
        head.frame[5..7].copy_from_slice(&status.to_be_bytes());
        head.frame[7..9].copy_from_slice(&count.to_be_bytes());
        Ok(Some(head))
    }

    /// Appends them; how many there are.
    fn fields(&mut self, fields: &Object) -> Outcome<Option<usize>> {
        // SAFETY: the types are compared, and only lists and tuples are asked for their items, which are shared while they are
        // looked at. Nothing here runs a program's code, so none of them changes meanwhile.
        unsafe {
            let list = fields.as_ptr();
            let is_list = ffi::PyList_CheckExact(list) != 0;
            if !is_list && ffi::PyTuple_CheckExact(list) == 0 {
                return Ok(None);
            }
            let many = if is_list { ffi::PyList_Size(list) } else { ffi::PyTuple_Size(list) };
            for at in 0..many {
                let item =
                    if is_list { ffi::PyList_GetItem(list, at) } else { ffi::PyTuple_GetItem(list, at) };
                let item = Object::borrowed(item)?;
                if !self.pair(&item)? {
                    return Ok(None);
                }
            }
            Ok(usize::try_from(many).ok())
        }
    }

    fn pair(&mut self, item: &Object) -> Outcome<bool> {
        // SAFETY: as above.
        let (name, value) = unsafe {
            let pair = item.as_ptr();
            if ffi::PyTuple_CheckExact(pair) != 0 && ffi::PyTuple_Size(pair) == 2 {
                (
                    Object::borrowed(ffi::PyTuple_GetItem(pair, 0))?,
                    Object::borrowed(ffi::PyTuple_GetItem(pair, 1))?,
                )
            } else if ffi::PyList_CheckExact(pair) != 0 && ffi::PyList_Size(pair) == 2 {
                (
                    Object::borrowed(ffi::PyList_GetItem(pair, 0))?,
                    Object::borrowed(ffi::PyList_GetItem(pair, 1))?,
                )
            } else {
                return Ok(false);
            }
        };
        let (Some(name), Some(value)) = (name.plain_bytes(), value.plain_bytes()) else { return Ok(false) };
        Ok(self.field(name, value).is_some())
    }

    fn field(&mut self, name: &[u8], value: &[u8]) -> Option<()> {
        let value = trimmed(value);
        if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) || has_end(value) {
            return None;
        }
        let lengths = (u16::try_from(name.len()).ok()?, u32::try_from(value.len()).ok()?);
        if name.len() == 14 && name.eq_ignore_ascii_case(b"content-length") {
            self.length = Some(number(value)?);
        }
        self.frame.extend_from_slice(&lengths.0.to_be_bytes());
        self.frame.extend_from_slice(&lengths.1.to_be_bytes());
        self.frame.extend_from_slice(name);
        self.frame.extend_from_slice(value);
        Some(())
    }
}

fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Returns whether it has what can't stand in a field (RFC 9110 §5.5).
fn has_end(value: &[u8]) -> bool {
    value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
}

/// Digits; not too many.
fn number(value: &[u8]) -> Option<i64> {
    if value.is_empty() || value.len() > 18 {
        return None;
    }
    value
        .iter()
        .try_fold(0i64, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}
