//! Counting system calls and context switches. Not while a rate is measured: counting makes a server a little slower,
//! with strace several times.

use super::start::Running;
use super::tracer::Tracer;
use hostler_sys::counters::{Count, Counter};

/// Counts from its making on.
#[derive(Debug)]
pub struct Counting {
    calls: Option<Counter>,
    switches: Option<Counter>,
    tracer: Option<Tracer>,
}

/// Counts; `None`: this machine does not permit counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// System calls.
    pub system_calls: Option<u64>,
    /// Context switches, voluntary and not.
    pub context_switches: Option<u64>,
}

impl Running {
    /// Begins to count, for all of its processes, also those that end in between. By the kernel's counters, which take
    /// root or `CAP_PERFMON` and control groups of version 2; else system calls with strace, where that is installed and
    /// may trace. `None`: neither.
    #[must_use]
    pub fn counting(&self) -> Option<Counting> {
        let counter = |count| Counter::of_group(self.groups.of_version_2()?, count).ok();
        let (calls, switches) = (counter(Count::SystemCalls), counter(Count::ContextSwitches));
        let tracer = if calls.is_none() { self.trace() } else { None };
        let counts = calls.is_some() || switches.is_some() || tracer.is_some();
        // strace makes switches of its own.
        let switches = switches.filter(|_| tracer.is_none());
        counts.then_some(Counting { calls, switches, tracer })
    }

    pub(super) fn trace(&self) -> Option<Tracer> {
        Tracer::attach(|| self.processes().into_iter().map(|stat| stat.id.pid).collect())
    }
}

impl Counting {
    /// Returns whether it is done by strace.
    #[must_use]
    pub const fn by_strace(&self) -> bool {
        self.tracer.is_some()
    }

    /// Ends it: what there was since it began.
    #[must_use]
    pub fn end(self) -> Counts {
        let read = |counter: Option<Counter>| counter.and_then(|counter| counter.read().ok());
        let traced = self.tracer.and_then(Tracer::end);
        Counts { system_calls: read(self.calls).or(traced), context_switches: read(self.switches) }
    }
}
