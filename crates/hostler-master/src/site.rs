//! Site processes: started when a front asks, counted, and ended after the front that asked has gone.

use hostler_sys::process::{Ended, Pid, Signal, SpawnError, kill};
use hostler_wire::control::FromMaster;
use hostler_wire::plan::SiteId;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::master::Master;
use crate::report;

/// Most processes of one site for one front: the one in use, and such as have not quite ended.
const MOST_PER_SITE: usize = 4;
/// A site process whose front is gone ends by itself; after this it is helped.
const GRACE: Duration = Duration::from_secs(10);
/// "Try again": what a front is told while a site is throttled.
const EAGAIN: i32 = 11;

/// A running site process.
pub(crate) struct SiteProcess {
    /// Its process id.
    pub(crate) pid: Pid,
    /// What the front calls it.
    pub(crate) number: u32,
    /// Its generation's number.
    pub(crate) generation: u64,
    /// The front that it works for.
    pub(crate) front: Pid,
    /// Which site.
    pub(crate) site: SiteId,
    /// When it was started.
    pub(crate) since: Instant,
    /// When it is killed, once its front is gone.
    pub(crate) kill_at: Option<Instant>,
}

impl Master {
    /// A front asks for a site's process. `false`: the plan has no such site.
    pub(crate) fn spawn_site(&mut self, number: u64, site: SiteId, now: Instant) -> bool {
        let Some(generation) = self.generations.iter_mut().find(|g| g.number == number) else { return true };
        let (Some(plan), Some(throttle)) =
            (generation.plan.sites.get(site as usize), generation.sites.get_mut(site as usize))
        else {
            return false;
        };
        let Some(front) = &mut generation.front else { return true };
        let running = self.sites.iter().filter(|p| p.front == front.pid && p.site == site).count();
        if running >= MOST_PER_SITE || throttle.wait_until(now).is_some() {
            front.channel.queue(FromMaster::SiteFailed(site, EAGAIN), Vec::new());
            return true;
        }
        let place = self.groups.place(plan, number).map_err(|e| SpawnError::of("cgroup", &e));
        match place.and_then(|place| Ok((self.nursery.site(plan, place.as_ref())?, place))) {
            Ok(((pid, socket), place)) => {
                let front_pid = front.pid;
                let fds = [Some(socket), place.map(|place| place.directory)]
                    .into_iter()
                    .flatten()
                    .map(Rc::new)
                    .collect();
                self.sites_started = self.sites_started.wrapping_add(1);
                let started = self.sites_started;
                front.channel.queue(FromMaster::Site { site, number: started }, fds);
                self.sites.push(SiteProcess {
                    pid,
                    number: started,
                    generation: number,
                    front: front_pid,
                    site,
                    since: now,
                    kill_at: None,
                });
            }
            Err(e) => {
                throttle.failed(now);
                front.channel.queue(FromMaster::SiteFailed(site, e.errno), Vec::new());
                report::error(&format_args!("can't start the site process of {}: {e}", plan.name));
            }
        }
        true
    }

    /// A site process has ended; `false`: it is none of ours.
    pub(crate) fn site_ended(&mut self, pid: Pid, ended: Ended, now: Instant) -> bool {
        let Some(at) = self.sites.iter().position(|p| p.pid == pid) else { return false };
        let process = self.sites.swap_remove(at);
        let generation = self.generations.iter_mut().find(|g| g.number == process.generation);
        let Some(generation) = generation else { return true };
        if process.kill_at.is_some() || self.ending.is_some() {
            return true;
        }
        let name = generation.plan.sites.get(process.site as usize).map_or("?", |site| site.name.as_str());
        if ended != Ended::Status(0) {
            report::error(&format_args!("the site process of {name} (pid {}) {ended}", pid.as_raw_nonzero()));
        }
        if let Some(throttle) = generation.sites.get_mut(process.site as usize) {
            throttle.ended(process.since, now);
        }
        true
    }

    /// The front of a generation is left waiting by one of its site processes. It may name one that has just ended.
    pub(crate) fn end_site(&self, generation: u64, number: u32) {
        let stuck = self.sites.iter().find(|p| p.generation == generation && p.number == number);
        let Some(process) = stuck else { return };
        let plan = self.generations.iter().find(|g| g.number == generation).map(|g| &g.plan);
        let name = plan.and_then(|plan| plan.sites.get(process.site as usize)).map_or("?", |site| &site.name);
        let pid = process.pid.as_raw_nonzero();
        report::error(&format_args!("the site process of {name} (pid {pid}) doesn't answer, and is killed"));
        kill(process.pid, Signal::KILL);
    }

    /// A front has gone: its sites get time to end.
    pub(crate) fn release_sites(&mut self, front: Pid, now: Instant) {
        for process in self.sites.iter_mut().filter(|p| p.front == front) {
            process.kill_at = Some(now + GRACE);
        }
    }

    /// Kills site processes whose time is over.
    pub(crate) fn kill_late_sites(&mut self, now: Instant) {
        for process in self.sites.iter_mut().filter(|p| p.kill_at.is_some_and(|at| at <= now)) {
            kill(process.pid, Signal::KILL);
            process.kill_at = Some(now + GRACE);
        }
    }
}
