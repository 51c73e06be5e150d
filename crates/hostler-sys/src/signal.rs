//! Signals as events on a descriptor (`signalfd`), for loops that wait with `poll`.
//!
//! Not for programs with threads that were started before: a thread that does not block a signal gets it.

use rustix::process::Signal;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub use rustix::process::Signal as Number;

/// Blocked signals that arrive as events. They stay blocked when this is dropped.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks these signals for the calling thread (threads started later inherit that) and queues them here.
    ///
    /// # Errors
    /// The kernel's (EMFILE, ENOMEM).
    pub fn block(which: &[Signal]) -> io::Result<Self> {
        let set = set_of(which);
        // SAFETY: `set` is an initialised set; no old set is asked for.
        let errno = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if errno != 0 {
            return Err(io::Error::from_raw_os_error(errno));
        }
        // SAFETY: -1 asks for a new descriptor, `set` is initialised.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just made this descriptor; nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next signal that has arrived; `None`: none is waiting.
    ///
    /// # Errors
    /// The kernel's.
    pub fn next(&self) -> io::Result<Option<Signal>> {
        Ok(self.next_with_origin()?.map(|(signal, _)| signal))
    }

    /// The same, and whether a process has sent it: what a terminal sends comes from the kernel.
    ///
    /// # Errors
    /// The kernel's.
    pub fn next_with_origin(&self) -> io::Result<Option<(Signal, bool)>> {
        // SAFETY: a `signalfd_siginfo` of zeroes is valid: it only has numbers.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        loop {
            // SAFETY: the buffer is `size` writable bytes.
            let n = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut info).cast(), size) };
            if n == size as isize {
                let signal = i32::try_from(info.ssi_signo).ok().and_then(Signal::from_named_raw);
                // SI_USER is 0, SI_QUEUE and SI_TKILL are below (sigaction(2)).
                return Ok(signal.map(|signal| (signal, info.ssi_code <= 0)));
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Ok(None),
                _ => return Err(error),
            }
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn set_of(which: &[Signal]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set, sigaddset gets the initialised set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in which {
            libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
        }
        set.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_signal_arrives_as_an_event() {
        let signals = Signals::block(&[Signal::USR2]).unwrap();
        assert_eq!(signals.next().unwrap(), None);
        // SAFETY: sends a blocked signal to the calling thread.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGUSR2) };
        assert_eq!(signals.next().unwrap(), Some(Signal::USR2));
        assert_eq!(signals.next().unwrap(), None);
    }
}
