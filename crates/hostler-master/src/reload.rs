//! From plan to serving: a new generation begins, reports ready and takes over, or fails and leaves the one
//! before it as it was.

use hostler_sys::process::{Signal, kill};
use hostler_wire::control::FromFront;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::control::FrontMessage;
use crate::generation::{Generation, Phase};
use crate::listen::Listener;
use crate::master::Master;
use crate::pid_file::{self, PidFile};
use crate::plan::WholePlan;
use crate::report;

/// The time a front may live without its control socket.
const LAST_MOMENT: Duration = Duration::from_secs(1);

impl Master {
    /// Starts the planner, unless a new generation is on its way already: then once more after that one.
    pub(crate) fn begin_reload(&mut self, now: Instant) {
        let is_starting = self.generations.iter().any(|g| g.phase == Phase::Starting);
        let busy = self.planning.is_some() || self.handover.is_some() || is_starting;
        self.reload_wanted = busy;
        if busy || self.ending.is_some() {
            return;
        }
        if self.generations.iter().any(|g| g.phase == Phase::Serving) {
            self.manager.reloading();
        }
        match self.nursery.planner(&self.known_logs(), now) {
            Ok(planning) => self.planning = Some(planning),
            Err(why) => self.no_new_generation(1, &why),
        }
    }

    /// Reads from the planner, and goes on with its plan when that is whole.
    pub(crate) fn planner_said(&mut self, now: Instant) {
        let Some(planning) = &mut self.planning else { return };
        if let Err(why) = planning.read() {
            kill(planning.pid, Signal::KILL);
            self.planning = None;
            self.no_new_generation(1, &why);
        } else {
            self.plan_arrived(now);
        }
    }

    /// Begins the new generation when its plan is whole and the planner has ended.
    pub(crate) fn plan_arrived(&mut self, now: Instant) {
        let Some(planning) = self.planning.take_if(|planning| planning.is_over()) else { return };
        let refusal = planning.refusal.clone();
        let begun = planning.finish(self.root).and_then(|plan| self.begin(plan, now).map_err(|why| (1, why)));
        if let Err((status, why)) = begun {
            self.not_begun(status, &why, refusal.as_deref().unwrap_or(&why));
        }
    }

    fn begin(&mut self, planned: WholePlan, now: Instant) -> Result<(), String> {
        // Before anything is bound or started: what another server has written tells best why this one can't be.
        if let Some(path) = planned.plan.master.pid_file.as_deref().map(Path::new)
            && self.pid_file.as_ref().map(PidFile::path) != Some(path)
        {
            pid_file::must_be_free(path, self.root)?;
        }
        self.nursery.hold(&planned.plan.master.engines)?;
        let bound: Vec<Listener> =
            self.generations.iter().flat_map(|g| g.listeners.iter().cloned()).collect();
        let mut generation = Generation::new(self.next_number, planned, &bound)?;
        self.groups.prepare(&generation.plan);
        let (processes, messages) = self.sites_for(&mut generation);
        let front = self.nursery.front(&generation, messages, now)?;
        self.use_sites(&processes, generation.number, front.pid);
        self.next_number += 1;
        generation.front = Some(front);
        self.generations.push(generation);
        self.flush();
        Ok(())
    }

    /// The new generation can't be: the old one goes on, or without one the master ends with `status`.
    pub(crate) fn no_new_generation(&mut self, status: u8, why: &str) {
        self.not_begun(status, why, why);
    }

    /// The same, with other reasons for `hostler reload`, which does not see what the planner has printed.
    fn not_begun(&mut self, status: u8, why: &str, reasons: &str) {
        if let Some(serving) = self.generations.iter().find(|g| g.phase == Phase::Serving) {
            let number = serving.number;
            self.manager.ready(&format!("generation {number} goes on serving: {why}").replace('\n', " "));
            report::error(&format_args!("{why}; generation {number} goes on serving"));
            // Whoever waits for the outcome (`hostler reload`) sees that there is one.
            let path = self.pid_file.as_ref().map(|file| file.path().to_path_buf());
            self.write_pid_file(number, path, &format!("failed\n{reasons}\n"));
            self.end_unreplaced(Instant::now());
        } else if self.ending.is_none() {
            report::fatal(&why);
            self.end_with(status);
        }
    }

