//! Why workers could not begin, as they tell their parent: a pipe that all of them have until they have begun. It holds
//! what a handful can say at once; who finds no room ends without a reason.
//!
//! What comes out of it is a tenant's, as the parent is: it goes to that tenant's front, which bounds it.

use rustix::io::{read, write};
use rustix::pipe::{PIPE_BUF, PipeFlags, pipe_with};
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::process;

/// Exit status of a worker that could not begin: sysexits' EX_UNAVAILABLE.
pub(crate) const STATUS: i32 = 69;

/// Process number and length, before each reason.
const HEAD: usize = 8;
/// Reasons that are kept until their workers have been reaped.
const MOST: usize = 64;

/// The pipe, and what has been read from it.
pub(crate) struct Reasons {
    reader: OwnedFd,
    writer: OwnedFd,
    read: Vec<(u32, String)>,
}

impl Reasons {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self { reader, writer, read: Vec::new() })
    }

    /// In a worker: tells why it can't begin, as much of it as goes into the pipe in one piece.
    pub(crate) fn tell(&self, why: &str) {
        let text = &why.as_bytes()[..why.len().min(PIPE_BUF - HEAD)];
        let own = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
        let mut message = own.to_le_bytes().to_vec();
        message.extend_from_slice(&(text.len() as u32).to_le_bytes());
        message.extend_from_slice(text);
        let _ = write(&self.writer, &message);
    }

    /// In a worker that has begun, which has nothing more to do with it.
    pub(crate) fn leave(&self) {
        process::close_borrowed(self.reader.as_fd());
        process::close_borrowed(self.writer.as_fd());
    }

    /// In the parent: what this worker has told, which has ended.
    pub(crate) fn take(&mut self, worker: Pid) -> Option<String> {
        self.read_all();
        let worker = worker.as_raw_nonzero().get().unsigned_abs();
        let at = self.read.iter().position(|(known, _)| *known == worker)?;
        Some(self.read.swap_remove(at).1)
    }

    fn read_all(&mut self) {
        let (mut bytes, mut piece) = (Vec::new(), [0; PIPE_BUF]);
        while let Ok(count @ 1..) = read(&self.reader, &mut piece) {
            bytes.extend_from_slice(&piece[..count]);
            if bytes.len() >= MOST * PIPE_BUF {
                break;
            }
        }
        let mut rest = &bytes[..];
        while let Some((told, more)) = cut(rest) {
            if self.read.len() == MOST {
                self.read.remove(0);
            }
            self.read.push(told);
            rest = more;
        }
    }
}

/// One reason, and what comes behind it. Whatever does not look like one is dropped with all that follows.
fn cut(bytes: &[u8]) -> Option<((u32, String), &[u8])> {
    let (worker, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some(((u32::from_le_bytes(*worker), String::from_utf8_lossy(text).into_owned()), rest))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;

    #[test]
    fn a_reason_is_the_worker_s_that_told_it() {
        let own = rustix::process::getpid();
        let mut reasons = Reasons::new().unwrap();
        assert_eq!(reasons.take(own), None);
        reasons.tell("no such extension");
        reasons.tell(&"long ".repeat(PIPE_BUF));
        assert_eq!(reasons.take(Pid::INIT), None);
        assert_eq!(reasons.take(own).as_deref(), Some("no such extension"));
        let long = reasons.take(own).unwrap();
        assert!(long.len() == PIPE_BUF - HEAD && long.starts_with("long long "));
        assert_eq!(reasons.take(own), None);
    }

    #[test]
    fn what_a_program_writes_into_the_pipe_harms_nobody() {
        let mut reasons = Reasons::new().unwrap();
        write(&reasons.writer, &[0xff; 100]).unwrap();
        assert_eq!(reasons.take(rustix::process::getpid()), None);
        reasons.tell("why");
        assert_eq!(reasons.take(rustix::process::getpid()).as_deref(), Some("why"));
        // A pipe that is full is not waited for.
        while write(&reasons.writer, &[0; PIPE_BUF]).is_ok() {}
        reasons.tell("lost");
        assert_eq!(reasons.take(rustix::process::getpid()), None);
    }
}
