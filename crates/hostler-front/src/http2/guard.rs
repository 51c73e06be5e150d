//! A connection as h2 sees it: what the client sends has been checked ([`hostler_http2`]). If that ends the connection, h2
//! finds it closed by the client, and GOAWAY with the reason is sent after the last frame.

use hostler_http2::{Checker, Fault, go_away};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read at once.
const READ: usize = 16 << 10;

pub(super) struct Guarded<S> {
    stream: S,
    checker: Checker,
    /// The checked bytes, and how much of them h2 has read.
    checked: Vec<u8>,
    read: usize,
    fault: Option<Fault>,
    /// The rest of GOAWAY.
    farewell: Vec<u8>,
}

impl<S> Guarded<S> {
    /// `longest`: bytes that a header block may have.
    pub(super) fn new(stream: S, longest: usize) -> Self {
        let (checker, checked) = (Checker::new(longest), Vec::new());
        Self { stream, checker, checked, read: 0, fault: None, farewell: Vec::new() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.read == this.checked.len() {
            this.checked.clear();
            this.checked.shrink_to(READ / 4);
            this.read = 0;
            if this.fault.is_some() {
                return Poll::Ready(Ok(()));
            }
            let mut room = [MaybeUninit::uninit(); READ];
            let mut came = ReadBuf::uninit(&mut room);
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut came))?;
            if came.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            if let Err(fault) = this.checker.feed(came.filled(), &mut this.checked) {
                this.fault = Some(fault);
                this.farewell = go_away(this.checker.last_stream(), fault).to_vec();
            }
        }
        let some = &this.checked[this.read..];
        let some = &some[..some.len().min(buf.remaining())];
        buf.put_slice(some);
        this.read += some.len();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while !this.farewell.is_empty() {
            let written = ready!(Pin::new(&mut this.stream).poll_write(cx, &this.farewell))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            this.farewell.drain(..written);
        }
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}