    /// A generation that has not become ready is given up.
    pub(crate) fn give_up(&mut self, number: u64, why: &str) {
        if let Some(at) = self.generations.iter().position(|g| g.number == number) {
            let generation = self.generations.remove(at);
            if let Some(front) = generation.front {
                kill(front.pid, Signal::KILL);
            }
            self.no_new_generation(1, &format!("generation {number} is given up: {why}"));
        }
    }

    /// Hears what the front of a generation has said, up to a bound, so that no front keeps the master busy.
    pub(crate) fn front_said(&mut self, number: u64, now: Instant) {
        for _ in 0..64 {
            let heard =
                match self.generations.iter().find(|g| g.number == number).and_then(|g| g.front.as_ref()) {
                    Some(front) => front.channel.hear(),
                    None => return,
                };
            match heard {
                FrontMessage::Nothing => return,
                FrontMessage::Message(FromFront::Ready) => self.front_ready(number, now),
                FrontMessage::Message(FromFront::SpawnSite(site)) => {
                    if !self.spawn_site(number, site, now) {
                        return self.condemn_front(
                            number,
                            "it asked for a site that the plan does not have",
                            now,
                        );
                    }
                }
                FrontMessage::Message(FromFront::EndSite(process)) => self.end_site(number, process),
                FrontMessage::Message(FromFront::Released) => self.front_released(number),
                FrontMessage::Message(FromFront::Alive) => self.front_lives(number, now),
                FrontMessage::Message(FromFront::Stuck(thread)) => {
                    if !self.front_stuck(number, thread, now) {
                        return self.condemn_front(number, "it named a thread that it does not have", now);
                    }
                }
                FrontMessage::Malformed(why) => return self.condemn_front(number, why, now),
                FrontMessage::Closed => return self.front_closed(number, now),
            }
        }
    }

    /// A front without a control socket is of no use. It gets a moment to end by itself, so that its status tells
    /// the cause; one that drains needs nothing more from us.
    fn front_closed(&mut self, number: u64, now: Instant) {
        let generation = self.generations.iter_mut().find(|g| g.number == number);
        if let Some(front) = generation.and_then(|g| g.front.as_mut()) {
            front.closed = true;
            front.ready_by = Some(now + LAST_MOMENT);
        }
    }

    fn front_ready(&mut self, number: u64, now: Instant) {
        let Some(generation) = self.generations.iter_mut().find(|g| g.number == number) else { return };
        if let Some(front) = &mut generation.front {
            front.ready_by = None;
        }
        match generation.phase {
            Phase::Starting => {}
            // A front that stands in for one that was lost.
            Phase::Serving => return self.offer_status(number, now),
            Phase::Draining { .. } => return,
        }
        generation.phase = Phase::Serving;
        let path = generation.plan.pid_file.clone().map(PathBuf::from);
        report::info(&format_args!("generation {number} serves"));
        if !self.has_served {
            generation.plan.told.iter().for_each(|line| report::plainly(line));
        }
        self.has_served = true;
        self.take_over(number, path, now);
    }

    pub(crate) fn write_pid_file(&mut self, number: u64, path: Option<PathBuf>, outcome: &str) {
        let old = self.pid_file.take();
        if let Some(old) = old.filter(|old| path.as_deref() != Some(old.path())) {
            old.remove();
        }
        match path.map(|path| PidFile::write(&path, self.root, outcome)) {
            None => {}
            Some(Ok(file)) => self.pid_file = Some(file),
            Some(Err(why)) if number == 1 && self.next_number == 2 => {
                report::fatal(&why);
                self.end_with(1);
            }
            Some(Err(why)) => report::error(&why),
        }
    }
}
