//! Notes from workers to their parent, about their start: that one has begun, or why it could not. They come through a pipe
//! that all workers have until they have begun. It holds a handful of reasons at once; a worker that finds no room ends
//! without one.
//!
//! The notes are a tenant's, as the parent is: they go to that tenant's front, which bounds them.

use rustix::io::{read, write};
use rustix::pipe::{PIPE_BUF, PipeFlags, pipe_with};
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::process;

/// Exit status of a worker that could not begin: sysexits' EX_UNAVAILABLE.
pub(crate) const STATUS: i32 = 69;

/// Process number and length, before each reason.
const HEAD: usize = 8;
/// In the place of the length: the worker has begun.
const BEGAN: u32 = u32::MAX;
/// Reasons that are kept until their workers have been reaped.
const MOST: usize = 64;

/// The pipe, and the reasons that have been read from it.
pub(crate) struct Notes {
    reader: OwnedFd,
    writer: OwnedFd,
    reasons: Vec<(u32, String)>,
}

impl Notes {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self { reader, writer, reasons: Vec::new() })
    }

    /// In a worker: tells why it can't begin, as much of it as goes into the pipe in one piece.
    pub(crate) fn tell(&self, why: &str) {
        let text = &why.as_bytes()[..why.len().min(PIPE_BUF - HEAD)];
        self.write(text.len() as u32, text);
    }

    /// In a worker that has begun, and has nothing more to do with the pipe. `is_awaited`: tells the parent.
    pub(crate) fn leave(&self, is_awaited: bool) {
        if is_awaited {
            self.write(BEGAN, &[]);
        }
        process::close_borrowed(self.reader.as_fd());
        process::close_borrowed(self.writer.as_fd());
    }

    fn write(&self, length: u32, text: &[u8]) {
        let mut message = number(rustix::process::getpid()).to_le_bytes().to_vec();
        message.extend_from_slice(&length.to_le_bytes());
        message.extend_from_slice(text);
        let _ = write(&self.writer, &message);
    }

    /// In the parent: readable when there are notes.
    pub(crate) fn reader(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// In the parent: reads the notes. Returns the process numbers of workers that have begun.
    pub(crate) fn begun(&mut self) -> Vec<u32> {
        let (mut bytes, mut piece) = (Vec::new(), [0; PIPE_BUF]);
        while let Ok(count @ 1..) = read(&self.reader, &mut piece) {
            bytes.extend_from_slice(&piece[..count]);
            if bytes.len() >= MOST * PIPE_BUF {
                break;
            }
        }
        let (mut begun, mut rest) = (Vec::new(), &bytes[..]);
        while let Some(((worker, reason), more)) = cut(rest) {
            match reason {
                Some(reason) => self.keep(worker, reason),
                None => begun.push(worker),
            }
            rest = more;
        }
        begun
    }

    fn keep(&mut self, worker: u32, reason: String) {
        if self.reasons.len() == MOST {
            self.reasons.remove(0);
        }
        self.reasons.push((worker, reason));
    }

    /// In the parent, once the notes have been read: the reason of a worker that has ended.
    pub(crate) fn reason(&mut self, worker: Pid) -> Option<String> {
        let at = self.reasons.iter().position(|(known, _)| *known == number(worker))?;
        Some(self.reasons.swap_remove(at).1)
    }
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// The worker of a note, and its reason; `None`: it has begun.
type Note = (u32, Option<String>);

/// One note, and what comes behind it. Whatever does not look like one is dropped with all that follows.
fn cut(bytes: &[u8]) -> Option<(Note, &[u8])> {
    let (worker, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (worker, length) = (u32::from_le_bytes(*worker), u32::from_le_bytes(*length));
    if length == BEGAN {
        return Some(((worker, None), rest));
    }
    let (text, rest) = rest.split_at_checked(length as usize)?;
    Some(((worker, Some(String::from_utf8_lossy(text).into_owned())), rest))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;

    fn own() -> Pid {
        rustix::process::getpid()
    }

    #[test]
    fn a_reason_is_the_worker_s_that_told_it() {
        let mut notes = Notes::new().unwrap();
        assert!(notes.begun().is_empty());
        assert_eq!(notes.reason(own()), None);
        notes.tell("no such extension");
        notes.write(BEGAN, &[]);
        notes.tell(&"long ".repeat(PIPE_BUF));
        assert_eq!(notes.begun(), [number(own())]);
        assert_eq!(notes.reason(Pid::INIT), None);
        assert_eq!(notes.reason(own()).as_deref(), Some("no such extension"));
        let long = notes.reason(own()).unwrap();
        assert!(long.len() == PIPE_BUF - HEAD && long.starts_with("long long "));
        assert_eq!(notes.reason(own()), None);
    }

    #[test]
    fn bytes_that_a_program_writes_into_the_pipe_are_dropped() {
        let mut notes = Notes::new().unwrap();
        write(&notes.writer, &[0xee; 100]).unwrap();
        assert!(notes.begun().is_empty());
        notes.tell("why");
        assert!(notes.begun().is_empty());
        assert_eq!(notes.reason(own()).as_deref(), Some("why"));
        // A pipe that is full is not waited for.
        while write(&notes.writer, &[0; PIPE_BUF]).is_ok() {}
        notes.tell("lost");
        notes.begun();
        assert_eq!(notes.reason(own()), None);
    }
}
