//! A connection to another server: what has come over it and is not understood yet, and what is to be sent.

use super::secure::Secure;
use super::stream::{Socket, Stream};
use bytes::{Buf as _, Bytes, BytesMut};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncReadExt as _, AsyncWrite as _};
use tokio::net::{TcpStream, UnixStream};

/// First space for reading, in bytes; most answers are small.
const FIRST_READ: usize = 8 << 10;
/// Space for reading once it turns out to be more.
const NEXT_READ: usize = 64 << 10;
/// Pieces that one system call takes.
const SLICES: usize = 16;

/// A connection. It belongs to the thread that has made it.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    pub(super) input: BytesMut,
    output: VecDeque<Bytes>,
    space: usize,
    /// TLS is spoken over it, with these settings.
    pub(super) secure: Option<Arc<Secure>>,
    /// It has served a request.
    pub(super) is_used: bool,
}

impl Connection {
    /// Over TCP.
    #[must_use]
    pub fn tcp(stream: TcpStream) -> Self {
        Self::new(Stream::Plain(Socket::Tcp(stream)))
    }

    /// Over a Unix socket that somebody else has connected.
    ///
    /// # Errors
    /// It can't be made known to the thread's event loop.
    pub fn unix(socket: OwnedFd) -> io::Result<Self> {
        let socket = std::os::unix::net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        Ok(Self::new(Stream::Plain(Socket::Unix(UnixStream::from_std(socket)?))))
    }

    fn new(stream: Stream) -> Self {
        let (input, output) = (BytesMut::new(), VecDeque::new());
        Self { stream, input, output, space: FIRST_READ, secure: None, is_used: false }
    }

    /// Shakes hands; what is said from here on is encrypted.
    ///
    /// # Errors
    /// The kernel's, or with `rustls::Error` inside why the server is not believed.
    pub async fn shake_hands(self, secure: Arc<Secure>) -> io::Result<Self> {
        match self.stream {
            Stream::Plain(socket) => {
                let stream = Stream::Secure(Box::new(secure.connect(socket).await?));
                Ok(Self { secure: Some(secure), ..Self::new(stream) })
            }
            Stream::Secure(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// The protocol that was agreed on in the handshake (ALPN).
    #[must_use]
    pub fn agreed(&self) -> Option<&[u8]> {
        match &self.stream {
            Stream::Plain(_) => None,
            Stream::Secure(secure) => secure.get_ref().1.alpn_protocol(),
        }
    }

    /// Returns the transport, before anything has been sent over it.
    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    /// The kernel's buffer for what comes, in bytes.
    #[cfg(test)]
    pub(super) fn receive_buffer(&self) -> usize {
        match &self.stream {
            Stream::Plain(Socket::Tcp(tcp)) => {
                rustix::net::sockopt::socket_recv_buffer_size(tcp).unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Returns whether an idle one is as it should be.
    pub(super) fn is_silent(&mut self) -> bool {
        self.stream.is_silent()
    }

    /// Puts bytes behind those that are to be sent.
    pub fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.output.push_back(bytes);
        }
    }

    /// Bytes that are left to be sent.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.output.iter().map(Bytes::len).sum()
    }

    /// Gives up what was to be sent.
    pub(super) fn forget_output(&mut self) {
        self.output.clear();
    }

    /// An idle connection keeps no buffer.
    pub(super) fn rest(&mut self) {
        (self.input, self.output, self.space) = (BytesMut::new(), VecDeque::new(), FIRST_READ);
    }

    /// Returns the bytes that have arrived and were not interpreted yet.
    pub fn take_input(&mut self) -> Bytes {
        std::mem::take(&mut self.input).freeze()
    }

    /// Ready when all has been sent.
    ///
    /// # Errors
    /// The kernel's.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.output.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let many = self.output.len().min(SLICES);
            for (slice, piece) in slices.iter_mut().zip(&self.output) {
                *slice = IoSlice::new(piece);
            }
            let sent = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, &slices[..many]))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent(sent);
        }
        match &mut self.stream {
            Stream::Plain(_) => Poll::Ready(Ok(())),
            // What is encrypted may not have gone yet.
            Stream::Secure(secure) => Pin::new(&mut **secure).poll_flush(context),
        }
    }

    fn sent(&mut self, mut bytes: usize) {
        while let Some(first) = self.output.front_mut() {
            if first.len() > bytes {
                first.advance(bytes);
                return;
            }
            bytes -= first.len();
            self.output.pop_front();
        }
    }

    /// Reads what comes, behind what has come; 0: the other side says no more.
    ///
    /// # Errors
    /// The kernel's.
    pub fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.input.is_empty() {
            // Who waits keeps no space: there may be very many of them.
            ready!(self.stream.poll_readable(context))?;
        }
        self.input.reserve(self.space);
        let read = {
            let future = pin!(self.stream.read_buf(&mut self.input));
            future.poll(context)
        };
        match read {
            Poll::Ready(Ok(read)) => {
                if read >= self.space {
                    self.space = NEXT_READ;
                }
                Poll::Ready(Ok(read))
            }
            Poll::Pending if self.input.is_empty() => {
                self.input = BytesMut::new();
                Poll::Pending
            }
            other => other,
        }
    }

    /// Reads into space of somebody else; 0: the other side says no more.
    ///
    /// # Errors
    /// The kernel's.
    pub fn poll_read(&mut self, context: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        pin!(self.stream.read(space)).poll(context)
    }

    /// Says that nothing more will be sent.
    pub fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
