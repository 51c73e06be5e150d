//! A site's cgroup, whose directory the master passes with the site's socket: its processes' use of their limits
//! (`HostlerSiteMemory`, `HostlerSiteCPU`, `HostlerSiteTasks`), and whether the kernel has just killed one of them for
//! lack of memory. Only the kernel writes there.

use hostler_sys::cgroup::{Controller, Group, out_of_memory_kills, usage};
use hostler_wire::plan;
use hostler_wire::report::{Limits, Usage};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time in which a rise of the count explains deaths: several may come at a time.
const FRESH: Duration = Duration::from_secs(2);
/// Why the limits do not hold where the machine would let them.
const ELSEWHERE: &str = "the server has said why on its standard error when it was started";

/// One site's.
#[derive(Default)]
pub(crate) struct SiteLimits {
    planned: plan::SiteLimits,
    known: Mutex<LimitState>,
}

#[derive(Default)]
struct LimitState {
    /// A process of the site was started by this front.
    started: bool,
    directory: Option<OwnedFd>,
    seen: u64,
    rose: Option<Instant>,
}

impl SiteLimits {
    pub(crate) fn new(planned: plan::SiteLimits) -> Self {
        Self { planned, known: Mutex::default() }
    }

    /// The site was started; `directory`: that of its group. It may be another group than before, which counts from 0.
    pub(crate) fn started(&self, directory: Option<OwnedFd>) {
        let mut known = self.known();
        known.started = true;
        let Some(directory) = directory else { return };
        let count = out_of_memory_kills(&directory).unwrap_or(0);
        known.seen = if known.directory.is_some() { known.seen.min(count) } else { count };
        known.directory = Some(directory);
    }

    /// Returns whether the kernel has just ended a process of the site for want of memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let mut known = self.known();
        let count = known.directory.as_ref().and_then(|at| out_of_memory_kills(at).ok()).unwrap_or(0);
        known.rises_to(count)
    }

    /// Returns the use of each limit. `why_not`: the reason why limits are not enforced on this machine.
    pub(crate) fn report(&self, why_not: Option<&str>) -> Limits {
        let known = self.known();
        match &known.directory {
            _ if self.planned.is_none() => Limits::None,
            Some(directory) => usage(directory).map_or(Limits::Unused, |usage| Limits::Held(told(usage))),
            None if known.started => Limits::NotHere(why_not.unwrap_or(ELSEWHERE).to_owned()),
            None => why_not.map_or(Limits::Unused, |why| Limits::NotHere(why.to_owned())),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, LimitState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LimitState {
    fn rises_to(&mut self, count: u64) -> bool {
        if count > self.seen {
            self.seen = count;
            self.rose = Some(Instant::now());
        }
        self.rose.is_some_and(|rose| rose.elapsed() < FRESH)
    }
}

fn told(usage: hostler_sys::cgroup::Usage) -> Usage {
    let hostler_sys::cgroup::Usage { memory, memory_max, processor, processor_max, tasks, tasks_max } = usage;
    Usage { memory, memory_max, processor, processor_max, tasks, tasks_max }
}

/// Why this machine, or the group that the server was started in, can't hold sites to such limits; `None`: it could.
pub(crate) fn why_not_here(all: &[plan::SiteLimits]) -> Option<String> {
    let needs = |of: fn(&plan::SiteLimits) -> bool| all.iter().any(of);
    let needed = [
        (Controller::Memory, needs(|limits| limits.memory.is_some())),
        (Controller::Cpu, needs(|limits| limits.cpu.is_some())),
        (Controller::Pids, needs(|limits| limits.tasks.is_some())),
    ];
    let needed: Vec<Controller> = needed.into_iter().filter(|(_, is)| *is).map(|(c, _)| c).collect();
    if needed.is_empty() {
        return None;
    }
    let missing = match Group::own() {
        Ok(own) => own.lacks(&needed),
        Err(why) => Some(why),
    };
    missing.map(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: plan::SiteLimits = plan::SiteLimits { memory: None, cpu: None, tasks: Some(50) };

    #[test]
    fn only_a_rise_counts() {
        let mut known = LimitState { seen: 3, ..LimitState::default() };
        assert!(!known.rises_to(3), "that was before");
        assert!(known.rises_to(4) && known.rises_to(4));
        let mut other = LimitState { seen: 3, ..LimitState::default() };
        assert!(!other.rises_to(0));
    }

    #[test]
    fn what_does_not_hold_says_why() {
        assert_eq!(SiteLimits::default().report(Some("why")), Limits::None, "nothing was asked for");
        let limits = SiteLimits::new(SOME);
        assert_eq!(limits.report(None), Limits::Unused);
        assert_eq!(limits.report(Some("why")), Limits::NotHere("why".to_owned()));
        limits.started(None);
        assert_eq!(limits.report(None), Limits::NotHere(ELSEWHERE.to_owned()));
        assert!(!limits.ran_out_of_memory());
    }

    #[test]
    fn a_group_that_is_gone_is_not_used() {
        let limits = SiteLimits::new(SOME);
        limits.started(std::fs::File::open("/proc").ok().map(OwnedFd::from));
        assert_eq!(limits.report(Some("why")), Limits::Unused);
    }

    #[test]
    fn where_nothing_is_asked_for_nothing_is_missing() {
        assert_eq!(why_not_here(&[plan::SiteLimits::default()]), None);
    }
}
