//! Notices that a client has gone while its answer is being made: a program that says nothing would otherwise run
//! on for nobody until its timeout.
//!
//! The end of what a client sends can mean two things: it has closed the connection, or it has only said
//! everything and still reads. Only an attempt to send tells them apart, as a closed connection is reset by it. So
//! the first bytes of the answer, which are the same in every answer, are sent ahead of the rest, unless that comes soon:
//! some clients take what they read first for the whole line.

use super::wire::Wire;
use crate::io::scratch::with_scratch;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// The start of every response, also of an `nph-` program's.
const BEGINNING: &[u8] = b"HTTP/1.";
/// The interval of checks whether the connection was reset, at first and later.
const TICKS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// Bytes of further requests that are read ahead; behind more of them, the end isn't seen.
const AHEAD: usize = 16 << 10;

/// The state of a waiting client.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The client may still have to say something of this request, or could not make sense of a beginning: nothing
    /// is looked at.
    pub(super) off: Cell<bool>,
    /// The answer has begun.
    pub(super) begun: Cell<bool>,
    /// A client that sends no more is taken for gone.
    pub(super) is_strict: Cell<bool>,
    /// Bytes of the answer that have been sent ahead.
    pub(super) ahead: Cell<usize>,
    /// The client has said everything; when to look again whether it is still there.
    ended: RefCell<Option<Pin<Box<Sleep>>>>,
    /// Since then it has been tried to send.
    has_tried: Cell<bool>,
}

impl Watch {
    /// Another request is to be answered; `off`: don't watch (for now).
    pub(super) fn start(&self, off: bool) {
        self.off.set(off);
        self.begun.set(false);
        self.is_strict.set(false);
    }
}

impl Wire {
    /// `None`: the client went away before the future was ready.
    pub(super) async fn while_there<T>(&self, mut future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => self.poll_gone(cx).map(|()| None),
        })
        .await
    }

    fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.watch.off.get() {
            return Poll::Pending;
        }
        let mut ended = self.watch.ended.borrow_mut();
        loop {
            let tick = if let Some(timer) = &mut *ended {
                if self.watch.is_strict.get() || self.io.borrow().is_broken() {
                    return Poll::Ready(());
                }
                ready!(timer.as_mut().poll(cx));
                if self.watch.has_tried.replace(true) {
                    TICKS.1
                } else if self.send_beginning(cx) {
                    TICKS.0
                } else {
                    return Poll::Ready(());
                }
            } else if ready!(self.poll_end(cx)) {
                TICKS.0
            } else {
                return Poll::Ready(());
            };
            *ended = Some(Box::pin(tokio::time::sleep(tick)));
        }
    }

    /// Waits for the end of what the client sends; false: the connection is broken.
    fn poll_end(&self, cx: &mut Context<'_>) -> Poll<bool> {
        while self.pending.borrow().len() < AHEAD {
            match ready!(with_scratch(|scratch| {
                let read = self.io.borrow_mut().poll_read(cx, scratch);
                if let Poll::Ready(Ok(n)) = read {
                    self.pending.borrow_mut().extend_from_slice(&scratch[..n]);
                }
                read
            })) {
                Ok(0) => return Poll::Ready(true),
                Ok(_) => {}
                Err(_) => return Poll::Ready(false),
            }
        }
        Poll::Pending
    }

    fn send_beginning(&self, cx: &mut Context<'_>) -> bool {
        if self.watch.begun.get() || self.owes() {
            return true;
        }
        let mut io = self.io.borrow_mut();
        match io.poll_write(cx, &[IoSlice::new(BEGINNING)]) {
            Poll::Ready(Ok(n)) => {
                self.watch.ahead.set(n);
                !matches!(io.poll_flush(cx), Poll::Ready(Err(_)))
            }
            Poll::Ready(Err(_)) => false,
            Poll::Pending => true,
        }
    }
}
