//! The resources that a contestant's processes have used: exact figures from its cgroup, otherwise from `/proc`.

use super::processes::{self, Id, Stat};
use super::start::Running;
use crate::run::Cost;
use std::collections::BTreeSet;

/// The processes that were alive at the last count: counts from `/proc` of processes that have exited since are lost.
#[derive(Debug, Default)]
pub(super) struct Seen {
    processes: BTreeSet<Id>,
    children_faults: u64,
}

impl Seen {
    pub(super) fn processes(self) -> BTreeSet<Id> {
        self.processes
    }
}

impl Running {
    /// All of its processes, also those that have ended and that nobody has waited for yet.
    fn all_processes(&self) -> Vec<Stat> {
        processes::tree(self.pid(), &self.groups.members().unwrap_or_default())
    }

    /// All of its processes that have not ended.
    pub(super) fn processes(&self) -> Vec<Stat> {
        self.all_processes().into_iter().filter(|stat| !stat.zombie).collect()
    }

    pub(super) fn count(&self) -> Cost {
        let processes = self.all_processes();
        let living = || processes.iter().filter(|stat| !stat.zombie);
        let pids = || living().map(|stat| stat.id.pid);
        let memory: Vec<_> = pids().filter_map(processes::proportional_set_size).collect();
        Cost {
            processor: self.processor(&processes),
            memory: (!memory.is_empty()).then(|| memory.iter().sum()),
            processes: u32::try_from(living().count()).ok(),
            system_calls: None,
            context_switches: self.context_switches(&processes),
        }
    }

    fn processor(&self, processes: &[Stat]) -> Option<f64> {
        if let Some(time) = self.groups.processor() {
            return Some(time.as_secs_f64());
        }
        #[expect(clippy::cast_precision_loss, reason = "ticks are far below 2^52")]
        let seconds = processes.iter().map(|stat| stat.ticks as f64).sum::<f64>()
            / rustix::param::clock_ticks_per_second() as f64;
        (!processes.is_empty()).then_some(seconds)
    }

    /// `None` if a process has ended since the last time: what it had counted is gone. One that has come and gone in
    /// between is known by its page faults, which its parent has got, or by not having been waited for.
    fn context_switches(&self, processes: &[Stat]) -> Option<u64> {
        let now = Seen {
            processes: processes.iter().map(|stat| stat.id).collect(),
            children_faults: processes.iter().map(|stat| stat.children_faults).sum(),
        };
        let sum = processes.iter().map(|stat| processes::context_switches(stat.id.pid)).sum();
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let before = seen.replace(now);
        let now = seen.as_ref()?;
        let none_ended = processes.iter().all(|stat| !stat.zombie);
        let whole = none_ended
            && before.is_none_or(|before| {
                before.processes.is_subset(&now.processes) && before.children_faults == now.children_faults
            });
        (whole && !processes.is_empty()).then_some(sum)
    }
}
