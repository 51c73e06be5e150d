//! The pipes between us and a program.

use hostler_sys::pipe::{Direction, Pipe};
use rustix::fs::{Mode, OFlags, open};
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
    /// Makes the pipes of one program.
    ///
    /// # Errors
    /// EMFILE and the like.
    pub fn open(input: bool) -> io::Result<(Self, Ends)> {
        let input = input.then(|| Direction::ToProgram.pipe()).transpose()?;
        Self::of(input, [Direction::FromProgram.pipe()?, Direction::FromProgram.pipe()?])
    }

    /// Of pipes that have been made: for its stdin, for its stdout and stderr. Without `input` its stdin is `/dev/null`,
    /// which is cheaper than a pipe that ends at once.
    ///
    /// # Errors
    /// EMFILE and the like.
    pub fn of(input: Option<Pipe>, [output, errors]: [Pipe; 2]) -> io::Result<(Self, Ends)> {
        let (stdin, program_stdin) = match input {
            Some((ours, theirs)) => (Some(ours), theirs),
            None => (None, null()?),
        };
        Ok((Self { stdin, stdout: output.0, stderr: errors.0 }, [program_stdin, output.1, errors.1]))
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
