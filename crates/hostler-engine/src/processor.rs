//! `RLimitCPU` for a process that serves many requests: the soft limit is what each request may use, the hard limit
//! what the process may use in all. A worker that could not give the next request its full share goes in time.
//! A request that exceeds its share is ended by SIGXCPU, with its worker.

use hostler_sys::limits::{Bounds, Limit, set};
use hostler_wire::engine::Setup;
use rustix::time::{ClockId, clock_gettime};

/// The limits of this worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processor {
    /// Seconds for each request; `None`: no limit.
    each: Option<u64>,
    /// Seconds in all; `None`: no limit.
    all: Option<u64>,
}

impl Processor {
    /// Takes the limits for this process: only the hard one holds before the first request.
    pub(crate) fn new(setup: &Setup) -> Self {
        let bound = |seconds: u64| (seconds != u64::MAX).then_some(seconds);
        let (each, all) = setup.cpu.map_or((None, None), |(soft, hard)| (bound(soft), bound(hard)));
        let processor = Self { each, all };
        if processor.all.is_some() {
            processor.limit(processor.all);
        }
        processor
    }

    /// A request begins.
    pub(crate) fn begin(self) {
        if let Some(each) = self.each {
            // The second that has begun is not the request's fault.
            let soft = (used() + 1).saturating_add(each);
            self.limit(Some(self.all.map_or(soft, |all| soft.min(all))));
        }
    }

    /// Returns whether too little is left for another request.
    pub(crate) fn is_spent(self) -> bool {
        self.all.is_some_and(|all| used().saturating_add(self.each.unwrap_or(1)) > all)
    }

    fn limit(self, soft: Option<u64>) {
        // Where the operator has set less than the configuration asks for, that holds.
        let _ = set(Limit::Cpu, Bounds { soft, hard: self.all });
    }
}

/// Seconds of processor time that this process has used.
fn used() -> u64 {
    clock_gettime(ClockId::ProcessCPUTime).tv_sec.unsigned_abs()
}
