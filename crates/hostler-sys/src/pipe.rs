//! Pipes: what programs write, to us, and the lines of logs, to programs.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// Bytes that a log's pipe holds for a program that is slow, or is being started again: the most that everybody
/// may ask for (pipe(7)).
const ROOM: usize = 1 << 20;

/// A pipe for a log, reader and writer. Writing never blocks: a program that reads nothing holds nobody up.
///
/// # Errors
/// The kernel's.
pub fn for_log() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    let (reader, writer) = (OwnedFd::from(reader), OwnedFd::from(writer));
    rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK)?;
    // Less room is no reason to do without.
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, ROOM);
    Ok((reader, writer))
}

/// A pipe for what a program writes, reader and writer. Only our end, the reader, never blocks: programs do not expect
/// that of theirs.
///
/// # Errors
/// The kernel's.
pub fn for_output() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    let (reader, writer) = (OwnedFd::from(reader), OwnedFd::from(writer));
    rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// What a pipe's reader can know without reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeState {
    /// Nobody writes to it any more.
    pub over: bool,
    /// It holds no bytes.
    pub empty: bool,
}

/// Looks at a pipe: at once when its last writer has gone, or else after `patience`.
///
/// # Errors
/// The kernel's.
pub fn pipe_state(pipe: BorrowedFd<'_>, patience: Duration) -> io::Result<PipeState> {
    let patience = Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
    let look = |wanted: PollFlags, patience: Timespec| {
        let mut fds = [PollFd::from_borrowed_fd(pipe, wanted)];
        match rustix::event::poll(&mut fds, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(fds[0].revents()),
            Err(e) => Err(e),
        }
    };
    let over = look(PollFlags::empty(), patience)?.contains(PollFlags::HUP);
    Ok(PipeState { over, empty: !look(PollFlags::IN, Timespec::default())?.contains(PollFlags::IN) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_pipe_is_over_when_its_writers_have_gone() {
        let (reader, mut writer) = io::pipe().unwrap();
        let state = || pipe_state(reader.as_fd(), Duration::from_millis(1)).unwrap();
        assert_eq!(state(), PipeState { over: false, empty: true });
        io::Write::write_all(&mut writer, b"x").unwrap();
        assert_eq!(state(), PipeState { over: false, empty: false });
        drop(writer);
        assert_eq!(state(), PipeState { over: true, empty: false });
    }

    #[test]
    fn a_full_pipe_blocks_nobody() {
        let (_reader, writer) = for_log().unwrap();
        let mut writer = std::fs::File::from(writer);
        let mut written = 0;
        let error = loop {
            match io::Write::write(&mut writer, &[b'x'; 4096]) {
                Ok(n) => written += n,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(written >= 4096);
    }
}
