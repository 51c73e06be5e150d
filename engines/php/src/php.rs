//! PHP itself, as safe calls.

use std::ffi::{CStr, CString, c_char};

use crate::ffi;
use crate::host;

/// Starts PHP; once in a process.
///
/// # Errors
/// Why it can't be started.
pub(crate) fn load(ini: Option<&str>, software: &str, modules: &[String]) -> Result<(), String> {
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let modules: Vec<*const c_char> =
        modules.iter().map(|name| text(name).into_raw().cast_const()).chain([std::ptr::null()]).collect();
    // They stay as long as the process: C keeps pointers to all of it.
    let setup = Box::leak(Box::new(ffi::Setup {
        ini: ini.map_or(std::ptr::null(), |ini| text(ini).into_raw()),
        software: text(software).into_raw(),
        modules: Box::leak(modules.into_boxed_slice()).as_ptr(),
        host: &raw const host::HOST,
    }));
    // SAFETY: the setup and all that it points to live on; the process has one thread.
    let why = unsafe { owned(ffi::hostler_php_load(setup)) };
    why.map_or(Ok(()), Err)
}

/// The library's version.
pub(crate) fn version() -> String {
    // SAFETY: PHP has been started; a constant of its own.
    unsafe { owned(ffi::hostler_php_version()) }.unwrap_or_default()
}

/// The php.ini that was read.
pub(crate) fn ini_file() -> Option<String> {
    // SAFETY: PHP has been started; its own text, which stays.
    unsafe { owned(ffi::hostler_php_ini_file()) }
}

/// The folders of further ones.
pub(crate) fn ini_folder() -> Option<String> {
    // SAFETY: as above.
    unsafe { owned(ffi::hostler_php_ini_folder()) }
}

/// The folder of its extensions.
pub(crate) fn extension_folder() -> Option<String> {
    // SAFETY: as above.
    unsafe { owned(ffi::hostler_php_extension_folder()) }
}

/// Runs a script once, whose path is below its document root, for what stays of it.
pub(crate) fn warm(document_root: &str, path: &str) -> bool {
    let script = format!("{}/{}", document_root.trim_end_matches('/'), path.trim_start_matches('/'));
    let all = [document_root, &script, path].map(CString::new);
    let [Ok(document_root), Ok(script), Ok(uri)] = all else { return false };
    // SAFETY: PHP has been started, and no request is being served; the texts stay during the call.
    unsafe { ffi::hostler_php_warm(document_root.as_ptr(), script.as_ptr(), uri.as_ptr()) }
}

/// The first of what a worker does.
pub(crate) fn begin_worker() {
    // SAFETY: PHP has been started in the parent, of which this process is a copy.
    unsafe { ffi::hostler_php_begin_worker() };
}

/// Ends what a worker has that its process's end does not end well: its database connections. All that is loaded goes with the
/// process: to take it apart would copy most of the parent's memory into one that ends.
pub(crate) fn leave() {
    // SAFETY: as in `unload`.
    unsafe { ffi::hostler_php_leave() };
}

/// Ends PHP.
pub(crate) fn unload() {
    // SAFETY: no request is being served, and nothing of PHP's is called afterwards.
    unsafe { ffi::hostler_php_unload() };
}

/// # Safety
/// NULL, or a text that ends with NUL.
unsafe fn owned(text: *const c_char) -> Option<String> {
    // SAFETY: as the caller says.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
