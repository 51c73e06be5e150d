//! A connected socket, whatever its kind, and TLS over one.

use rustix::net::{RecvFlags, recv};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

/// The transport.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    Secure(Box<TlsStream<Socket>>),
}

impl Stream {
    /// Returns whether an idle one is as it should be: open, and nothing has been said unasked.
    pub(super) fn is_silent(&mut self) -> bool {
        let secure = match self {
            Self::Plain(socket) => return socket.is_silent(),
            Self::Secure(secure) => secure,
        };
        if secure.get_ref().0.is_silent() {
            return true;
        }
        // What has come may be about TLS itself, such as a session's ticket (RFC 8446 §4.6.1).
        let (socket, session) = secure.get_mut();
        let mut bytes = [0_u8; 4096];
        while let Ok((read @ 1.., _)) = recv(socket.descriptor(), &mut bytes, RecvFlags::DONTWAIT) {
            let mut come = &bytes[..read];
            while !come.is_empty() {
                match session.read_tls(&mut come) {
                    Ok(1..) => {}
                    Ok(0) | Err(_) => return false,
                }
                match session.process_new_packets() {
                    Ok(state) if state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed() => {}
                    Ok(_) | Err(_) => return false,
                }
            }
        }
        socket.is_silent()
    }
}

impl Stream {
    /// Ready when there may be something to read.
    pub(super) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(Socket::Tcp(tcp)) => tcp.poll_read_ready(context),
            Self::Plain(Socket::Unix(unix)) => unix.poll_read_ready(context),
            Self::Secure(_) => Poll::Ready(Ok(())),
        }
    }
}

/// A connected socket.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(tcp) => tcp.as_fd(),
            Self::Unix(unix) => unix.as_fd(),
        }
    }

    /// The kernel is asked only where the thread's event loop has been told that there is something: it waits for what comes
    /// over idle connections, too.
    fn is_silent(&self) -> bool {
        let peek = || Ok(recv(self.descriptor(), &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT)?);
        let peeked = match self {
            Self::Tcp(tcp) => tcp.try_io(Interest::READABLE, peek),
            Self::Unix(unix) => unix.try_io(Interest::READABLE, peek),
        };
        peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(tcp) => Pin::new(tcp).poll_read(context, buffer),
            Self::Unix(unix) => Pin::new(unix).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(tcp) => Pin::new(tcp).poll_write(context, bytes),
            Self::Unix(unix) => Pin::new(unix).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(tcp) => Pin::new(tcp).poll_write_vectored(context, pieces),
            Self::Unix(unix) => Pin::new(unix).poll_write_vectored(context, pieces),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(tcp) => Pin::new(tcp).poll_flush(context),
            Self::Unix(unix) => Pin::new(unix).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(tcp) => Pin::new(tcp).poll_shutdown(context),
            Self::Unix(unix) => Pin::new(unix).poll_shutdown(context),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Secure(secure) => Pin::new(&mut **secure).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Self::Secure(secure) => Pin::new(&mut **secure).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(context, pieces),
            Self::Secure(secure) => Pin::new(&mut **secure).poll_write_vectored(context, pieces),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(context),
            Self::Secure(secure) => Pin::new(&mut **secure).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            Self::Secure(secure) => Pin::new(&mut **secure).poll_shutdown(context),
        }
    }
}
