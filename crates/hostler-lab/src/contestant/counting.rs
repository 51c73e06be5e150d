//! System calls and context switches of a contestant, counted by the kernel where that is permitted.
//!
//! Not while something is timed: open counters make every system call of the machine a little slower.

use super::start::Running;
use hostler_sys::counters::{Count, Counter};

/// Counts from its making on.
#[derive(Debug)]
pub struct Counting {
    calls: Option<Counter>,
    switches: Option<Counter>,
}

impl Running {
    /// Begins to count, for all of its processes, also those that end in between. `None`: this machine does not let us
    /// (it takes root or `CAP_PERFMON`, and control groups of version 2).
    #[must_use]
    pub fn counting(&self) -> Option<Counting> {
        let group = self.groups.of_version_2()?;
        let counter = |count| Counter::of_group(group, count).ok();
        let counting =
            Counting { calls: counter(Count::SystemCalls), switches: counter(Count::ContextSwitches) };
        (counting.calls.is_some() || counting.switches.is_some()).then_some(counting)
    }
}

impl Counting {
    /// System calls so far.
    #[must_use]
    pub fn system_calls(&self) -> Option<u64> {
        self.calls.as_ref()?.read().ok()
    }

    /// Context switches so far, voluntary and not.
    #[must_use]
    pub fn context_switches(&self) -> Option<u64> {
        self.switches.as_ref()?.read().ok()
    }
}
