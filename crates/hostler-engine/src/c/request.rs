//! A request's head for C, and what it is made of. `include/hostler_request.h` has the same in C: both are made of the list
//! in `hostler_wire`, and the header checks its offsets where it is compiled.

use hostler_wire::work::{FileFacts, RequestHead};
use hostler_wire::{file_fields, request_fields};
use std::ffi::c_char;
use std::ptr::null;

/// A byte string; absent where `ptr` is null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Str {
    /// The first byte.
    pub ptr: *const c_char,
    /// The number of entries.
    pub len: usize,
}

impl Str {
    /// None.
    pub const ABSENT: Self = Self { ptr: null(), len: 0 };

    /// These bytes, which must be there for as long as C looks at them.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr().cast(), len: bytes.len() }
    }

    /// The same of what may be absent.
    #[must_use]
    pub fn optional(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Self::ABSENT, Self::new)
    }

    /// The bytes; empty where absent.
    ///
    /// # Safety
    /// They must be there for as long as the result is used.
    #[must_use]
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: the caller's.
        unsafe { self.get() }.unwrap_or_default()
    }

    /// The bytes, if there are any.
    ///
    /// # Safety
    /// As [`bytes`](Self::bytes).
    #[must_use]
    pub unsafe fn get<'a>(self) -> Option<&'a [u8]> {
        // SAFETY: the caller's; an empty string's pointer is not null.
        (!self.ptr.is_null()).then(|| unsafe { std::slice::from_raw_parts(self.ptr.cast(), self.len) })
    }
}

/// A name and its value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name.
    pub name: Str,
    /// The value.
    pub value: Str,
}

/// A table of names and values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// The first.
    pub list: *const Field,
    /// The number of entries.
    pub count: usize,
}

impl Fields {
    /// This list, which must be there for as long as C looks at it.
    #[must_use]
    pub fn new(list: &[Field]) -> Self {
        Self { list: list.as_ptr(), count: list.len() }
    }

    /// The table in `room`, which is used again.
    #[must_use]
    pub fn fill(room: &mut Vec<Field>, table: &[(&[u8], &[u8])]) -> Self {
        room.clear();
        room.extend(table.iter().map(|(name, value)| Field { name: Str::new(name), value: Str::new(value) }));
        Self::new(room)
    }

    /// As the messages have them.
    ///
    /// # Safety
    /// The list and all that it points to must be there for as long as the result is used.
    #[must_use]
    pub unsafe fn pairs<'a>(self) -> Vec<(&'a [u8], &'a [u8])> {
        if self.count == 0 {
            return Vec::new();
        }
        // SAFETY: the caller's.
        let list = unsafe { std::slice::from_raw_parts(self.list, self.count) };
        // SAFETY: the caller's.
        list.iter().map(|field| unsafe { (field.name.bytes(), field.value.bytes()) }).collect()
    }
}

