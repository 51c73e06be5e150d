//! The unread bytes of one connection. hyper asks each stream for a piece before the client has room for it, so a client that
//! reads nothing would otherwise have some kept for each of its streams.
//!
//! A connection has [`CONNECTION`] bytes, and [`LEAST`] where its site has [no room](AllUnread::has_room). A stream beyond that takes
//! [`SMALL`] pieces if its body can be divided. Otherwise it takes the piece that there is, or waits for room while its site
//! has none. A stream never waits for others of its connection alone: their client may have paused them for hours.

use crate::limits::unread::{AllUnread, SMALL, Waiting};
use bytes::Bytes;
use hostler_wire::plan::SiteId;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

/// Bytes of a connection.
const CONNECTION: usize = 512 << 10;
/// The share that a connection has in any case: a piece of one stream.
const LEAST: usize = 64 << 10;

/// The unread bytes of a connection.
#[derive(Clone)]
pub(super) struct Unread(Arc<Connection>);

struct Connection {
    bytes: AtomicUsize,
    waiting: Mutex<Vec<Waker>>,
    all: Arc<AllUnread>,
}

impl Connection {
    fn has_room(&self, site: SiteId) -> bool {
        self.bytes.load(Relaxed) < if self.all.has_room(site) { CONNECTION } else { LEAST }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting for Connection {
    fn wake(&self) {
        self.waiting().drain(..).for_each(Waker::wake);
    }
}

impl Unread {
    pub(super) fn new(all: &Arc<AllUnread>) -> Self {
        Self(Arc::new(Connection { bytes: AtomicUsize::new(0), waiting: Mutex::default(), all: all.clone() }))
    }

    /// Waits for room, and returns the longest allowed next piece of a stream. `divides`: it can be arbitrarily short.
    pub(super) fn poll_room(&self, site: SiteId, divides: bool, cx: &Context<'_>) -> Poll<usize> {
        if self.0.has_room(site) {
            return Poll::Ready(usize::MAX);
        }
        if divides {
            return Poll::Ready(SMALL);
        }
        let mut waiting = self.0.waiting();
        // Under the lock: a piece that has gone since the first look has already woken those that waited then.
        if self.0.has_room(site) || self.0.all.has_room(site) {
            return Poll::Ready(usize::MAX);
        }
        if waiting.is_empty() {
            let connection: Weak<Connection> = Arc::downgrade(&self.0);
            self.0.all.wakes(connection);
        }
        if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Counts a piece until the last part of it has been sent or dropped.
    pub(super) fn count(&self, site: SiteId, piece: Bytes) -> Bytes {
        if piece.len() <= SMALL {
            return piece;
        }
        self.0.bytes.fetch_add(piece.len(), Relaxed);
        self.hold(site, piece, true)
    }

    /// Counts a response that is in memory as a whole: for its site, until it has been sent or dropped. Its pieces count for the
    /// connection when they are sent.
    pub(super) fn count_whole(&self, site: SiteId, whole: Bytes) -> Bytes {
        if whole.len() <= SMALL { whole } else { self.hold(site, whole, false) }
    }

    fn hold(&self, site: SiteId, piece: Bytes, is_sent: bool) -> Bytes {
        self.0.all.add(site, piece.len());
        Bytes::from_owner(Counted { piece, site, is_sent, connection: self.0.clone() })
    }
}

struct Counted {
    piece: Bytes,
    site: SiteId,
    is_sent: bool,
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
        connection.all.remove(self.site, self.piece.len());
        if self.is_sent {
            connection.bytes.fetch_sub(self.piece.len(), Relaxed);
        }
        if connection.has_room(self.site) {
            connection.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    const A: SiteId = 0;
    const B: SiteId = 1;

    fn piece(length: usize) -> Bytes {
        Bytes::from(vec![0; length])
    }

    /// Those of a server on which A has more unread than is left for others.
    fn without_room() -> (Arc<AllUnread>, Unread) {
        let all = AllUnread::new(2);
        all.add(A, 32 << 20);
        let unread = Unread::new(&all);
        (all, unread)
    }

    #[test]
    fn a_connection_without_room_takes_small_pieces_or_what_there_is() {
        let (all, cx) = (AllUnread::new(2), Context::from_waker(Waker::noop()));
        let unread = Unread::new(&all);
        let large = unread.count(A, piece(CONNECTION));
        assert_eq!(unread.poll_room(A, true, &cx), Poll::Ready(SMALL));
        assert_eq!(unread.poll_room(A, false, &cx), Poll::Ready(usize::MAX));
        let rest = large.slice(1..);
        drop(large);
        assert_eq!(unread.poll_room(A, true, &cx), Poll::Ready(SMALL));
        drop(rest);
        assert_eq!(unread.poll_room(A, true, &cx), Poll::Ready(usize::MAX));
    }

    #[test]
    fn where_a_site_has_much_each_of_its_connections_has_little() {
        let ((all, unread), cx) = (without_room(), Context::from_waker(Waker::noop()));
        assert!(unread.poll_room(A, false, &cx).is_ready());
        let held = unread.count(A, piece(LEAST));
        assert!(unread.poll_room(A, false, &cx).is_pending());
        assert_eq!(unread.poll_room(B, false, &cx), Poll::Ready(usize::MAX), "it is another site's stream");
        drop(held);
        assert!(unread.poll_room(A, false, &cx).is_ready());
        let other = Unread::new(&all);
        let _held = other.count(B, piece(LEAST));
        assert_eq!(other.poll_room(B, true, &cx), Poll::Ready(usize::MAX));
    }

    #[tokio::test]
    async fn a_stream_that_asks_again_waits_once() {
        let (_all, unread) = without_room();
        let held = unread.count(A, piece(LEAST));
        let asking = unread.clone();
        let stream = tokio::spawn(poll_fn(move |cx| {
            let _ = asking.poll_room(A, false, cx);
            asking.poll_room(A, false, cx)
        }));
        tokio::task::yield_now().await;
        assert_eq!(unread.0.waiting().len(), 1);
        drop(held);
        assert_eq!(stream.await.unwrap(), usize::MAX);
    }

    #[tokio::test]
    async fn room_that_other_connections_make_is_found() {
        let (all, unread) = without_room();
        let _held = unread.count(A, piece(LEAST));
        let asking = unread.clone();
        let stream = tokio::spawn(poll_fn(move |cx| asking.poll_room(A, false, cx)));
        tokio::task::yield_now().await;
        all.remove(A, 32 << 20);
        all.tidy();
        assert_eq!(stream.await.unwrap(), usize::MAX);
    }

    #[test]
    fn a_whole_response_counts_for_its_site_until_its_last_piece_has_gone() {
        let all = AllUnread::new(2);
        let unread = Unread::new(&all);
        let mut whole = unread.count_whole(A, piece(32 << 20));
        let sent = unread.count(A, whole.split_to(100));
        drop(whole);
        assert!(!all.has_room(A));
        drop(sent);
        assert!(all.has_room(A));
    }
}
