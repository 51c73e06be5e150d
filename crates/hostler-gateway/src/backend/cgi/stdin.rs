//! The request's body on its way into a program.

use super::Input;
use crate::Error;
use bytes::{Buf, Bytes};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;

/// The pipe; it is only watched once it has been full.
enum Pipe {
    Direct(OwnedFd),
    Watched(pipe::Sender),
    Closed,
}

pub(super) struct Stdin<I> {
    pipe: Pipe,
    input: I,
    /// Taken from the input, not yet written.
    unsent: Bytes,
    moved: bool,
}

impl<I: Input> Stdin<I> {
    pub(super) fn new(pipe: OwnedFd, input: I) -> Self {
        Self { pipe: Pipe::Direct(pipe), input, unsent: Bytes::new(), moved: false }
    }

    /// Returns whether the client has to go on, not the program.
    pub(super) fn awaits_input(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Returns whether the program has taken something since this was last asked.
    pub(super) fn has_moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    /// Writes what can be written; ready when all is written, or the program wants no more.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            while self.unsent.is_empty() {
                match ready!(self.input.poll_chunk(context)) {
                    Some(chunk) => self.unsent = chunk?,
                    None => return Poll::Ready(Ok(())),
                }
            }
            match ready!(self.pipe.poll_write(context, &self.unsent)) {
                Ok(n) if n > 0 => {
                    self.unsent.advance(n);
                    self.moved = true;
                }
                // EPIPE: a program need not read its input.
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl Pipe {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        if let Self::Direct(pipe) = self {
            match rustix::io::write(pipe, bytes) {
                Err(rustix::io::Errno::AGAIN) => self.watch()?,
                done => return Poll::Ready(Ok(done?)),
            }
        }
        match self {
            Self::Watched(pipe) => Pin::new(pipe).poll_write(context, bytes),
            _ => Poll::Ready(Ok(0)),
        }
    }

    fn watch(&mut self) -> std::io::Result<()> {
        if let Self::Direct(pipe) = std::mem::replace(self, Self::Closed) {
            *self = Self::Watched(pipe::Sender::from_owned_fd_unchecked(pipe)?);
        }
        Ok(())
    }
}