macro_rules! define_file {
    ($($(#[$doc:meta])* $name:ident: $kind:ident,)*) => {
        /// The file at a name.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct File {
            $($(#[$doc])* pub $name: $kind,)*
        }

        impl From<&FileFacts> for File {
            fn from(facts: &FileFacts) -> Self {
                Self { $($name: facts.$name,)* }
            }
        }

        #[cfg(test)]
        const FILE: &[(&str, &str, usize)] =
            &[$((stringify!($name), c_name!($kind), std::mem::offset_of!(File, $name)),)*];
    };
}

macro_rules! c_type {
    (text) => {
        Str
    };
    (optional) => {
        Str
    };
    (file) => {
        File
    };
    (table) => {
        Fields
    };
    ($number:ident) => {
        $number
    };
}

#[cfg(test)]
macro_rules! c_name {
    (text) => {
        "hostler_str"
    };
    (optional) => {
        "hostler_str"
    };
    (file) => {
        "hostler_file"
    };
    (table) => {
        "hostler_fields"
    };
    ($number:ident) => {
        concat!("uint", stringify!($number))
    };
}

macro_rules! room {
    (table) => { Vec<Field> };
    ($other:ident) => { () };
}

macro_rules! convert {
    (text, $value:expr, $room:expr) => {
        Str::new($value)
    };
    (optional, $value:expr, $room:expr) => {
        Str::optional($value)
    };
    (file, $value:expr, $room:expr) => {
        File::from(&$value)
    };
    (table, $value:expr, $room:expr) => {
        Fields::fill(&mut $room, &$value)
    };
    ($number:ident, $value:expr, $room:expr) => {
        $value
    };
}

macro_rules! define_request {
    ($($(#[$doc:meta])* $name:ident: $kind:ident,)*) => {
        /// A request's head.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct Request {
            $($(#[$doc])* pub $name: c_type!($kind),)*
            /// The part that only the engine understands.
            pub own: Str,
        }

        /// Room for a head's tables. Used again and again.
        #[derive(Debug, Default)]
        #[allow(dead_code, reason = "only tables take room")]
        pub struct Tables {
            $($name: room!($kind),)*
        }

        impl Request {
            /// This head. What it points to lives in the message that `head` borrows from, and in `tables`: until either
            /// changes.
            #[must_use]
            pub fn new(head: &RequestHead<'_>, tables: &mut Tables) -> Self {
                Self { $($name: convert!($kind, head.$name, tables.$name),)* own: Str::new(head.own) }
            }
        }

        #[cfg(test)]
        const REQUEST: &[(&str, &str, usize)] = &[
            $((stringify!($name), c_name!($kind), std::mem::offset_of!(Request, $name)),)*
            ("own", "hostler_str", std::mem::offset_of!(Request, own)),
        ];
    };
}

file_fields!(define_file);
request_fields!(define_request);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;
    use std::fmt::Write;

    const BEGINNING: &str = "\
/* A request's head, as a structure. Made by the tests of hostler-engine of the list in crates/hostler-wire/src/work/request.rs,
 * which says what each field is: not to be edited. `UPDATE_HEADER=1 cargo test -p hostler-engine header` writes it anew. */
#ifndef HOSTLER_REQUEST_HEAD_H
#define HOSTLER_REQUEST_HEAD_H

#include <stddef.h>
#include <stdint.h>

/* A byte string, not a C string; absent: ptr == NULL. */
typedef struct {
    const char *ptr;
    size_t len;
} hostler_str;

typedef struct {
    hostler_str name, value;
} hostler_field;

typedef struct {
    const hostler_field *list;
    size_t count;
} hostler_fields;

";

    fn c(name: &str) -> String {
        // uintu32: a number.
        name.strip_prefix("uintu").map_or_else(|| name.to_owned(), |bits| format!("uint{bits}_t"))
    }

    fn header() -> String {
        let mut text = BEGINNING.to_owned();
        text.push_str("typedef struct {\n");
        for (name, kind, _) in FILE {
            writeln!(text, "    {} {name};", c(kind)).unwrap();
        }
        text.push_str("} hostler_file;\n\n#define HOSTLER_REQUEST_FIELDS \\\n");
        let fields: Vec<_> =
            REQUEST.iter().map(|(name, kind, _)| format!("    {} {name};", c(kind))).collect();
        text.push_str(&fields.join(" \\\n"));
        text.push_str("\n\ntypedef struct {\n    HOSTLER_REQUEST_FIELDS\n} hostler_request;\n\n");
        text.push_str("#if UINTPTR_MAX == 0xffffffffffffffff\n");
        for (of, fields) in [("hostler_file", FILE), ("hostler_request", REQUEST)] {
            for (name, _, offset) in fields {
                writeln!(text, "_Static_assert(offsetof({of}, {name}) == {offset}, \"{of}.{name}\");")
                    .unwrap();
            }
        }
        let (file, request) = (size_of::<File>(), size_of::<Request>());
        writeln!(text, "_Static_assert(sizeof(hostler_file) == {file}, \"hostler_file\");").unwrap();
        writeln!(text, "_Static_assert(sizeof(hostler_request) == {request}, \"hostler_request\");").unwrap();
        text.push_str("#endif\n\n#endif\n");
        text
    }

    #[test]
    fn the_header_has_the_same_structures() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/include/hostler_request.h");
        if std::env::var_os("UPDATE_HEADER").is_some() {
            std::fs::write(path, header()).unwrap();
        }
        assert!(std::fs::read_to_string(path).unwrap() == header(), "{path} is not up to date: see its head");
    }

    #[test]
    fn a_head_for_c_has_what_the_message_has() {
        let head = RequestHead {
            method: b"GET",
            args: None,
            server_port: 80,
            headers_in: vec![(b"Host", b"a")],
            own: b"own",
            ..RequestHead::default()
        };
        let mut tables = Tables::default();
        let request = Request::new(&head, &mut tables);
        // SAFETY: head and tables are there.
        unsafe {
            assert_eq!(
                (request.method.bytes(), request.args.get(), request.own.bytes()),
                (&b"GET"[..], None, &b"own"[..])
            );
            assert_eq!(request.headers_in.pairs(), head.headers_in);
        }
        assert_eq!(request.server_port, 80);
    }
}
