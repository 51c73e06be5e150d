//! The title in `ps`: written over the process's arguments and, as far as needed, its environment, which is moved away
//! before anything refers to it.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The front's instruction to the dynamic linker: resolve all names at once, and not again in each forked process.
const OURS: &[u8] = b"LD_BIND_NOW=";

static ROOM: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// glibc calls what stands in this section with `main`'s arguments, before that.
#[used]
#[unsafe(link_section = ".init_array")]
static FIND_ROOM: unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) = find_room;

/// # Safety
/// To be called with `main`'s arguments, before anything refers to the environment.
unsafe extern "C" fn find_room(count: c_int, arguments: *mut *mut c_char, variables: *mut *mut c_char) {
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 {
        return;
    }
    // SAFETY: main's arguments and variables are arrays of strings, the latter with a null pointer at the end; each
    // string is looked at once, and copied before its place is given away.
    unsafe {
        let start = *arguments;
        let mut end = start;
        for at in 0..count {
            end = past(end, *arguments.add(at));
        }
        let mut variable_count = 0;
        while !(*variables.add(variable_count)).is_null() {
            variable_count += 1;
        }
        let moved = libc::calloc(variable_count + 1, size_of::<*mut c_char>()).cast::<*mut c_char>();
        if moved.is_null() {
            return;
        }
        let mut kept = 0;
        for at in 0..variable_count {
            let variable = *variables.add(at);
            end = past(end, variable);
            if CStr::from_ptr(variable).to_bytes().starts_with(OURS) {
                continue;
            }
            *moved.add(kept) = libc::strdup(variable);
            if (*moved.add(kept)).is_null() {
                return;
            }
            kept += 1;
        }
        environ = moved;
        ROOM.store(start, Ordering::Relaxed);
        LENGTH.store(end.offset_from_unsigned(start), Ordering::Relaxed);
    }
}

/// The end of this string, if it begins where another has ended, or that.
///
/// # Safety
/// It must be a C string.
unsafe fn past(end: *mut c_char, string: *mut c_char) -> *mut c_char {
    if string == end {
        // SAFETY: the caller's; one past the zero at its end.
        unsafe { end.add(libc::strlen(end) + 1) }
    } else {
        end
    }
}

/// Sets this process's title in `ps`: as much of it as fits into its arguments and environment.
pub fn title(text: &str) {
    // Named here so that it is linked wherever this function is.
    std::hint::black_box(&FIND_ROOM);
    let (room, length) = (ROOM.load(Ordering::Relaxed), LENGTH.load(Ordering::Relaxed));
    if room.is_null() || length < 2 {
        return;
    }
    let shown = text.len().min(length - 1);
    // SAFETY: nothing else refers to these bytes since `find_room`, and they are the process's own.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), room, shown);
        std::ptr::write_bytes(room.add(shown), 0, length - shown);
    }
}
