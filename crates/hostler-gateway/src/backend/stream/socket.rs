//! A connected socket, and whether a thread's event loop knows it. One that the same thread uses again stays known there:
//! to tell the kernel, and to ask it whether anything has come, would be three calls for each request.
//!
//! Whoever only reads is not woken when there is room for writing: over a Unix socket that would be each time the other side
//! has read something.

use super::link::Link;
use crate::register;
use bytes::{Bytes, BytesMut};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::ThreadId;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The socket of a connection that nobody speaks over.
#[derive(Debug)]
pub(super) struct Socket {
    descriptor: Registration,
    /// Memory that is shared beside it, if it is.
    pub(super) link: Option<Box<Link>>,
    /// The beginning of the next request has been sent ([`super::Protocol::GREETING`]).
    pub(super) is_greeted: bool,
}

/// The owner of a socket's registration.
#[derive(Debug)]
enum Registration {
    /// No event loop does.
    Bare(Arc<OwnedFd>),
    /// This thread's does, for reading.
    Known(AsyncFd<Arc<OwnedFd>>, ThreadId),
}

impl Registration {
    /// Without an event loop.
    fn bare(self) -> Arc<OwnedFd> {
        match self {
            Self::Bare(socket) => socket,
            Self::Known(socket, _) => socket.into_inner(),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.descriptor {
            Registration::Bare(socket) => socket.as_fd(),
            Registration::Known(socket, _) => socket.get_ref().as_fd(),
        }
    }
}

impl Socket {
    /// One that no event loop knows.
    pub(super) fn new(socket: Arc<OwnedFd>, link: Option<Box<Link>>) -> Self {
        Self { descriptor: Registration::Bare(socket), link, is_greeted: false }
    }

    /// A request's answer has come whole, in which this process has said that it uses the memory. One that has not never will.
    pub(super) fn note_user(&mut self, process: Option<u32>) {
        if let Some(link) = self.link.as_mut().filter(|link| !link.is_used()) {
            match process {
                Some(process) => link.use_by(process),
                None => self.link = None,
            }
        }
    }

    /// Sends what there is room for: how many bytes.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        match self.link.as_mut().filter(|link| link.is_used()) {
            Some(link) => link.write(bytes),
            None => send(self, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
        }
    }

    /// Receives at most so many bytes; empty: the other side has closed its end.
    pub(super) fn receive(&mut self, most: usize) -> Result<Bytes, Errno> {
        if let Some(link) = self.link.as_mut().filter(|link| link.is_used()) {
            let piece = link.read(most)?;
            if !piece.is_empty() {
                return Ok(piece.into());
            }
        }
        let mut buffer = BytesMut::zeroed(most);
        let (read, _) = recv(&*self, &mut buffer[..], RecvFlags::DONTWAIT)?;
        buffer.truncate(read);
        Ok(buffer.freeze())
    }

    fn is_known_here(&self) -> bool {
        matches!(&self.descriptor, Registration::Known(_, thread) if *thread == std::thread::current().id())
    }

    /// Returns whether an idle one is as it should be: open, and nothing has been said unasked. Where the thread's
    /// event loop knows it, as far as that has been told.
    pub(super) fn is_silent(&self) -> bool {
        let Registration::Known(socket, _) = &self.descriptor else { return is_silent(self) };
        if !self.is_known_here() {
            return is_silent(self);
        }
        let peeked = socket.try_io(Interest::READABLE, |socket| Ok(peek(socket)?));
        peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// A socket in this thread's event loop.
#[derive(Debug)]
pub(super) struct AsyncSocket {
    /// `None`: it could not be made known anew.
    socket: Option<AsyncFd<Arc<OwnedFd>>>,
    writes: bool,
}

impl AsyncSocket {
    /// Must be called within a tokio runtime with I/O.
    pub(super) fn new(socket: Socket) -> io::Result<Self> {
        let socket = match socket.descriptor {
            Registration::Known(socket, thread) if thread == std::thread::current().id() => socket,
            other => register(other.bare(), Interest::READABLE)?,
        };
        Ok(Self { socket: Some(socket), writes: false })
    }

    /// The socket.
    pub(super) fn socket(&self) -> io::Result<&AsyncFd<Arc<OwnedFd>>> {
        self.socket.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// From here on the thread hears of room for writing, too. Whoever waits for something to read has to ask once more.
    pub(super) fn watch_writes(&mut self) -> io::Result<()> {
        if !self.writes
            && let Some(socket) = self.socket.take()
        {
            self.socket = Some(register(socket.into_inner(), Interest::READABLE | Interest::WRITABLE)?);
            self.writes = true;
        }
        Ok(())
    }

    /// For whoever speaks over it next.
    pub(super) fn into_socket(self, link: Option<Box<Link>>) -> Option<Socket> {
        let socket = self.socket?;
        let descriptor = match self.writes {
            true => Registration::Bare(socket.into_inner()),
            false => Registration::Known(socket, std::thread::current().id()),
        };
        Some(Socket { descriptor, link, is_greeted: false })
    }
}

/// Asks the kernel whether an idle connection is open, and nothing has been said over it unasked.
pub(super) fn is_silent(socket: impl AsFd) -> bool {
    matches!(peek(socket), Err(Errno::AGAIN))
}

fn peek(socket: impl AsFd) -> Result<(), Errno> {
    recv(socket, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT).map(drop)
}

/// Waits until there is something to read; `Ok` takes what has come with the caller's function, which says how much of its
/// space was filled. Less than all of it: the kernel has no more for now.
pub(super) fn poll_read<T>(
    socket: &AsyncFd<Arc<OwnedFd>>,
    context: &mut Context<'_>,
    mut read: impl FnMut(&OwnedFd) -> Result<(T, bool), Errno>,
) -> Poll<io::Result<T>> {
    loop {
        let mut readable = std::task::ready!(socket.poll_read_ready(context))?;
        match read(readable.get_inner()) {
            Ok((value, filled)) => {
                if !filled {
                    readable.clear_ready();
                }
                return Poll::Ready(Ok(value));
            }
            Err(Errno::AGAIN) => readable.clear_ready(),
            Err(Errno::INTR) => {}
            Err(error) => return Poll::Ready(Err(error.into())),
        }
    }
}
