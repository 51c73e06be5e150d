//! `HostlerMemory`: what the processes of all pools may take together. Pools that nobody uses give way, the one that
//! was used longest ago first; they come back with their next request. Pools in use are never touched, so the budget
//! is exceeded when all are.

use super::Pool;
use super::state::Phase;
use crate::backend::Backend;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A pool that was used so lately is in use, or it would be loaded and evicted in turn under light traffic.
const LATELY: Duration = Duration::from_secs(1);

/// Memory for pools.
pub struct Budget {
    bytes: u64,
    pools: Mutex<Vec<Weak<dyn Member>>>,
}

/// A pool, whatever it speaks.
trait Member: Send + Sync {
    /// Memory of its processes, in bytes, as last looked at.
    fn memory(&self) -> u64;
    /// When it was last used, if it has processes and they are at nothing.
    fn unused_since(&self) -> Option<Instant>;
    /// Ends its processes, unless it is used again before that.
    fn evict(&self);
}

impl Budget {
    /// So many bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self { bytes, pools: Mutex::default() })
    }

    /// Half of the machine's memory.
    #[must_use]
    pub fn of_machine() -> Arc<Self> {
        let machine = rustix::system::sysinfo();
        Self::new(u64::from(machine.mem_unit) * machine.totalram / 2)
    }

    /// A pool lives on this from now on.
    pub fn admit<B: Backend>(self: &Arc<Self>, pool: &Arc<Pool<B>>) {
        if pool.budget.set(self.clone()).is_ok() {
            self.pools
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Arc::downgrade(pool) as Weak<dyn Member>);
        }
    }

    /// Evicts unused pools until the rest fits.
    pub(crate) fn enforce(&self) {
        let pools: Vec<_> = {
            let known = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().filter_map(Weak::upgrade).collect()
        };
        let mut total: u64 = pools.iter().map(|pool| pool.memory()).sum();
        if total <= self.bytes {
            return;
        }
        let mut unused: Vec<_> = pools.iter().filter_map(|pool| Some((pool.unused_since()?, pool))).collect();
        unused.sort_unstable_by_key(|(since, _)| *since);
        for (_, pool) in unused {
            if total <= self.bytes {
                return;
            }
            total = total.saturating_sub(pool.memory());
            pool.evict();
        }
    }
}

impl<B: Backend> Member for Pool<B> {
    fn memory(&self) -> u64 {
        let workers: u64 = self.lock().records.values().map(|record| record.worker.bytes.load(Relaxed)).sum();
        workers + self.facts().memory
    }

    fn unused_since(&self) -> Option<Instant> {
        let state = self.lock();
        let unused = matches!(state.phase, Phase::Ready)
            && state.is_quiet()
            && state.abandoned.is_empty()
            && state.last_use.elapsed() >= LATELY;
        unused.then_some(state.last_use)
    }

    fn evict(&self) {
        Self::evict(self);
    }
}

impl<B: Backend> Pool<B> {
    /// Ends its processes, unless it is used again before that.
    pub(super) fn evict(&self) {
        self.lock().evicted = true;
        self.attention.notify_one();
    }
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budget").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
