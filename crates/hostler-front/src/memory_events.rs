//! Whether the kernel has ended processes of a site because it had reached `HostlerSiteMemory`: the count in its
//! control group, which the master passes with the site's socket. The kernel alone writes it.

use hostler_sys::cgroup::out_of_memory_kills;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a rise of the count explains deaths: several may come at a time.
const FRESH: Duration = Duration::from_secs(2);

/// One site's.
#[derive(Default)]
pub(crate) struct MemoryEvents(Mutex<Known>);

#[derive(Default)]
struct Known {
    file: Option<OwnedFd>,
    seen: u64,
    rose: Option<Instant>,
}

impl MemoryEvents {
    /// Takes the file of the site's group. It may be another group than before, which counts from 0.
    pub(crate) fn watch(&self, file: OwnedFd) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = out_of_memory_kills(&file).unwrap_or(0);
        known.seen = if known.file.is_some() { known.seen.min(count) } else { count };
        known.file = Some(file);
    }

    /// Whether the count has just risen.
    pub(crate) fn have_risen(&self) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = known.file.as_ref().and_then(|file| out_of_memory_kills(file).ok()).unwrap_or(0);
        if count > known.seen {
            known.seen = count;
            known.rose = Some(Instant::now());
        }
        known.rose.is_some_and(|rose| rose.elapsed() < FRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(count: u64) -> OwnedFd {
        hostler_sys::memfd::sealed("memory.events", format!("oom 0\noom_kill {count}\n").as_bytes()).unwrap()
    }

    #[test]
    fn only_a_rise_counts() {
        let events = MemoryEvents::default();
        assert!(!events.have_risen());
        events.watch(file(3));
        assert!(!events.have_risen(), "that was before");
        events.watch(file(4));
        assert!(events.have_risen() && events.have_risen());
        let other = MemoryEvents::default();
        other.watch(file(3));
        other.watch(file(0));
        assert!(!other.have_risen());
        other.watch(file(1));
        assert!(other.have_risen(), "a new group counts anew");
    }
}
