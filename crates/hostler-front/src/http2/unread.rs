//! Bytes of responses that hyper and h2 have and the client has not taken yet. hyper asks each stream for a piece before the
//! client has room for it, so a client that reads nothing would otherwise have some kept for each of its streams.
//!
//! A connection has [`CONNECTION`] bytes; if all connections together have [`ALL`], each has [`LEAST`]. A stream beyond that
//! waits for others of its connection, or takes [`SMALL`] pieces if its body can be divided.

use bytes::Bytes;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Bytes of a connection.
const CONNECTION: usize = 512 << 10;
/// Bytes of all connections.
const ALL: usize = 64 << 20;
/// The share that a connection has in any case: a piece of one stream.
const LEAST: usize = 64 << 10;
/// A piece for a stream whose connection has no room. What is not longer is not counted.
const SMALL: usize = 4 << 10;
/// After so many bytes of all connections, memory is given back to the kernel when they are gone.
const MANY: usize = 8 << 20;

/// The unread bytes of all connections.
#[derive(Default)]
pub(crate) struct AllUnread {
    bytes: AtomicUsize,
    /// There were [`MANY`].
    is_untidy: AtomicBool,
}

impl AllUnread {
    /// Gives memory back to the kernel that slow clients took up. To be called once in a second.
    pub(crate) fn tidy(&self) {
        if self.bytes.load(Relaxed) < MANY / 8 && self.is_untidy.swap(false, Relaxed) {
            hostler_sys::memory::give_back();
        }
    }
}

/// The unread bytes of a connection.
#[derive(Clone)]
pub(super) struct Unread(Arc<Connection>);

struct Connection {
    bytes: AtomicUsize,
    waiting: Mutex<Vec<Waker>>,
    all: Arc<AllUnread>,
}

impl Connection {
    fn most(&self) -> usize {
        if self.all.bytes.load(Relaxed) < ALL { CONNECTION } else { LEAST }
    }

    fn has_room(&self) -> bool {
        self.bytes.load(Relaxed) < self.most()
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unread {
    pub(super) fn new(all: &Arc<AllUnread>) -> Self {
        Self(Arc::new(Connection { bytes: AtomicUsize::new(0), waiting: Mutex::default(), all: all.clone() }))
    }

    /// Waits for room, and returns the longest allowed next piece of a stream. `divides`: it can be arbitrarily short.
    pub(super) fn poll_room(&self, divides: bool, cx: &Context<'_>) -> Poll<usize> {
        if self.0.has_room() {
            return Poll::Ready(usize::MAX);
        }
        if divides {
            return Poll::Ready(SMALL);
        }
        let mut waiting = self.0.waiting();
        // Under the lock: a piece that has gone since the first look has already woken those that waited then.
        if self.0.has_room() {
            return Poll::Ready(usize::MAX);
        }
        if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Counts a piece until the last part of it has been sent or dropped.
    pub(super) fn count(&self, piece: Bytes) -> Bytes {
        if piece.len() <= SMALL {
            return piece;
        }
        self.0.bytes.fetch_add(piece.len(), Relaxed);
        if self.0.all.bytes.fetch_add(piece.len(), Relaxed) > MANY {
            self.0.all.is_untidy.store(true, Relaxed);
        }
        Bytes::from_owner(Counted { piece, connection: self.0.clone() })
    }
}

struct Counted {
    piece: Bytes,
    connection: Arc<Connection>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.piece
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let connection = &self.connection;
        connection.all.bytes.fetch_sub(self.piece.len(), Relaxed);
        connection.bytes.fetch_sub(self.piece.len(), Relaxed);
        if connection.has_room() {
            connection.waiting().drain(..).for_each(Waker::wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[test]
    fn a_connection_without_room_waits_or_takes_small_pieces() {
        let (all, cx) = (Arc::default(), Context::from_waker(Waker::noop()));
        let unread = Unread::new(&all);
        let piece = |length| Bytes::from(vec![0; length]);
        let small = unread.count(piece(SMALL));
        assert_eq!(all.bytes.load(Relaxed), 0);
        let large = unread.count(piece(CONNECTION));
        assert_eq!(
            (unread.poll_room(false, &cx), unread.poll_room(true, &cx)),
            (Poll::Pending, Poll::Ready(SMALL))
        );
        let rest = large.slice(1..);
        drop((small, large));
        assert!(unread.poll_room(false, &cx).is_pending());
        drop(rest);
        assert_eq!(unread.poll_room(false, &cx), Poll::Ready(usize::MAX));
        assert!(unread.0.waiting().is_empty());
    }

    #[tokio::test]
    async fn a_stream_that_asks_again_waits_once() {
        let unread = Unread::new(&Arc::default());
        let piece = unread.count(Bytes::from(vec![0; CONNECTION]));
        let asking = unread.clone();
        let stream = tokio::spawn(poll_fn(move |cx| {
            let _ = asking.poll_room(false, cx);
            asking.poll_room(false, cx)
        }));
        tokio::task::yield_now().await;
        assert_eq!(unread.0.waiting().len(), 1);
        drop(piece);
        assert_eq!(stream.await.unwrap(), usize::MAX);
    }

    #[test]
    fn where_all_together_have_much_each_has_little() {
        let (all, cx) = (Arc::default(), Context::from_waker(Waker::noop()));
        let (first, second) = (Unread::new(&all), Unread::new(&all));
        let much = first.count(Bytes::from(vec![0; ALL]));
        assert!(second.poll_room(false, &cx).is_ready());
        let _piece = second.count(Bytes::from(vec![0; LEAST]));
        assert!(second.poll_room(false, &cx).is_pending());
        drop(much);
        assert!(second.poll_room(false, &cx).is_ready());
        assert!(all.is_untidy.load(Relaxed));
        all.tidy();
        assert!(!all.is_untidy.load(Relaxed));
    }
}
