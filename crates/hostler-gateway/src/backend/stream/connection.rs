//! A socket in a thread's event loop, with what has no room yet and one bounded buffer for what comes.

use super::link::{Conversation, Link};
use super::socket::{self, AsyncSocket, Socket};
use bytes::{Buf as _, Bytes, BytesMut};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::task::{Context, Poll, ready};

/// First space for reading, in bytes; most answers are small.
const FIRST_READ: usize = 8 << 10;
/// Space for reading once it turns out to be more.
const NEXT_READ: usize = 64 << 10;
/// The most bytes waiting to be sent, including answers to the program: a program that keeps requesting data without
/// reading it is not read any further.
const MOST_UNSENT: usize = 256 << 10;

/// A connected socket that somebody speaks over, or through the memory beside it.
#[derive(Debug)]
pub(super) struct Connection {
    socket: AsyncSocket,
    memory: Beside,
    unsent: Unsent,
    space: usize,
}

/// Memory beside a socket.
#[derive(Debug)]
enum Beside {
    None,
    /// The other side has not said that it uses it.
    Unused(Box<Link>),
    Used(Conversation),
}

/// Bytes waiting to be sent.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    /// The first bytes, shared with whoever may send them again.
    head: Bytes,
    /// The bytes after them.
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

    /// Returns whether the program has asked for more than it will ever read.
    pub(super) fn is_too_much(&self) -> bool {
        self.len() > MOST_UNSENT
    }

    /// The buffer to append to.
    pub(super) const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.rest
    }

    /// Sends what there is room for, by a function that says how much it has taken; true: all has gone.
    pub(super) fn flush(
        &mut self,
        mut send: impl FnMut(&[u8]) -> Result<usize, Errno>,
    ) -> Result<bool, Errno> {
        while !self.is_empty() {
            let next = if self.head.is_empty() { &self.rest[self.gone..] } else { &self.head };
            let sent = match send(next) {
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
    /// For the front's thread of this number, on its `LocalSet`.
    pub(super) fn new(mut socket: Socket, unsent: Unsent, thread: u32) -> io::Result<Self> {
        let memory = match socket.link.take() {
            None => Beside::None,
            Some(link) if link.is_used() => Beside::Used(Conversation::begin(link, thread)?),
            Some(link) => Beside::Unused(link),
        };
        Ok(Self { socket: AsyncSocket::new(socket)?, memory, unsent, space: FIRST_READ })
    }

    pub(super) fn into_parts(self) -> (Option<Socket>, Unsent) {
        let link = match self.memory {
            Beside::None => None,
            Beside::Unused(link) => Some(link),
            Beside::Used(conversation) => conversation.end(),
        };
        (self.socket.into_socket(link), self.unsent)
    }

    pub(super) const fn unsent(&mut self) -> &mut Unsent {
        &mut self.unsent
    }

    /// Ready when all has gone. Where it is not, [`Self::poll_read`] has to be asked afterwards.
    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Beside::Used(conversation) = &self.memory {
            let is_sent = self.unsent.flush(|bytes| conversation.write(bytes))?;
            if conversation.want_room(!is_sent) && is_sent {
                // Whoever has a further piece of the body may wait for that, and will not be told otherwise.
                context.waker().wake_by_ref();
            }
            return if is_sent { Poll::Ready(Ok(())) } else { conversation.wait(context) };
        }
        // Most often there is room, and nothing to be asked.
        if self.unsent.is_empty() || self.unsent.flush(sender(self.socket.socket()?.get_ref()))? {
            return Poll::Ready(Ok(()));
        }
        self.socket.watch_writes()?;
        while !self.unsent.is_empty() {
            let mut writable = ready!(self.socket.socket()?.poll_write_ready(context))?;
            match self.unsent.flush(sender(writable.get_inner())) {
                Ok(true) => break,
                Ok(false) => writable.clear_ready(),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The next bytes that come; none: the other side has closed its end.
    pub(super) fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        if let Beside::Used(conversation) = &self.memory {
            return conversation.poll_read(NEXT_READ, self.socket.socket()?, context);
        }
        let space = self.space;
        let mut buffer = BytesMut::new();
        let read = ready!(socket::poll_read(self.socket.socket()?, context, |socket| {
            buffer.resize(space, 0);
            let (read, _) = recv(socket, &mut buffer[..], RecvFlags::DONTWAIT)?;
            Ok((read, read == space))
        }))?;
        buffer.truncate(read);
        if read == space {
            self.space = NEXT_READ;
        }
        // What is kept for long should not hold many times its space.
        let few = read < space / 4;
        Poll::Ready(Ok(if few { Bytes::copy_from_slice(&buffer) } else { buffer.freeze() }))
    }
}

/// Sends over a socket.
fn sender(socket: &impl std::os::fd::AsFd) -> impl FnMut(&[u8]) -> Result<usize, Errno> {
    move |bytes| send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
}
