//! `sapi/host.h` in Rust. The records here are exact pictures of its own.

use libc::{c_char, c_int, c_void, size_t, ssize_t};

/// `hp_pair`: both texts end with NUL.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) name: *const c_char,
    pub(crate) name_length: size_t,
    pub(crate) value: *const c_char,
    pub(crate) value_length: size_t,
}

/// `hp_pairs`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Pairs {
    pub(crate) list: *const Pair,
    pub(crate) count: size_t,
}

/// `hp_settings`
#[repr(C)]
pub(crate) struct Settings {
    pub(crate) pairs: Pairs,
    /// `HP_ADMIN` (1) and `HP_ACCESS_FILE` (2) for each.
    pub(crate) kinds: *const u8,
    pub(crate) user_ini: bool,
}

/// `hp_request`
#[repr(C)]
pub(crate) struct Request {
    pub(crate) method: *const c_char,
    pub(crate) query: *const c_char,
    pub(crate) uri: *const c_char,
    pub(crate) script: *const c_char,
    pub(crate) document_root: *const c_char,
    pub(crate) host_name: *const c_char,
    pub(crate) content_type: *const c_char,
    pub(crate) authorization: *const c_char,
    pub(crate) user: *const c_char,
    pub(crate) content_length: i64,
    pub(crate) protocol: c_int,
    pub(crate) status: c_int,
    pub(crate) time: f64,
    pub(crate) head_only: bool,
    pub(crate) source: bool,
    pub(crate) has_facts: bool,
    pub(crate) facts: libc::stat,
    pub(crate) settings: *const Settings,
}

/// `hp_served`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Served {
    pub(crate) failed: c_int,
    pub(crate) terminate: bool,
}

/// `hp_found`
#[repr(C)]
pub(crate) struct Found {
    pub(crate) status: c_int,
    pub(crate) the_request: *const c_char,
    pub(crate) method: *const c_char,
    pub(crate) content_type: *const c_char,
    pub(crate) handler: *const c_char,
    pub(crate) unparsed_uri: *const c_char,
    pub(crate) uri: *const c_char,
    pub(crate) filename: *const c_char,
    pub(crate) path_info: *const c_char,
    pub(crate) args: *const c_char,
    pub(crate) mtime: i64,
    pub(crate) request_time: i64,
    pub(crate) in_place: *const Settings,
}

/// `hp_cache`
#[repr(C)]
pub(crate) struct Cache {
    pub(crate) memory: u64,
    pub(crate) used: u64,
    pub(crate) wasted: u64,
    pub(crate) scripts: u64,
    pub(crate) keys: u64,
    pub(crate) most_keys: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) restarts: u64,
    pub(crate) full: bool,
}

/// `hp_host`
#[repr(C)]
pub(crate) struct Host {
    pub(crate) read_body: unsafe extern "C" fn(*mut c_void, *mut c_char, size_t) -> ssize_t,
    pub(crate) head: unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const Pair, size_t, bool, bool),
    pub(crate) write: unsafe extern "C" fn(*mut c_void, *const c_char, size_t),
    pub(crate) flush: unsafe extern "C" fn(*mut c_void),
    pub(crate) finish: unsafe extern "C" fn(*mut c_void),
    pub(crate) is_gone: unsafe extern "C" fn(*mut c_void) -> bool,
    pub(crate) log: unsafe extern "C" fn(*mut c_void, c_int, *const c_char, size_t),
    pub(crate) variables: unsafe extern "C" fn(*mut c_void) -> Pairs,
    pub(crate) fields: unsafe extern "C" fn(*mut c_void) -> Pairs,
    pub(crate) logged: unsafe extern "C" fn(*mut c_void, *const Pair, size_t, *const Pair, size_t),
    pub(crate) cache: unsafe extern "C" fn(*mut c_void, *const Cache),
    pub(crate) look_up: unsafe extern "C" fn(*mut c_void, *const c_char, size_t, *mut Found) -> bool,
    pub(crate) include: unsafe extern "C" fn(*mut c_void, *const c_char, size_t) -> c_int,
}

/// `hp_setup`
#[repr(C)]
pub(crate) struct Setup {
    pub(crate) ini: *const c_char,
    pub(crate) software: *const c_char,
    pub(crate) modules: *const *const c_char,
    pub(crate) host: *const Host,
}

unsafe extern "C" {
    pub(crate) fn hostler_php_load(setup: *const Setup) -> *const c_char;
    pub(crate) fn hostler_php_version() -> *const c_char;
    pub(crate) fn hostler_php_ini_file() -> *const c_char;
    pub(crate) fn hostler_php_ini_folder() -> *const c_char;
    pub(crate) fn hostler_php_extension_folder() -> *const c_char;
    pub(crate) fn hostler_php_begin_worker();
    pub(crate) fn hostler_php_warm(
        document_root: *const c_char,
        script: *const c_char,
        uri: *const c_char,
    ) -> bool;
    pub(crate) fn hostler_php_serve(trip: *mut c_void, request: *const Request) -> Served;
    pub(crate) fn hostler_php_leave();
    pub(crate) fn hostler_php_unload();
}
