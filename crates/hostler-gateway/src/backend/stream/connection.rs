//! A socket in a thread's event loop, with what has no room yet and one bounded buffer for what comes.

use crate::register;
use bytes::{Buf as _, Bytes, BytesMut};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// First space for reading, in bytes; most answers are small.
const FIRST_READ: usize = 8 << 10;
/// Space for reading once it turns out to be more.
const NEXT_READ: usize = 64 << 10;

/// A connected socket that somebody speaks over.
#[derive(Debug)]
pub(super) struct Connection {
    socket: AsyncFd<OwnedFd>,
    unsent: Unsent,
    space: usize,
}

/// What is to be sent.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    /// The first bytes, shared with whoever may send them again.
    head: Bytes,
    /// What follows them.
    rest: Vec<u8>,
    /// Bytes of it that have gone.
    gone: usize,
}

impl Unsent {
    pub(super) fn head(head: Bytes) -> Self {
        Self { head, ..Self::default() }
    }

    /// Bytes that are left.
    pub(super) fn len(&self) -> usize {
        self.head.len() + self.rest.len() - self.gone
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty() && self.gone == self.rest.len()
    }

    /// The buffer to append to.
    pub(super) const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.rest
    }

    /// Sends what there is room for; true: all has gone.
    pub(super) fn flush(&mut self, socket: &OwnedFd) -> Result<bool, Errno> {
        while !self.is_empty() {
            let next = if self.head.is_empty() { &self.rest[self.gone..] } else { &self.head };
            let sent = match send(socket, next, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => continue,
                sent => sent?,
            };
            if self.head.is_empty() {
                self.gone += sent;
            } else {
                self.head.advance(sent);
            }
        }
        self.rest.clear();
        self.rest.shrink_to(NEXT_READ);
        self.gone = 0;
        Ok(true)
    }
}

impl Connection {
    /// Must be called within a tokio runtime with I/O.
    pub(super) fn new(socket: OwnedFd, unsent: Unsent) -> io::Result<Self> {
        let socket = register(socket, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self { socket, unsent, space: FIRST_READ })
    }

    pub(super) fn into_parts(self) -> (OwnedFd, Unsent) {
        (self.socket.into_inner(), self.unsent)
    }

    pub(super) const fn unsent(&mut self) -> &mut Unsent {
        &mut self.unsent
    }

    /// Ready when all has gone.
    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Most often there is room, and nothing to be asked.
        if self.unsent.flush(self.socket.get_ref())? {
            return Poll::Ready(Ok(()));
        }
        while !self.unsent.is_empty() {
            let mut writable = ready!(self.socket.poll_write_ready(context))?;
            match self.unsent.flush(writable.get_inner()) {
                Ok(true) => break,
                Ok(false) => writable.clear_ready(),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The next bytes that come; none: the other side has closed its end.
    pub(super) fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        loop {
            let mut readable = ready!(self.socket.poll_read_ready(context))?;
            let mut buffer = BytesMut::zeroed(self.space);
            match recv(readable.get_inner(), &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((read, _)) => {
                    buffer.truncate(read);
                    if read == self.space {
                        self.space = NEXT_READ;
                    }
                    // What is kept for long should not hold many times its space.
                    let few = read < self.space / 4;
                    let bytes = if few { Bytes::copy_from_slice(&buffer) } else { buffer.freeze() };
                    return Poll::Ready(Ok(bytes));
                }
                Err(Errno::AGAIN) => readable.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}
