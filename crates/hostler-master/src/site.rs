//! Site processes: started when a front asks, counted, handed over to the front of the next generation where that has
//! the same site, and ended after the last front that used them has gone.

use hostler_sys::process::{ExitCause, Pid, Signal, SpawnError, kill};
use hostler_wire::control::FromMaster;
use hostler_wire::plan::{Identity, SiteId, SiteLimits, SitePlan};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::door::Door;
use crate::generation::Generation;
use crate::groups::Place;
use crate::master::Master;
use crate::report;

/// Most processes of one site for one front: the one in use, and such as have not quite ended.
const MOST_PER_SITE: usize = 4;
/// A site process whose front is gone ends by itself; after this it is helped.
const GRACE: Duration = Duration::from_secs(10);
/// "Try again": what a front is told while a site is throttled.
const EAGAIN: i32 = 11;

/// A message to a front about a site's process, with the descriptors.
pub(crate) type ForFront = (FromMaster, Vec<Rc<OwnedFd>>);

/// A running site process.
pub(crate) struct SiteProcess {
    /// Its process id.
    pub(crate) pid: Pid,
    /// The fronts' number of it.
    pub(crate) number: u32,
    /// When it was started.
    pub(crate) since: Instant,
    /// When it is killed: no front needs it any more.
    pub(crate) kill_at: Option<Instant>,
    users: Vec<User>,
    kind: Kind,
    /// The current limits of its group.
    limits: SiteLimits,
    door: Door,
    /// It is of no use to anybody any more.
    given_up: bool,
}

/// A front that works with a site's process.
#[derive(Clone, Copy, PartialEq, Eq)]
struct User {
    front: Pid,
    /// Its generation, and which site it is in that one's plan.
    generation: u64,
    site: SiteId,
}

/// The properties that all users of one process share.
#[derive(PartialEq, Eq)]
struct Kind {
    name: String,
    identity: Option<Identity>,
    /// It is in a control group.
    grouped: bool,
}

impl Kind {
    fn of(plan: &SitePlan, place: Option<&Place>) -> Self {
        Self { name: plan.name.clone(), identity: plan.identity.clone(), grouped: place.is_some() }
    }
}

impl SiteProcess {
    fn is_used_by(&self, front: Pid, site: SiteId) -> bool {
        self.users.iter().any(|user| user.front == front && user.site == site)
    }

    /// Returns whether it may be handed to a further front.
    fn can_serve(&self, kind: &Kind) -> bool {
        self.kill_at.is_none() && !self.given_up && self.kind == *kind
    }

    /// Returns the front's message about it; its number for the site is `site`.
    fn message(&self, site: SiteId, socket: OwnedFd, place: Option<Place>) -> ForFront {
        let directory = place.map(|place| place.directory);
        let fds = [Some(socket), directory].into_iter().flatten().map(Rc::new).collect();
        (FromMaster::Site { site, number: self.number }, fds)
    }
}

impl Master {
    /// A front asks for a site's process. `false`: the plan has no such site.
    pub(crate) fn spawn_site(&mut self, number: u64, site: SiteId, now: Instant) -> bool {
        let Some(at) = self.generations.iter().position(|g| g.number == number) else { return true };
        let generation = &self.generations[at];
        let Some(plan) = generation.plan.sites.get(site as usize).cloned() else { return false };
        let Some(front) = generation.front.as_ref().map(|front| front.pid) else { return true };
        let throttled = generation.sites.get(site as usize).is_some_and(|t| t.wait_until(now).is_some());
        let running = self.sites.iter().filter(|process| process.is_used_by(front, site)).count();
        let user = User { front, generation: number, site };
        let (message, fds) = if running >= MOST_PER_SITE || throttled {
            (FromMaster::SiteFailed(site, EAGAIN), Vec::new())
        } else {
            let given = generation.given.get(site as usize).copied().unwrap_or(0);
            let got =
                self.hand_over(&plan, user, given).map_or_else(|| self.start_site(&plan, user, now), Ok);
            got.unwrap_or_else(|e| {
                if let Some(throttle) = self.generations[at].sites.get_mut(site as usize) {
                    throttle.failed(now);
                }
                report::error(&format_args!("can't start the site process of {}: {e}", plan.name));
                (FromMaster::SiteFailed(site, e.errno), Vec::new())
            })
        };
        let generation = &mut self.generations[at];
        if let (FromMaster::Site { number, .. }, Some(given)) =
            (message, generation.given.get_mut(site as usize))
        {
            *given = number;
        }
        if let Some(front) = &mut generation.front {
            front.channel.queue(message, fds);
        }
        true
    }

