//! `glue/hostler.h` in Rust: the same structures in the same order.

pub(crate) use hostler_engine::c::{Field, Fields, Str};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

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
pub(crate) struct RequestIn {
    pub(crate) common: hostler_engine::c::Request,
    pub(crate) phases: u32,
    pub(crate) status: u16,
    pub(crate) status_line: Str,
    pub(crate) bytes_sent: u64,
    pub(crate) provider: Str,
    pub(crate) headers_out: Fields,
    pub(crate) err_headers_out: Fields,
    pub(crate) notes: Fields,
}

pub(crate) const PHASES: usize = 14;

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
    pub(crate) overrides: u32,
    pub(crate) override_options: u32,
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
    pub(crate) tree: Str,
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

/// The messages that arrive while a program's question is open.
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
    pub(crate) fn hp_is_forked_away() -> c_int;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    unsafe extern "C" {
        static hp_layout: [usize; 32];
    }

    #[test]
    fn structures_are_the_same_on_both_sides() {
        let ours = [
            size_of::<RequestIn>(),
            offset_of!(RequestIn, phases),
            offset_of!(RequestIn, status),
            offset_of!(RequestIn, provider),
            offset_of!(RequestIn, notes),
            size_of::<Directory>(),
            offset_of!(Directory, handler_count),
            offset_of!(Directory, allow_options),
            offset_of!(Directory, satisfy_any),
            offset_of!(Directory, limit_request_body),
            offset_of!(Directory, cache),
            size_of::<Server>(),
            offset_of!(Server, timeout),
            offset_of!(Server, keep_alive_max),
            offset_of!(Server, alias_count),
            size_of::<Setup>(),
            offset_of!(Setup, env),
            offset_of!(Setup, max_requests),
            size_of::<ReplyHead>(),
            offset_of!(ReplyHead, length),
            offset_of!(ReplyHead, mtime),
            offset_of!(ReplyHead, err_headers_out),
            size_of::<Changes>(),
            offset_of!(Changes, content_type),
            offset_of!(Changes, notes),
            size_of::<Outcome>(),
            offset_of!(Outcome, text),
            size_of::<Told>(),
            offset_of!(Told, status),
            offset_of!(Told, text),
            PHASES,
            0,
        ];
        // SAFETY: an array of numbers in glue/layout.c.
        assert_eq!(ours, unsafe { hp_layout });
    }
}
