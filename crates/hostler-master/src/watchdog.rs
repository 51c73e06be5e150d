//! Fronts that stand still: one says of itself that a thread of it does, or none of its threads says anything any more.
//!
//! Where only a thread is stuck the others go on serving, so a new generation is begun and the front drains, for a short
//! while; it is killed then, or at once where there is no new generation. A front that is silent is killed: nobody is
//! served by it. The sockets that it listened on stay open in either case, so that no client is refused.

use hostler_sys::process::Pid;
use std::time::{Duration, Instant};

use crate::generation::Phase;
use crate::master::Master;
use crate::report;

/// The longest silence of a front, which normally reports every second.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);
/// The time that the other threads of a front with a stuck one have to finish open requests.
const LAST_REQUESTS: Duration = Duration::from_secs(10);
/// The time limit for a new generation to be ready before a front with a stuck thread is killed without one.
const REPLACED: Duration = Duration::from_secs(30);
/// The least time between new generations because of stuck threads. No front can notice one sooner, so one that reports
/// again and again is left to its end.
const RELIEF: Duration = Duration::from_secs(5);
/// With a delay of so much in its own loop, the master can't tell who else has been late.
const OWN_DELAY: Duration = Duration::from_secs(2);

/// The master's knowledge of a front's life.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// When it last said that it is alive; `None`: it never has.
    heard: Option<Instant>,
    /// By when it is to be gone, because a thread of it is stuck.
    pub(crate) doomed: Option<Instant>,
}

impl Life {
    /// When its silence has lasted too long.
    pub(crate) fn silent_at(&self) -> Option<Instant> {
        self.heard.map(|heard| heard + SILENCE)
    }
}

impl Master {
    /// A front has said that all of its threads go on, or some of them.
    pub(crate) fn front_lives(&mut self, number: u64, now: Instant) {
        let generation = self.generations.iter_mut().find(|g| g.number == number);
        if let Some(front) = generation.and_then(|g| g.front.as_mut()) {
            front.life.heard = Some(now);
        }
    }

    /// A front has said that a thread of it is stuck. Returns whether it is one of its threads.
    pub(crate) fn front_stuck(&mut self, number: u64, thread: u32, now: Instant) -> bool {
        self.front_lives(number, now);
        let Some(generation) = self.generations.iter_mut().find(|g| g.number == number) else { return true };
        let Some(front) = generation.front.as_mut().filter(|front| front.life.doomed.is_none()) else {
            return true;
        };
        if !std::fs::exists(format!("/proc/{}/task/{thread}", front.pid.as_raw_nonzero())).unwrap_or(false) {
            return false;
        }
        front.life.doomed = Some(now + REPLACED);
        let pid = front.pid;
        report::error(&format_args!(
            "thread {thread} of the front of generation {number} (pid {}) stands still: {}; a new generation takes its place",
            pid.as_raw_nonzero(),
            stands(pid, thread)
        ));
        match &mut generation.phase {
            Phase::Serving if may_relieve(self.relieved, now) => {
                self.relieved = Some(now);
                self.begin_reload(now);
            }
            Phase::Serving => {}
            Phase::Draining { until } => *until = (*until).min(now + LAST_REQUESTS),
            Phase::Starting => {}
        }
        true
    }

    /// Ends fronts that are silent, and those with a stuck thread whose time is up.
    pub(crate) fn end_stuck_fronts(&mut self, now: Instant) {
        let slept = now.saturating_duration_since(self.awake) > SILENCE + OWN_DELAY;
        self.awake = now;
        let mut over = Vec::new();
        for generation in &mut self.generations {
            let Some(front) = &mut generation.front else { continue };
            if slept {
                front.life.heard = front.life.heard.map(|_| now);
            }
            if front.life.doomed.is_some_and(|at| at <= now) {
                over.push((generation.number, front.pid, "a thread of it stands still"));
            } else if front.life.silent_at().is_some_and(|at| at <= now) {
                over.push((generation.number, front.pid, "it has given no sign of life"));
            }
        }
        for (number, pid, why) in over {
            report::error(&format_args!(
                "the front of generation {number}: {}",
                stands(pid, pid_number(pid))
            ));
            self.condemn_front(number, why, now);
        }
    }

    /// Tells the service manager, if it wants to know, that the server goes on: so does this loop, and a front that
    /// serves or is on its way. A server without any is silent, and in the end the manager's to start anew.
    pub(crate) fn give_sign(&mut self, now: Instant) {
        let Some(patience) = self.manager.watchdog() else { return };
        if self.next_sign.is_some_and(|at| at > now) {
            return;
        }
        self.next_sign = Some(now + patience / 4);
        let fronts = self.generations.iter().filter_map(|g| g.front.as_ref());
        if self.ending.is_some() || self.planning.is_some() || fronts.count() > 0 {
            self.manager.alive();
        }
    }

    /// There is no new generation to take the place of a front with a stuck thread.
    pub(crate) fn end_unreplaced(&mut self, now: Instant) {
        let stuck = |g: &&mut crate::generation::Generation| g.phase == Phase::Serving;
        for generation in self.generations.iter_mut().filter(stuck) {
            if let Some(front) = generation.front.as_mut().filter(|front| front.life.doomed.is_some()) {
                front.life.doomed = Some(now);
            }
        }
    }
}

/// Returns whether a new generation may be begun for a stuck thread; `last`: when the last one was.
fn may_relieve(last: Option<Instant>, now: Instant) -> bool {
    last.is_none_or(|last| now.saturating_duration_since(last) >= RELIEF)
}

/// Returns the time a front has that begins to drain with a stuck thread.
pub(crate) fn last_requests(life: &Life, now: Instant) -> Option<Instant> {
    life.doomed.map(|_| now + LAST_REQUESTS)
}

fn pid_number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// Describes the position of a child's thread in the kernel's words: its state, what it waits for, its system call with
/// the arguments, and the kernel's stack. What the kernel does not reveal (without root) is left out.
fn stands(pid: Pid, thread: u32) -> String {
    let read = |name: &str| {
        let told = std::fs::read_to_string(format!("/proc/{}/task/{thread}/{name}", pid.as_raw_nonzero()));
        told.unwrap_or_default().trim().replace('\n', ", ")
    };
    let status = read("status");
    let state = status
        .split(", ")
        .find_map(|line| line.strip_prefix("State:"))
        .unwrap_or("unknown")
        .trim()
        .to_owned();
    let told =
        [("waits in", read("wchan")), ("system call", read("syscall")), ("kernel stack", read("stack"))];
    let told = told.iter().filter(|(_, text)| !text.is_empty() && text != "0");
    told.fold(format!("state {state}"), |all, (what, text)| format!("{all}; {what} {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fronts_that_call_themselves_stuck_at_once_cause_no_circle_of_generations() {
        let now = Instant::now();
        assert!(may_relieve(None, now));
        assert!(!may_relieve(Some(now), now) && !may_relieve(Some(now), now + RELIEF / 2));
        assert!(may_relieve(Some(now), now + RELIEF));
    }
}
