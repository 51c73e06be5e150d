//! The consequences of a child's end, and of a front's loss for its generation.

use hostler_sys::process::{ExitCause, Pid, Signal, kill, reap};
use std::time::Instant;

use crate::generation::Phase;
use crate::master::Master;
use crate::report;

impl Master {
    /// Reaps every child that has ended.
    pub(crate) fn reap_all(&mut self, now: Instant) {
        while let Some((pid, ended)) = reap() {
            if self.planning.as_ref().is_some_and(|planning| planning.pid == pid) {
                self.planner_ended(ended, now);
            } else if let Some(number) = self.generations.iter().find(|g| g.has_front(pid)).map(|g| g.number)
            {
                self.front_ended(number, ended, now);
            } else {
                // What remains are fronts that were condemned before they ended.
                self.site_ended(pid, ended, now);
            }
        }
    }

    fn planner_ended(&mut self, ended: ExitCause, now: Instant) {
        if let Some(planning) = &mut self.planning {
            planning.ended = Some(ended);
        }
        // Its last words may still be on the way in the socket.
        self.planner_said(now);
    }

    /// A front is not to be trusted any further: it is killed, and its generation goes on as if it had died.
    pub(crate) fn condemn_front(&mut self, number: u64, why: &str, now: Instant) {
        let Some(generation) = self.generations.iter().find(|g| g.number == number) else { return };
        let Some(front) = &generation.front else { return };
        kill(front.pid, Signal::KILL);
        if !matches!(generation.phase, Phase::Draining { .. }) && self.ending.is_none() {
            let pid = front.pid.as_raw_nonzero();
            report::error(&format_args!("the front of generation {number} (pid {pid}) is killed: {why}"));
        }
        self.front_gone(number, why, now);
    }

    fn front_ended(&mut self, number: u64, ended: ExitCause, now: Instant) {
        let generation = self.generations.iter().find(|g| g.number == number);
        let Some(generation) = generation else { return };
        let finished = matches!(generation.phase, Phase::Draining { .. }) && ended == ExitCause::Status(0);
        if !finished && self.ending.is_none() {
            report::error(&format_args!("the front of generation {number} {ended}"));
        }
        self.front_gone(number, &format!("its front {ended}"), now);
    }

    fn front_gone(&mut self, number: u64, why: &str, now: Instant) {
        let Some(generation) = self.generations.iter_mut().find(|g| g.number == number) else { return };
        let Some(front) = generation.front.take() else { return };
        match generation.phase {
            Phase::Starting => self.give_up(number, why),
            Phase::Serving => generation.respawn.ended(front.since, now),
            Phase::Draining { .. } => self.generations.retain(|g| g.number != number),
        }
        self.release_sites(front.pid, now);
    }

    /// Starts the front of each serving generation that has none and may have one again.
    pub(crate) fn respawn_fronts(&mut self, now: Instant) {
        if self.ending.is_some() {
            return;
        }
        for generation in
            self.generations.iter_mut().filter(|g| g.phase == Phase::Serving && g.front.is_none())
        {
            if generation.respawn.wait_until(now).is_some() {
                continue;
            }
            match self.nursery.front(generation, Vec::new(), now) {
                Ok(front) => generation.front = Some(front),
                Err(why) => {
                    generation.respawn.failed(now);
                    report::error(&why);
                }
            }
        }
    }

    /// Every child that is not on its way out already.
    pub(crate) fn all_children(&self) -> Vec<Pid> {
        let planner = self.planning.iter().map(|planning| planning.pid);
        let fronts = self.generations.iter().filter_map(|g| g.front.as_ref()).map(|front| front.pid);
        planner.chain(fronts).chain(self.sites.iter().map(|p| p.pid)).collect()
    }
}
