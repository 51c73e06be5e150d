//! The engine's changes to its own process: descriptors, signals, name, confinement.

use hostler_sys::harden;
use hostler_sys::process::Signal;
use hostler_wire::work::Severity;
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

mod faults;
mod forks;
mod title;

pub use forks::is_forked_away;
pub(crate) use forks::serving;
pub use title::title;

/// First thing in `main`: confinement (but for `no_new_privs`, which whoever starts the engine has set where the
/// configuration wants it), no descriptors but the standard ones, and the control socket moved away from
/// descriptor 0, where programs would read it as their input.
pub(crate) fn settle(name: &CStr) -> io::Result<OwnedFd> {
    harden::settle(name)?;
    // SAFETY: nothing in this process owns a descriptor yet.
    unsafe { libc::close_range(3, u32::MAX, 0) };
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    catch_quietly();
    faults::watch();
    forks::watch();
    Ok(control)
}

/// From now on what this process writes to its standard output and error goes here.
pub(crate) fn speak_to(stderr: &OwnedFd) -> io::Result<()> {
    rustix::stdio::dup2_stdout(stderr)?;
    rustix::stdio::dup2_stderr(stderr)?;
    Ok(())
}

/// Signals of the terminal are the master's to understand, and writing to a closed pipe is an error, not the end. A
/// handler that does nothing, because what is ignored would be ignored in every program started from here.
fn catch_quietly() {
    extern "C" fn nothing(_: libc::c_int) {}
    for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGPIPE] {
        handle(signal, nothing, libc::SA_RESTART);
    }
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int), flags: libc::c_int) {
    // SAFETY: an action of zeroes is valid; the handler does only what handlers may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = flags;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Forks. `None` in the child.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the process has one thread, so the child may do whatever the parent may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// SIGTERM has come to this worker.
static TERMINATED: AtomicBool = AtomicBool::new(false);
/// A timer that repeats SIGTERM: the first one may come between looking at [`TERMINATED`] and falling asleep.
static REPEAT: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn terminate(_: libc::c_int) {
    TERMINATED.store(true, Ordering::Relaxed);
    let timer = REPEAT.swap(std::ptr::null_mut(), Ordering::Relaxed);
    if !timer.is_null() {
        let pause = libc::timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let setting = libc::itimerspec { it_interval: pause, it_value: pause };
        // SAFETY: the timer is this process's own; the call is safe in handlers (POSIX).
        unsafe { libc::timer_settime(timer, 0, &raw const setting, std::ptr::null_mut()) };
    }
}

/// Returns whether this worker was told to go.
pub(crate) fn is_terminated() -> bool {
    TERMINATED.load(Ordering::Relaxed)
}

/// In a new worker: its own standard descriptors, SIGTERM noted instead of deadly and sent when the parent is gone. One
/// that serves one request does without the timer: it looks at [`TERMINATED`] often enough.
pub(crate) fn begin_worker(parent: Pid, stderr: &OwnedFd, one_shot: bool) -> io::Result<()> {
    rustix::stdio::dup2_stderr(stderr)?;
    rustix::stdio::dup2_stdout(stderr)?;
    handle(libc::SIGTERM, terminate, 0);
    if !one_shot {
        prepare_repeat();
    }
    unblock(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    if rustix::process::getppid() != Some(parent) {
        TERMINATED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn prepare_repeat() {
    // SAFETY: an event of zeroes is valid; the timer's id is written by the call.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = libc::SIGTERM;
        let mut timer: libc::timer_t = std::ptr::null_mut();
        if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) == 0 {
            REPEAT.store(timer, Ordering::Relaxed);
        }
    }
}

fn unblock(signals: &[libc::c_int]) {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before it is used.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Closes what somebody owns who will never use it again: the child's copy of what only the parent needs.
pub(crate) fn close_borrowed(descriptor: BorrowedFd<'_>) {
    // SAFETY: the owner is the parent's state, which the child neither uses nor drops.
    unsafe { libc::close(descriptor.as_raw_fd()) };
}

/// Ends without running anything more.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: always sound.
    unsafe { libc::_exit(status) }
}

/// Writes lines to standard error of which the log is to know how grave they are.
pub fn complain_as(severity: Severity, text: &[u8]) {
    let mark = [Severity::MARK, b'0' + severity as u8];
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    complain(&lines.flat_map(|line| [&mark[..], line, b"\n"]).collect::<Vec<_>>().concat());
}

/// Writes a line to standard error, without regard to whether anybody takes it.
pub fn complain(text: &[u8]) {
    let mut line = text.to_vec();
    if !line.ends_with(b"\n") {
        line.push(b'\n');
    }
    let _ = rustix::io::write(rustix::stdio::stderr().as_fd(), &line);
}
