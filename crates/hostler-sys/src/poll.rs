//! Waiting for several descriptors at once (`poll`), for the single-threaded processes.

use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A descriptor to wait for; always for reading.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    /// The descriptor.
    pub fd: BorrowedFd<'a>,
    /// Also wake when it can be written.
    pub write: bool,
}

/// The possible operations on a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// There is something to read, or the peer has gone (a read tells which).
    pub read: bool,
    /// It takes bytes.
    pub write: bool,
}

/// Sleeps until a descriptor is ready, or for `timeout`; one answer per watch, in order.
/// A signal that has a handler ends the wait with nothing ready.
///
/// # Errors
/// The kernel's (ENOMEM, EINVAL over the descriptor limit).
pub fn wait(watches: &[Watch<'_>], timeout: Option<Duration>) -> io::Result<Vec<Ready>> {
    let mut fds: Vec<PollFd<'_>> = watches.iter().map(interest).collect();
    match rustix::event::poll(&mut fds, timeout.map(timespec).as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(fds.iter().map(|fd| ready(fd.revents())).collect()),
        Err(e) => Err(e.into()),
    }
}

fn interest<'a>(watch: &Watch<'a>) -> PollFd<'a> {
    let flags = if watch.write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    PollFd::from_borrowed_fd(watch.fd, flags)
}

fn ready(flags: PollFlags) -> Ready {
    Ready {
        read: flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
        write: flags.contains(PollFlags::OUT),
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn tells_each_descriptor_apart() {
        let (a, b) = crate::socket::stream_pair().unwrap();
        let watches = [Watch { fd: a.as_fd(), write: true }, Watch { fd: b.as_fd(), write: false }];
        let found = wait(&watches, Some(Duration::ZERO)).unwrap();
        assert_eq!(found, [Ready { read: false, write: true }, Ready::default()]);
        let watches = [Watch { fd: b.as_fd(), write: false }];
        assert!(!wait(&watches, Some(Duration::from_millis(1))).unwrap()[0].read);
        drop(a);
        assert!(wait(&watches, None).unwrap()[0].read);
    }
}
