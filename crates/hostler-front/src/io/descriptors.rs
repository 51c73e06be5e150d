//! The last descriptors that the front may have: for whom they are kept.
//!
//! The first to be refused is a site whose process does not run yet; then new connections wait in the kernel's queue;
//! what is left serves those who are here: files, pipes, further connections to sites.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Kept at most, of however many.
const RESERVE: usize = 64;

/// The limit and number of the front's descriptors.
#[derive(Debug)]
pub(crate) struct Descriptors {
    most: usize,
    /// Its size is how many there are, since Linux 6.2.
    open: Option<File>,
}

impl Descriptors {
    /// `most`: the limit of this process (`RLIMIT_NOFILE`).
    pub(crate) fn new(most: u64) -> Self {
        let open = File::open("/proc/self/fd").ok();
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        Self { most, open: open.filter(|open| count(open).is_some()) }
    }

    /// So many connections may be open: as many descriptors again are for what their requests need.
    pub(crate) fn connections(&self) -> usize {
        (self.most / 2).max(1)
    }

    /// So many may be connections to programs that answer requests. What is left of the half that is for requests is for files
    /// and pipes.
    pub(crate) fn for_programs(&self) -> usize {
        (self.most / 8 * 3).max(1)
    }

    /// Whether, behind `newest`, there are enough for a connection more.
    pub(crate) fn suffice_for_connections(&self, newest: &impl AsRawFd) -> bool {
        self.taken(newest) <= self.most - self.reserve() / 2
    }

    /// Returns whether there are enough for a site more. `any` is an open one, to be copied.
    ///
    /// # Errors
    /// There are none at all.
    pub(crate) fn suffice_for_another_site(&self, any: BorrowedFd<'_>) -> io::Result<bool> {
        Ok(self.taken(&any.try_clone_to_owned()?) <= self.most - self.reserve())
    }

    /// Returns the number of open ones; without the kernel's help a lower bound, as it gives out the lowest free
    /// number.
    fn taken(&self, newest: &impl AsRawFd) -> usize {
        let number = || usize::try_from(newest.as_raw_fd()).map_or(0, |number| number + 1);
        self.open.as_ref().and_then(count).unwrap_or_else(number)
    }

    fn reserve(&self) -> usize {
        (self.most / 6).min(RESERVE)
    }
}

fn count(open: &File) -> Option<usize> {
    let size = open.metadata().ok()?.len();
    usize::try_from(size).ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    struct Descriptor(i32);

    impl AsRawFd for Descriptor {
        fn as_raw_fd(&self) -> i32 {
            self.0
        }
    }

    #[test]
    fn the_last_ones_are_kept_for_those_who_are_here() {
        let of = |most| Descriptors { open: None, ..Descriptors::new(most) };
        let suffice = |most, number| of(most).suffice_for_connections(&Descriptor(number));
        assert!(suffice(60, 54) && !suffice(60, 55));
        assert!(suffice(100_000, 99_967) && !suffice(100_000, 99_968));
        assert_eq!((of(60).connections(), of(0).connections()), (30, 1));
    }

    #[test]
    fn a_site_more_needs_more_than_a_connection() {
        let file = File::open("/").unwrap();
        assert!(Descriptors::new(u64::MAX).suffice_for_another_site(file.as_fd()).unwrap());
        assert!(!Descriptors::new(3).suffice_for_another_site(file.as_fd()).unwrap());
    }
}
