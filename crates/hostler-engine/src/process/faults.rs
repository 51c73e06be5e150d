//! SIGSEGV and SIGBUS. Rust's own handler tells an overflow of the stack from other faults and leaves those to happen
//! again, which then end the process. One that another process has sent does not happen again: it ends this one at once.

use std::sync::atomic::{AtomicUsize, Ordering};

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// The previous handlers, by signal: SIGSEGV, SIGBUS.
static BEFORE: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Puts our handler before the one that is there.
pub(super) fn watch() {
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        // SAFETY: actions of zeroes are valid; the handler does only what handlers may do, on the stack that the
        // handler before it has set up.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) != 0
                || action.sa_flags & libc::SA_SIGINFO == 0
            {
                continue;
            }
            before.store(action.sa_sigaction, Ordering::Relaxed);
            action.sa_sigaction = fault as *const () as usize;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

extern "C" fn fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let at = usize::from(signal == libc::SIGBUS);
    // SAFETY: the kernel passes an information; what stood there with SA_SIGINFO is such a handler; the other calls are
    // safe in handlers (POSIX). The signal is blocked until this returns, and then deadly.
    unsafe {
        let before = BEFORE[at].load(Ordering::Relaxed);
        if (*info).si_code > 0 && before != 0 {
            std::mem::transmute::<usize, Handler>(before)(signal, info, context);
        } else {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}
