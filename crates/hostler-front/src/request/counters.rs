//! Counters of responses since the start, for the status page and for metrics. Each thread counts in cells of its own,
//! so counting takes no lock and no cache line from another processor.

use hostler_gateway::pool::{BUCKETS, Histogram};
use hostler_wire::plan::SiteId;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One thread's counts.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Counters {
    sites: Box<[Cells]>,
}

#[derive(Debug, Default)]
struct Cells {
    requests: AtomicU64,
    bytes: AtomicU64,
    microseconds: AtomicU64,
    /// By the status's first digit; 0: none.
    classes: [AtomicU64; 6],
    /// Times, by bucket of [`BUCKETS`], and above.
    times: [AtomicU64; BUCKETS.len() + 1],
}

/// Sums over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Answers.
    pub(crate) requests: u64,
    /// Bytes sent, heads included.
    pub(crate) bytes: u64,
    /// Time from a request's first byte to its answer's last, summed, in microseconds.
    pub(crate) microseconds: u64,
    /// Answers by the status's first digit.
    pub(crate) classes: [u64; 6],
    /// The same times by bucket of [`BUCKETS`], and above.
    pub(crate) times: [u64; BUCKETS.len() + 1],
}

impl Totals {
    /// The distribution of the times.
    pub(crate) fn latency(&self) -> Histogram {
        Histogram { counts: self.times, sum: self.microseconds }
    }
}

impl Counters {
    /// Zeros for this many sites.
    pub(crate) fn new(sites: usize) -> Self {
        Self { sites: (0..sites).map(|_| Cells::default()).collect() }
    }

    /// Notes an answer. Only the thread that owns the counts calls this, so no addition is lost.
    pub(crate) fn answered(&self, site: SiteId, status: u16, bytes: u64, microseconds: u64) {
        let Some(cells) = self.sites.get(site as usize) else { return };
        let add = |cell: &AtomicU64, n: u64| cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
        add(&cells.requests, 1);
        add(&cells.bytes, bytes);
        add(&cells.microseconds, microseconds);
        add(&cells.classes[usize::from(status / 100).min(5)], 1);
        add(&cells.times[BUCKETS.partition_point(|bound| *bound < microseconds)], 1);
    }
}

/// The sums of all threads for a site.
pub(crate) fn of_site(threads: &[Counters], site: SiteId) -> Totals {
    let mut totals = Totals::default();
    for cells in threads.iter().filter_map(|counters| counters.sites.get(site as usize)) {
        totals.requests += cells.requests.load(Relaxed);
        totals.bytes += cells.bytes.load(Relaxed);
        totals.microseconds += cells.microseconds.load(Relaxed);
        for (sum, class) in totals.classes.iter_mut().zip(&cells.classes) {
            *sum += class.load(Relaxed);
        }
        for (sum, time) in totals.times.iter_mut().zip(&cells.times) {
            *sum += time.load(Relaxed);
        }
    }
    totals
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum.requests += one.requests;
            sum.bytes += one.bytes;
            sum.microseconds += one.microseconds;
            sum.classes.iter_mut().zip(one.classes).for_each(|(sum, class)| *sum += class);
            sum.times.iter_mut().zip(one.times).for_each(|(sum, time)| *sum += time);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up_site_by_site() {
        let threads = [Counters::new(2), Counters::new(2)];
        threads[0].answered(1, 200, 10, 5);
        threads[1].answered(1, 502, 20, 5);
        threads[1].answered(0, 304, 1, 1);
        let site = of_site(&threads, 1);
        assert_eq!((site.requests, site.bytes, site.classes), (2, 30, [0, 0, 1, 0, 0, 1]));
        let all: Totals = [0, 1].into_iter().map(|id| of_site(&threads, id)).sum();
        assert_eq!((all.requests, all.microseconds), (3, 11));
        threads[0].answered(0, 200, 1, 300);
        threads[0].answered(0, 200, 1, u64::MAX / 2);
        let times = of_site(&threads, 0).latency().counts;
        assert_eq!((times[0], times[3], times[BUCKETS.len()]), (1, 1, 1));
    }
}
