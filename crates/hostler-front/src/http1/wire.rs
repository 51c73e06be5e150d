//! A connection's bytes: read into the thread's scratch space, written in pieces, each with its timeout. What the
//! reader of a body and the writer of an answer share.

use super::tunnel::Upgraded;
use super::watch::Watch;
use crate::io::body::BodyError;
use crate::io::deadline::Deadline;
use crate::io::early::Early;
use crate::io::open_file::OpenFile;
use crate::io::scratch::with_scratch;
use crate::io::sent::SendError;
use crate::io::stream::Io;
use crate::values::address::Client;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::IoSlice;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

/// State that the reader of the body and the writer of the response share.
pub(crate) struct Wire {
    pub(super) io: RefCell<Io>,
    /// Read, but not yet used.
    pub(super) pending: RefCell<Vec<u8>>,
    pub(super) deadline: Deadline,
    /// `Timeout`: how long the client may neither send nor receive.
    pub(super) timeout: Cell<Duration>,
    pub(super) watch: Watch,
    /// The protocol to change to when the request is finished.
    pub(super) tunnel: RefCell<Option<Box<Upgraded>>>,
    tls: bool,
    /// Interim answers that there was no room for yet.
    owed: RefCell<Vec<u8>>,
}

/// Most bytes of interim answers that wait for room; further ones are not told.
const OWED: usize = 64 << 10;

impl Early for Wire {
    fn tell(&self, head: &[u8]) {
        if self.owed.borrow().len() < OWED {
            // It begins as every answer does, which may have been sent ahead.
            self.owed.borrow_mut().extend_from_slice(&head[self.watch.ahead.take()..]);
            let _ = self.poll_owed(&mut Context::from_waker(Waker::noop()));
        }
    }
}

impl Wire {
    pub(super) fn new(io: Io, timeout: Duration, client: Client) -> Self {
        let tls = io.is_tls();
        Self {
            io: RefCell::new(io),
            pending: RefCell::default(),
            deadline: Deadline::new(client),
            timeout: Cell::new(timeout),
            watch: Watch::default(),
            tunnel: RefCell::default(),
            tls,
            owed: RefCell::default(),
        }
    }

    /// Returns whether the connection's time is over; if not, the task is woken when it is. One that was to make room for others
    /// stays open if it has data that has not been read yet.
    pub(super) fn poll_expired(&self, cx: &mut Context<'_>) -> bool {
        if self.deadline.is_closed() && self.io.borrow().has_unread() {
            self.deadline.spare();
        }
        self.deadline.poll_expired(cx)
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.tls
    }

    /// Returns whether interim answers wait for room.
    pub(super) fn owes(&self) -> bool {
        !self.owed.borrow().is_empty()
    }

    /// Ready when no interim answer waits for room.
    pub(super) fn poll_owed(&self, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        let mut owed = self.owed.borrow_mut();
        if owed.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let mut io = self.io.borrow_mut();
        while !owed.is_empty() {
            match ready!(io.poll_write(cx, &[IoSlice::new(&owed)])) {
                Ok(0) | Err(_) => return Poll::Ready(Err(SendError::Gone)),
                Ok(sent) => drop(owed.drain(..sent)),
            }
        }
        if self.tls { io.poll_flush(cx).map_err(|_| SendError::Gone) } else { Poll::Ready(Ok(())) }
    }

    /// Writes all of the pieces and sees them off.
    pub(crate) async fn write(&self, pieces: &[&[u8]]) -> Result<(), SendError> {
        self.write_more(pieces).await?;
        if self.tls {
            poll_fn(|cx| self.io.borrow_mut().poll_flush(cx)).await.map_err(|_| SendError::Gone)
        } else {
            Ok(())
        }
    }

    /// Writes all of the pieces.
    pub(crate) async fn write_more(&self, pieces: &[&[u8]]) -> Result<(), SendError> {
        let total = pieces.iter().map(|p| p.len()).sum();
        let mut at = self.watch.ahead.take().min(total);
        self.watch.begun.set(true);
        let mut waited = false;
        poll_fn(|cx| {
            match self.poll_owed(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(ended)) => return Poll::Ready(Err(ended)),
                Poll::Pending => return self.wait(cx, &mut waited),
            }
            while at < total {
                let slices = remaining(pieces, at);
                match self.io.borrow_mut().poll_write(cx, &slices) {
                    Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Poll::Ready(Err(SendError::Gone)),
                    Poll::Ready(Ok(n)) => {
                        at += n;
                        if waited {
                            self.deadline.set(self.timeout.get());
                        }
                    }
                    Poll::Pending => return self.wait(cx, &mut waited),
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Not ready: the deadline runs from the first time on.
    fn wait<T>(&self, cx: &mut Context<'_>, waited: &mut bool) -> Poll<Result<T, SendError>> {
        if !*waited {
            *waited = true;
            self.deadline.set(self.timeout.get());
        }
        if self.deadline.poll_expired(cx) { Poll::Ready(Err(SendError::Timeout)) } else { Poll::Pending }
    }

    /// Sends some of a file; 0: the file ends before.
    pub(crate) async fn send_file(
        &self,
        file: &OpenFile,
        offset: u64,
        length: usize,
    ) -> Result<usize, SendError> {
        let mut waited = false;
        poll_fn(|cx| match self.io.borrow_mut().poll_send_file(cx, file.descriptor(), offset, length) {
            Poll::Ready(done) => Poll::Ready(done.map_err(|_| SendError::Gone)),
            Poll::Pending => self.wait(cx, &mut waited),
        })
        .await
    }

    /// Reads more bytes after the pending ones; `Ok(0)` is the client's end.
    pub(super) fn poll_fill(
        &self,
        cx: &mut Context<'_>,
        deadline: Instant,
    ) -> Poll<Result<usize, BodyError>> {
        with_scratch(|scratch| match self.io.borrow_mut().poll_read(cx, scratch) {
            Poll::Ready(Ok(n)) => {
                self.pending.borrow_mut().extend_from_slice(&scratch[..n]);
                Poll::Ready(Ok(n))
            }
            Poll::Ready(Err(_)) => Poll::Ready(Err(BodyError::ClientGone)),
            Poll::Pending => {
                self.deadline.set_at(deadline);
                if self.deadline.poll_expired(cx) || deadline <= Instant::now() {
                    Poll::Ready(Err(BodyError::Timeout))
                } else {
                    Poll::Pending
                }
            }
        })
    }
}

/// The pieces without their first `at` bytes.
fn remaining<'a>(pieces: &[&'a [u8]], mut at: usize) -> smallvec::SmallVec<[IoSlice<'a>; 4]> {
    let mut out = smallvec::SmallVec::new();
    for piece in pieces {
        let skip = at.min(piece.len());
        at -= skip;
        if skip < piece.len() {
            out.push(IoSlice::new(&piece[skip..]));
        }
    }
    out
}
