//! `glue/hostler.h` in Rust: the same structures in the same order.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

/// A byte string; absent where `ptr` is null.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Str {
    pub(crate) ptr: *const c_char,
    pub(crate) len: usize,
}

impl Str {
    pub(crate) const ABSENT: Self = Self { ptr: null(), len: 0 };

    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr().cast(), len: bytes.len() }
    }

    pub(crate) fn optional(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Self::ABSENT, Self::new)
    }

    /// The bytes; empty where absent.
    ///
    /// # Safety
    /// They must be there for as long as the result is used.
    pub(crate) unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: the caller's.
        unsafe { self.get() }.unwrap_or_default()
    }

    /// The bytes, if there are any.
    ///
    /// # Safety
    /// As [`bytes`](Self::bytes).
    pub(crate) unsafe fn get<'a>(self) -> Option<&'a [u8]> {
        // SAFETY: the caller's; an empty string's pointer is not null.
        (!self.ptr.is_null()).then(|| unsafe { std::slice::from_raw_parts(self.ptr.cast(), self.len) })
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: Str,
    pub(crate) value: Str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) list: *const Field,
    pub(crate) count: usize,
}

impl Fields {
    pub(crate) fn new(list: &[Field]) -> Self {
        Self { list: list.as_ptr(), count: list.len() }
    }

    /// As the messages have them.
    ///
    /// # Safety
    /// The list and all that it points to must be there for as long as the result is used.
    pub(crate) unsafe fn pairs<'a>(self) -> Vec<(&'a [u8], &'a [u8])> {
        if self.count == 0 {
            return Vec::new();
        }
        // SAFETY: the caller's.
        let list = unsafe { std::slice::from_raw_parts(self.list, self.count) };
        // SAFETY: the caller's.
        list.iter().map(|field| unsafe { (field.name.bytes(), field.value.bytes()) }).collect()
    }
}

/// A list of strings, as a pointer and a count.
///
/// # Safety
/// There must be `count` strings at `list` for as long as the result is used.
pub(crate) unsafe fn strings<'a>(list: *const Str, count: usize) -> Vec<&'a [u8]> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(list, count) }.iter().map(|text| unsafe { text.bytes() }).collect()
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Finfo {
    pub(crate) kind: u8,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime_nsec: u32,
    pub(crate) size: u64,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) nlink: u64,
    pub(crate) mtime: u64,
    pub(crate) ctime: u64,
    pub(crate) atime: u64,
}

#[repr(C)]
pub(crate) struct RequestIn {
    pub(crate) flags: u32,
    pub(crate) phases: u32,
    pub(crate) directory: u32,
    pub(crate) server: u32,
    pub(crate) number: u64,
    pub(crate) time: u64,
    pub(crate) protocol: u16,
    pub(crate) status: u16,
    pub(crate) remote_port: u16,
    pub(crate) local_port: u16,
    pub(crate) server_port: u16,
    pub(crate) method: Str,
    pub(crate) the_request: Str,
    pub(crate) uri: Str,
    pub(crate) unparsed_uri: Str,
    pub(crate) args: Str,
    pub(crate) filename: Str,
    pub(crate) path_info: Str,
    pub(crate) hostname: Str,
    pub(crate) server_name: Str,
    pub(crate) remote_ip: Str,
    pub(crate) local_ip: Str,
    pub(crate) user: Str,
    pub(crate) ap_auth_type: Str,
    pub(crate) handler: Str,
    pub(crate) content_type: Str,
    pub(crate) content_encoding: Str,
    pub(crate) context_prefix: Str,
    pub(crate) context_document_root: Str,
    pub(crate) path_translated: Str,
    pub(crate) redirect_url: Str,
    pub(crate) redirect_query: Str,
    pub(crate) log_id: Str,
    pub(crate) status_line: Str,
    pub(crate) bytes_sent: u64,
    pub(crate) provider: Str,
    pub(crate) finfo: Finfo,
    pub(crate) headers_in: Fields,
    pub(crate) headers_out: Fields,
    pub(crate) err_headers_out: Fields,
    pub(crate) subprocess_env: Fields,
    pub(crate) notes: Fields,
}

pub(crate) const PHASES: usize = 12;

#[repr(C)]
pub(crate) struct Directory {
    pub(crate) flags: u32,
    pub(crate) handlers: [*const Str; PHASES],
    pub(crate) handler_count: [usize; PHASES],
    pub(crate) vars: Fields,
    pub(crate) env: Fields,
    pub(crate) allow_options: u32,
    pub(crate) location: Str,
    pub(crate) auth_name: Str,
    pub(crate) auth_type: Str,
    pub(crate) requires: *const Str,
    pub(crate) require_count: usize,
    pub(crate) satisfy_any: c_int,
    pub(crate) psgi_app: Str,
    pub(crate) signature: Str,
    pub(crate) server: u32,
    pub(crate) limit_request_body: u64,
    pub(crate) default_charset: Str,
    pub(crate) layers: Str,
    pub(crate) cache: *mut c_void,
}

