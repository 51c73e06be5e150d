//! A client's connection, plain or TLS, with the two operations that HTTP needs beside reading: writing several
//! pieces at once, and sending a file without copying it through this process (plain connections only).

use rustix::fd::OwnedFd;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// A connection.
pub(crate) enum Io {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
}

impl Io {
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Reads some bytes; 0 is the end.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut read = ReadBuf::new(buffer);
        match self {
            Self::Plain(tcp) => ready!(Pin::new(tcp).poll_read(cx, &mut read))?,
            Self::Tls(tls) => ready!(Pin::new(tls.as_mut()).poll_read(cx, &mut read))?,
        }
        Poll::Ready(Ok(read.filled().len()))
    }

    /// Writes some of the pieces.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, pieces),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_write_vectored(cx, pieces),
        }
    }

    /// Sends some of the file from `offset` on. 0 means that the file ends before `offset + length`.
    pub(crate) fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        file: &OwnedFd,
        offset: u64,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        let Self::Plain(tcp) = self else { return Poll::Ready(Err(io::ErrorKind::Unsupported.into())) };
        loop {
            ready!(tcp.poll_write_ready(cx))?;
            let mut at = offset;
            let sent = tcp.try_io(Interest::WRITABLE, || {
                rustix::fs::sendfile(&*tcp, file, Some(&mut at), length).map_err(io::Error::from)
            });
            match sent {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
        }
    }

    /// Returns whether the kernel has bytes that were not read yet.
    pub(crate) fn has_unread(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        let tcp = match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        };
        recv(tcp, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT).is_ok_and(|(n, _)| n > 0)
    }

    /// Returns whether the connection has been reset since the last look.
    pub(crate) fn is_broken(&self) -> bool {
        let tcp = match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        };
        !matches!(tcp.take_error(), Ok(None))
    }

    /// Ends the sending side; TLS says goodbye first.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_shutdown(cx),
        }
    }
}

impl std::fmt::Debug for Io {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_tls() { "Io(tls)" } else { "Io(plain)" })
    }
}
