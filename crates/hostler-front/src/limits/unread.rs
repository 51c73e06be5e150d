//! Bytes of responses over HTTP/2 that are in memory and that the client has not taken yet. HTTP/1 has one response for each
//! connection, of which the kernel takes most; a connection of HTTP/2 has a hundred, each with what its client does not read.
//!
//! All of them together have [`ALL`]. A site may have as much as is left for others, so responses of one site that stay unread take
//! no room from another's: one has half of it at most, two a third each. A site without room is served on with less in
//! memory: its programs wait until their output is read.

use crate::request::Request;
use hostler_http1::head::HTTP_2;
use hostler_wire::plan::SiteId;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Bytes of all sites.
const ALL: usize = 64 << 20;
/// After so many bytes of all sites, memory is given back to the kernel when they are gone.
const MANY: usize = 8 << 20;
/// The same for streams that are open.
const MANY_STREAMS: usize = 1024;

/// Shorter responses and pieces of them are not counted, and gathered in any case.
pub(crate) const SMALL: usize = 4 << 10;

/// A connection with streams that wait for room.
pub(crate) trait Waiting: Send + Sync {
    /// Lets them look for room again.
    fn wake(&self);
}

/// The unread bytes of all sites.
pub(crate) struct AllUnread {
    bytes: AtomicUsize,
    sites: Box<[AtomicUsize]>,
    /// Streams that are served or sent.
    streams: AtomicUsize,
    /// There were [`MANY`].
    is_untidy: AtomicBool,
    /// They are looked after once in a second: another connection may have made room.
    waiting: Mutex<Vec<Weak<dyn Waiting>>>,
}

impl AllUnread {
    pub(crate) fn new(sites: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes: AtomicUsize::new(0),
            sites: (0..sites).map(|_| AtomicUsize::new(0)).collect(),
            streams: AtomicUsize::new(0),
            is_untidy: AtomicBool::new(false),
            waiting: Mutex::default(),
        })
    }

    /// Returns whether the site has no more than is left for others.
    pub(crate) fn has_room(&self, site: SiteId) -> bool {
        let own = self.sites.get(site as usize).map_or(usize::MAX, |own| own.load(Relaxed));
        own < ALL.saturating_sub(self.bytes.load(Relaxed))
    }

    pub(crate) fn add(&self, site: SiteId, bytes: usize) {
        let Some(own) = self.sites.get(site as usize) else { return };
        own.fetch_add(bytes, Relaxed);
        if self.bytes.fetch_add(bytes, Relaxed) > MANY {
            self.is_untidy.store(true, Relaxed);
        }
    }

    pub(crate) fn remove(&self, site: SiteId, bytes: usize) {
        let Some(own) = self.sites.get(site as usize) else { return };
        own.fetch_sub(bytes, Relaxed);
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Counts a stream until the returned value is dropped.
    pub(crate) fn opened(self: &Arc<Self>) -> OpenStream {
        if self.streams.fetch_add(1, Relaxed) > MANY_STREAMS {
            self.is_untidy.store(true, Relaxed);
        }
        OpenStream(self.clone())
    }

    /// Wakes the connection at the next [tidying](Self::tidy).
    pub(crate) fn wakes(&self, connection: Weak<dyn Waiting>) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    /// Wakes streams that wait for room, and gives memory back to the kernel that slow clients took up. To be called once in a
    /// second.
    pub(crate) fn tidy(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.iter().filter_map(Weak::upgrade).for_each(|connection| connection.wake());
        let is_quiet = self.bytes.load(Relaxed) < MANY / 8 && self.streams.load(Relaxed) < MANY_STREAMS / 8;
        if is_quiet && self.is_untidy.swap(false, Relaxed) {
            hostler_sys::memory::give_back();
        }
    }
}

/// A stream that is served or sent.
pub(crate) struct OpenStream(Arc<AllUnread>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Relaxed);
    }
}

/// The bytes of one response that are counted, until it is dropped.
pub(crate) struct Share {
    all: Arc<AllUnread>,
    site: SiteId,
    bytes: usize,
}

impl Share {
    /// `None`: the client speaks HTTP/1.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        (request.client.version == HTTP_2).then(|| Self {
            all: request.thread.shared.of::<Arc<AllUnread>>().clone(),
            site: request.thread.shared.sites.of(&request.server),
            bytes: 0,
        })
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.all.add(self.site, bytes);
    }

    pub(crate) fn remove(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.all.remove(self.site, bytes);
    }

    pub(crate) fn has_room(&self) -> bool {
        self.all.has_room(self.site)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.remove(self.site, self.bytes);
    }
}

/// The length up to which a response of this request may be gathered as a whole, where that is `usual`.
pub(crate) fn most_gathered(request: &Request, usual: usize) -> usize {
    if Share::of(request).is_none_or(|share| share.has_room()) { usual } else { SMALL }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_without_room_leaves_as_much_to_others() {
        let all = AllUnread::new(3);
        while all.has_room(0) {
            all.add(0, 1 << 20);
        }
        assert_eq!(all.bytes.load(Relaxed), ALL / 2);
        while all.has_room(1) {
            all.add(1, 1 << 20);
        }
        assert!(all.has_room(2) && !all.has_room(0));
        all.remove(0, ALL / 2);
        assert!(all.has_room(1));
        assert!(!all.has_room(7), "there is no such site");
    }

    #[test]
    fn memory_is_given_back_when_many_streams_are_gone() {
        let all = AllUnread::new(1);
        let streams: Vec<_> = (0..MANY_STREAMS + 2).map(|_| all.opened()).collect();
        all.tidy();
        assert!(all.is_untidy.load(Relaxed));
        drop(streams);
        all.tidy();
        assert!(!all.is_untidy.load(Relaxed));
    }
}
