//! Pipes: what programs write, to us, and the lines of logs, to programs.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
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

/// Pages that a pipe usually holds (pipe(7)).
const DEFAULT_PAGES: usize = 16;

/// A pipe between us and a program: our end, which never blocks, and the program's, which does, as programs expect.
pub type Pipe = (OwnedFd, OwnedFd);

/// The direction of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Read by a program.
    ToProgram,
    /// Written by it.
    FromProgram,
}

impl Direction {
    /// Makes a pipe.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pipe(self) -> io::Result<Pipe> {
        let (ours, theirs) = self.ends(io::pipe()?);
        rustix::fs::fcntl_setfl(&ours, OFlags::NONBLOCK)?;
        Ok((ours, theirs))
    }

    /// A pipe that another process has made (see [`for_others`]), of its reader and writer. That process may have kept
    /// both: our end is opened anew, so that nobody else has its flags.
    ///
    /// # Errors
    /// They are no pipe, or it may not be opened; the kernel's.
    pub fn pipe_of_another(self, (reader, writer): (OwnedFd, OwnedFd)) -> io::Result<Pipe> {
        let (ours, theirs) = self.ends((reader, writer));
        Ok((self.end_of_another(&ours)?, theirs))
    }

    /// Our end alone of such a pipe.
    ///
    /// # Errors
    /// As [`Self::pipe_of_another`].
    pub fn end_of_another(self, end: &OwnedFd) -> io::Result<OwnedFd> {
        // /proc is read, nothing of what the descriptors lead to, which could be a file system that hangs.
        let link = format!("/proc/self/fd/{}", end.as_raw_fd());
        let pipe = rustix::fs::readlink(&link, Vec::new())?;
        if !pipe.as_bytes().starts_with(b"pipe:[") {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let access = match self {
            Self::ToProgram => OFlags::WRONLY,
            Self::FromProgram => OFlags::RDONLY,
        };
        let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::open(&link, flags, Mode::empty())?)
    }

    fn ends<Fd: Into<OwnedFd>, Other: Into<OwnedFd>>(self, (reader, writer): (Fd, Other)) -> Pipe {
        match self {
            Self::ToProgram => (writer.into(), reader.into()),
            Self::FromProgram => (reader.into(), writer.into()),
        }
    }
}

/// A pipe that another process may open anew ([`Direction::pipe_of_another`]): reader and writer. Who has no descriptor
/// of it can't.
///
/// # Errors
/// The kernel's.
pub fn for_others() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    rustix::fs::fchmod(&reader, Mode::from_raw_mode(0o666))?;
    Ok((reader.into(), writer.into()))
}

/// Returns whether a pipe holds as much as pipes do: to a user whose pipes hold as much as all his may
/// (`fs.pipe-user-pages-soft`), the kernel gives smaller ones.
pub fn is_whole(pipe: &OwnedFd) -> bool {
    let whole = DEFAULT_PAGES * rustix::param::page_size();
    rustix::pipe::fcntl_getpipe_size(pipe).is_ok_and(|size| size >= whole)
}

/// The state of a pipe that its reader knows without reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeState {
    /// No writer is left.
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
    fn the_flags_of_an_end_that_is_opened_anew_are_nobody_else_s() {
        for direction in [Direction::ToProgram, Direction::FromProgram] {
            let (reader, writer) = for_others().unwrap();
            let kept = [reader.try_clone().unwrap(), writer.try_clone().unwrap()];
            let (ours, theirs) = direction.pipe_of_another((reader, writer)).unwrap();
            for end in &kept {
                rustix::fs::fcntl_setfl(end, OFlags::empty()).unwrap();
            }
            assert!(rustix::fs::fcntl_getfl(&ours).unwrap().contains(OFlags::NONBLOCK));
            assert!(!rustix::fs::fcntl_getfl(&theirs).unwrap().contains(OFlags::NONBLOCK));
            let (from, to) = match direction {
                Direction::ToProgram => (theirs, ours),
                Direction::FromProgram => (ours, theirs),
            };
            rustix::io::write(&to, b"x").unwrap();
            assert_eq!(rustix::io::read(&from, &mut [0; 8]).unwrap(), 1);
        }
    }

    #[test]
    fn what_is_no_pipe_is_not_opened() {
        let file = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let error = Direction::FromProgram.pipe_of_another((file(), file())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_small_pipe_is_told_from_a_whole_one() {
        let (reader, _writer) = for_others().unwrap();
        rustix::pipe::fcntl_setpipe_size(&reader, 4096).unwrap();
        assert!(!is_whole(&reader));
        rustix::pipe::fcntl_setpipe_size(&reader, DEFAULT_PAGES * rustix::param::page_size()).unwrap();
        assert!(is_whole(&reader));
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
