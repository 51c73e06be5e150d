//! Connections to programs: how many of them a site may have. Each takes a descriptor of the front, and memory for the request
//! that runs over it, so both bound them. No protocol has a number of its own beside that.
//!
//! Several sites together may have three eighths of all descriptors, one of them two thirds of that. The last quarter is for
//! sites that have few, so that a site whose clients hold all they can leaves the others able to answer.

use crate::io::descriptors::Descriptors;
use hostler_wire::plan::SiteId;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that a request takes in the front while its program says nothing, with its client's connection.
const EACH: usize = 32 << 10;
/// The share of the machine's memory that all of them may use: a quarter.
const MEMORY_SHARE: usize = 4;

/// The connections of all sites.
#[derive(Debug)]
pub(crate) struct Places {
    sites: Box<[AtomicUsize]>,
    all: AtomicUsize,
    /// Most of all sites together.
    most: usize,
}

impl Places {
    /// For so many sites.
    pub(crate) fn new(sites: usize, descriptors: &Descriptors) -> Arc<Self> {
        let machine = rustix::system::sysinfo();
        let bytes = machine.totalram as u64 * u64::from(machine.mem_unit);
        let memory = usize::try_from(bytes).unwrap_or(usize::MAX) / MEMORY_SHARE / EACH;
        Self::of(sites, descriptors.for_programs().min(memory))
    }

    fn of(sites: usize, most: usize) -> Arc<Self> {
        let sites = (0..sites).map(|_| AtomicUsize::new(0)).collect();
        Arc::new(Self { sites, all: AtomicUsize::new(0), most: most.max(4) })
    }

    /// Most of one site.
    pub(crate) fn most_of_site(&self) -> usize {
        if self.sites.len() > 1 { self.most * 2 / 3 } else { self.most }
    }

    /// Returns how many more a site may have now.
    fn room(&self, site: SiteId) -> usize {
        let own = self.sites.get(site as usize).map_or(usize::MAX, |own| own.load(Relaxed));
        let of_site = self.most_of_site().saturating_sub(own);
        let of_all = self.most.saturating_sub(self.all.load(Relaxed));
        let kept = if own < self.most / 16 || self.sites.len() == 1 { 0 } else { self.most / 4 };
        of_site.min(of_all.saturating_sub(kept))
    }

    fn change(&self, site: SiteId, from: usize, to: usize) {
        for count in self.sites.get(site as usize).into_iter().chain([&self.all]) {
            if to >= from {
                count.fetch_add(to - from, Relaxed);
            } else {
                count.fetch_sub(from - to, Relaxed);
            }
        }
    }

    /// Takes one for a connection that belongs to no pool; `None`: the site has as many as it may.
    pub(crate) fn take(self: &Arc<Self>, site: SiteId) -> Option<Held> {
        if self.room(site) == 0 {
            return None;
        }
        let held = Held::new(self, site);
        held.set(1);
        Some(held)
    }
}

/// Places of one pool, or of one connection; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    places: Arc<Places>,
    site: SiteId,
    count: Cell<usize>,
}

impl Held {
    /// None yet.
    pub(crate) fn new(places: &Arc<Places>, site: SiteId) -> Self {
        Self { places: places.clone(), site, count: Cell::new(0) }
    }

    fn set(&self, count: usize) {
        self.places.change(self.site, self.count.replace(count), count);
    }

    /// So many are there; how many more there may be.
    pub(crate) fn room(&self, count: usize) -> usize {
        self.set(count);
        self.places.room(self.site)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_leaves_room_for_others() {
        let places = Places::of(3, 96);
        let pools: Vec<_> = (0..3).map(|site| Held::new(&places, site)).collect();
        assert_eq!(pools[0].room(0), 64);
        // The first has all that it may have.
        assert_eq!((pools[0].room(64), pools[1].room(0)), (0, 32));
        // A second one stops where the last quarter begins, and a third has that.
        assert_eq!((pools[1].room(8), pools[2].room(0)), (0, 24));
        assert!(places.take(1).is_none());
        let socket = places.take(2).unwrap();
        assert_eq!(pools[2].room(0), 23);
        drop(socket);
        assert_eq!(pools[0].room(10), 54);
        drop(pools);
        assert_eq!(places.all.load(Relaxed), 0);
    }

    #[test]
    fn the_only_site_may_have_all() {
        let places = Places::of(1, 96);
        assert_eq!(Held::new(&places, 0).room(95), 1);
    }
}