    /// The process that another generation has for the same site, if it is newer than the last that this front has had:
    /// one that has left it waiting does not come back.
    fn hand_over(&mut self, plan: &SitePlan, user: User, given: u32) -> Option<ForFront> {
        let is_other = |process: &SiteProcess| process.number > given && process.kind.name == plan.name;
        if !self.sites.iter().any(is_other) {
            return None;
        }
        let place = self.groups.place(plan, user.generation).ok()?;
        let kind = Kind::of(plan, place.as_ref());
        let newest = self.sites.iter_mut().filter(|process| process.number > given);
        let process =
            newest.filter(|process| process.can_serve(&kind)).max_by_key(|process| process.number)?;
        let socket = process.door.attach().inspect_err(|_| process.given_up = true).ok()?;
        if process.users.iter().all(|other| other.generation <= user.generation) {
            process.limits = plan.limits;
        }
        process.users.push(user);
        Some(process.message(user.site, socket, place))
    }

    fn start_site(&mut self, plan: &SitePlan, user: User, now: Instant) -> Result<ForFront, SpawnError> {
        let place = self.groups.place(plan, user.generation).map_err(|e| SpawnError::of("cgroup", &e))?;
        let homes = self.homes.of(plan);
        let (pid, socket, door) = self.nursery.site(plan, place.as_ref(), &homes)?;
        self.sites_started = self.sites_started.wrapping_add(1);
        let process = SiteProcess {
            pid,
            number: self.sites_started,
            since: now,
            kill_at: None,
            users: vec![user],
            kind: Kind::of(plan, place.as_ref()),
            limits: plan.limits,
            door,
            given_up: false,
        };
        let message = process.message(user.site, socket, place);
        self.sites.push(process);
        Ok(message)
    }

    /// The processes that the front of a new generation begins with: those that serve its sites already, by index, and
    /// what it is told of each. Where the limits of a site change they do so once the new generation serves: then its
    /// front asks.
    pub(crate) fn sites_for(&mut self, generation: &mut Generation) -> (Vec<(usize, SiteId)>, Vec<ForFront>) {
        let plans = (0..).zip(&generation.plan.sites);
        let plans: HashMap<&str, (SiteId, &SitePlan)> =
            plans.map(|(site, plan)| (plan.name.as_str(), (site, plan))).collect();
        let (mut processes, mut messages) = (Vec::new(), Vec::new());
        // The newest process of a site is the one in use.
        for (at, process) in self.sites.iter_mut().enumerate().rev() {
            let Some((site, plan)) = plans.get(process.kind.name.as_str()).copied() else { continue };
            if generation.given[site as usize] != 0 || process.limits != plan.limits {
                continue;
            }
            let Ok(place) = self.groups.place(plan, generation.number) else { continue };
            if !process.can_serve(&Kind::of(plan, place.as_ref())) {
                continue;
            }
            match process.door.attach() {
                Ok(socket) => {
                    generation.given[site as usize] = process.number;
                    messages.push(process.message(site, socket, place));
                    processes.push((at, site));
                }
                Err(_) => process.given_up = true,
            }
        }
        (processes, messages)
    }

    /// A new front works with these from now on.
    pub(crate) fn use_sites(&mut self, processes: &[(usize, SiteId)], generation: u64, front: Pid) {
        for (at, site) in processes {
            self.sites[*at].users.push(User { front, generation, site: *site });
        }
    }

    /// A site process has ended; `false`: it is none of ours.
    pub(crate) fn site_ended(&mut self, pid: Pid, ended: ExitCause, now: Instant) -> bool {
        let Some(at) = self.sites.iter().position(|p| p.pid == pid) else { return false };
        let process = self.sites.remove(at);
        if process.kill_at.is_some() || self.ending.is_some() {
            return true;
        }
        if ended != ExitCause::Status(0) {
            let (name, pid) = (&process.kind.name, pid.as_raw_nonzero());
            report::error(&format_args!("the site process of {name} (pid {pid}) {ended}"));
        }
        for user in &process.users {
            let generation = self.generations.iter_mut().find(|g| g.number == user.generation);
            if let Some(throttle) = generation.and_then(|g| g.sites.get_mut(user.site as usize)) {
                throttle.ended(process.since, now);
            }
        }
        true
    }

    /// The front of a generation is left waiting by one of its site processes. It may name one that has just ended.
    pub(crate) fn end_site(&mut self, generation: u64, number: u32) {
        let is_its = |user: &User| user.generation == generation;
        let stuck = self.sites.iter_mut().find(|p| p.number == number && p.users.iter().any(is_its));
        let Some(process) = stuck else { return };
        let (name, pid) = (&process.kind.name, process.pid.as_raw_nonzero());
        report::error(&format_args!("the site process of {name} (pid {pid}) doesn't answer, and is killed"));
        process.given_up = true;
        kill(process.pid, Signal::KILL);
    }

    /// A front has gone: the sites that no other uses get time to end.
    pub(crate) fn release_sites(&mut self, front: Pid, now: Instant) {
        for process in self.sites.iter_mut().filter(|p| p.users.iter().any(|user| user.front == front)) {
            process.users.retain(|user| user.front != front);
            if process.users.is_empty() {
                process.kill_at = Some(now + GRACE);
            }
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
