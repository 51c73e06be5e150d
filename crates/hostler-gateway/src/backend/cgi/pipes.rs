//! The pipes between us and a program.

use hostler_sys::pipe::for_output;
use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::pipe::{PipeFlags, pipe_with};
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;

/// Our ends; they never block.
#[derive(Debug)]
pub struct Pipes {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// The program's stdin, stdout and stderr.
pub type Ends = [OwnedFd; 3];

impl Pipes {
    /// Makes the pipes of one program. Without `input` its stdin is `/dev/null`, which is cheaper than a pipe that
    /// ends at once.
    ///
    /// # Errors
    /// EMFILE and the like.
    pub fn open(input: bool) -> io::Result<(Self, Ends)> {
        let (stdin, program_stdin) = if input {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            fcntl_setfl(&write, OFlags::NONBLOCK)?;
            (Some(write), read)
        } else {
            (None, null()?)
        };
        let (stdout, program_stdout) = for_output()?;
        let (stderr, program_stderr) = for_output()?;
        Ok((Self { stdin, stdout, stderr }, [program_stdin, program_stdout, program_stderr]))
    }
}

fn null() -> io::Result<OwnedFd> {
    thread_local! {
        static NULL: RefCell<Option<OwnedFd>> = const { RefCell::new(None) };
    }
    NULL.with_borrow_mut(|null| {
        if null.is_none() {
            *null = Some(open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
        }
        match null {
            Some(null) => null.try_clone(),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    })
}