#[repr(C)]
pub(crate) struct Server {
    pub(crate) id: u32,
    pub(crate) port: u16,
    pub(crate) is_virtual: c_int,
    pub(crate) log_level: u8,
    /// Microseconds.
    pub(crate) timeout: i64,
    /// Microseconds.
    pub(crate) keep_alive_timeout: i64,
    pub(crate) keep_alive: c_int,
    pub(crate) keep_alive_max: c_int,
    pub(crate) name: Str,
    pub(crate) admin: Str,
    pub(crate) document_root: Str,
    pub(crate) software: Str,
    pub(crate) error_log: Str,
    pub(crate) vars: Fields,
    pub(crate) aliases: *const Str,
    pub(crate) alias_count: usize,
}

#[repr(C)]
pub(crate) struct Setup {
    pub(crate) generation: u8,
    pub(crate) one_shot: c_int,
    pub(crate) switches: *const Str,
    pub(crate) switch_count: usize,
    pub(crate) env: Fields,
    pub(crate) server_root: Str,
    pub(crate) servers: *const Server,
    pub(crate) server_count: usize,
    pub(crate) max_requests: u32,
}

#[repr(C)]
pub(crate) struct ReplyHead {
    pub(crate) flags: u32,
    pub(crate) status: u16,
    pub(crate) status_line: Str,
    pub(crate) content_type: Str,
    pub(crate) content_encoding: Str,
    pub(crate) has_length: c_int,
    pub(crate) length: u64,
    pub(crate) languages: *const Str,
    pub(crate) language_count: usize,
    pub(crate) mtime: u64,
    pub(crate) headers_out: Fields,
    pub(crate) err_headers_out: Fields,
}

#[repr(C)]
pub(crate) struct Changes {
    pub(crate) status: u16,
    pub(crate) method: Str,
    pub(crate) uri: Str,
    pub(crate) args: Str,
    pub(crate) filename: Str,
    pub(crate) path_info: Str,
    pub(crate) user: Str,
    pub(crate) ap_auth_type: Str,
    pub(crate) handler: Str,
    pub(crate) content_type: Str,
    pub(crate) custom_responses: Fields,
    pub(crate) headers_in: Fields,
    pub(crate) headers_out: Fields,
    pub(crate) err_headers_out: Fields,
    pub(crate) subprocess_env: Fields,
    pub(crate) notes: Fields,
}

pub(crate) mod outcome {
    use std::ffi::c_int;
    pub(crate) const DONE: c_int = 0;
    pub(crate) const STATUS: c_int = 1;
    pub(crate) const DECLINED: c_int = 2;
    pub(crate) const REDIRECT: c_int = 3;
    pub(crate) const VERDICT: c_int = 5;
}

#[repr(C)]
pub(crate) struct Outcome {
    pub(crate) kind: c_int,
    pub(crate) status: u16,
    pub(crate) text: Str,
}

/// What comes while a program's question is open.
pub(crate) mod told {
    use std::ffi::c_int;
    pub(crate) const GONE: c_int = 0;
    pub(crate) const ANSWER: c_int = 1;
    pub(crate) const RAN: c_int = 2;
    pub(crate) const NESTED: c_int = 3;
    pub(crate) const CONFIGURED: c_int = 4;
}

#[repr(C)]
pub(crate) struct Told {
    pub(crate) kind: c_int,
    pub(crate) id: u32,
    pub(crate) main: u32,
    pub(crate) prev: u32,
    pub(crate) status: c_int,
    pub(crate) request: *const RequestIn,
    pub(crate) text: Str,
}

impl Told {
    pub(crate) const GONE: Self =
        Self { kind: told::GONE, id: 0, main: 0, prev: 0, status: 500, request: null(), text: Str::ABSENT };
}

unsafe extern "C" {
    pub(crate) fn hp_perl_boot(setup: *const Setup, error: *mut *mut c_char) -> c_int;
    pub(crate) fn hp_perl_version() -> *const c_char;
    pub(crate) fn hp_perl_preload(
        kind: c_int,
        text: Str,
        origin: Str,
        configured: c_int,
        error: *mut *mut c_char,
    ) -> c_int;
    pub(crate) fn hp_perl_loaded();
    pub(crate) fn hp_perl_configure(in_host: c_int, is_section: c_int);
    pub(crate) fn hp_perl_configured(texts: *mut Str, error: *mut *mut c_char) -> c_int;
    pub(crate) fn hp_prepare_forks();
    pub(crate) fn hp_perl_child_init(functions: *const Str, count: usize, error: *mut *mut c_char) -> c_int;
    pub(crate) fn hp_perl_serve(request: *const RequestIn, directory: *mut Directory, stays: c_int) -> c_int;
    pub(crate) fn hp_perl_nested(told: *const Told);
    pub(crate) fn hp_perl_related(request: *const RequestIn, directory: *mut Directory, role: c_int);
    pub(crate) fn hp_perl_release();
    pub(crate) fn hp_perl_end(functions: *const Str, count: usize, quick: c_int);
    pub(crate) fn hp_free(memory: *mut c_void);
    pub(crate) fn hp_title(text: Str);
    pub(crate) fn hp_is_forked_away() -> c_int;
}
