//! A generation: one plan being served, by one front at a time.

use hostler_sys::memfd;
use hostler_sys::process::Pid;
use hostler_wire::build::Build;
use hostler_wire::control::FromMaster;
use hostler_wire::plan::MasterPlan;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::control::Channel;
use crate::listen::{self, Listener};
use crate::logs::WatchedLog;
use crate::plan::WholePlan;
use crate::site::ForFront;
use crate::throttle::Throttle;
use crate::watchdog::{self, Life};

/// The phases of a generation's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its front has not reported ready yet; the generation before it still serves.
    Starting,
    /// It serves.
    Serving,
    /// It finishes what is open and takes nothing new, at most until then.
    Draining {
        /// When its front is killed.
        until: Instant,
    },
}

/// A front process.
pub(crate) struct Front {
    /// Its process id.
    pub(crate) pid: Pid,
    /// The control socket to it.
    pub(crate) channel: Channel,
    /// When it was started.
    pub(crate) since: Instant,
    /// By when it must report ready; `None`: it has.
    pub(crate) ready_by: Option<Instant>,
    /// Its end of the control socket is closed: it is about to end, or should be.
    pub(crate) closed: bool,
    /// It has closed its listening sockets.
    pub(crate) released: bool,
    /// Its time to drain is over, and it was sent SIGTERM.
    pub(crate) cut_off: bool,
    /// True if it goes on.
    pub(crate) life: Life,
}

/// One plan and who serves it.
pub(crate) struct Generation {
    /// Counted from 1.
    pub(crate) number: u64,
    /// The master's part.
    pub(crate) plan: MasterPlan,
    /// Its phase of life.
    pub(crate) phase: Phase,
    /// Its front, while there is one.
    pub(crate) front: Option<Front>,
    /// When the next front may be started.
    pub(crate) respawn: Throttle,
    /// The same for each site.
    pub(crate) sites: Vec<Throttle>,
    /// For each site the number of the last process that a front of this generation has got.
    pub(crate) given: Vec<u32>,
    /// Its sockets, in the plan's order; empty once it drains.
    pub(crate) listeners: Vec<Listener>,
    front_plan: Rc<OwnedFd>,
    front_plan_bytes: u64,
    /// Its log descriptors, in the plan's order; empty once it drains.
    pub(crate) logs: Vec<Rc<OwnedFd>>,
    /// Those of them that are files, also while it drains.
    pub(crate) watched: Vec<WatchedLog>,
}

impl Generation {
    /// Prepares a plan to be served; `bound` are the sockets of older generations.
    ///
    /// # Errors
    /// Something could not be had: a sentence.
    pub(crate) fn new(number: u64, planned: WholePlan, bound: &[Listener]) -> Result<Self, String> {
        let WholePlan { plan, logs } = planned;
        let listeners = listen::bind_all(&plan.master.listeners, plan.master.backlog, bound)?;
        let front_plan = memfd::sealed("hostler-plan", &plan.front)
            .map_err(|e| format!("can't make a memory file for the plan: {e}"))?;
        Ok(Self {
            number,
            phase: Phase::Starting,
            front: None,
            respawn: Throttle::default(),
            sites: plan.master.sites.iter().map(|_| Throttle::default()).collect(),
            given: vec![0; plan.master.sites.len()],
            listeners,
            front_plan: Rc::new(front_plan),
            front_plan_bytes: plan.front.len() as u64,
            watched: WatchedLog::of_plan(&plan.master, &logs),
            logs,
            plan: plan.master,
        })
    }

    /// Returns the time limit for a front to report ready.
    pub(crate) fn ready_timeout(&self) -> Duration {
        Duration::from_millis(u64::from(self.plan.ready_timeout_ms))
    }

    /// Queues everything a new front needs to know.
    pub(crate) fn brief(&self, channel: &mut Channel, site_processes: Vec<ForFront>) {
        let sockets: Vec<Rc<OwnedFd>> = self.listeners.iter().map(|l| l.socket.clone()).collect();
        let plan = FromMaster::Plan { bytes: self.front_plan_bytes };
        channel.queue(FromMaster::Build(Build::own()), Vec::new());
        channel.queue(plan, vec![self.front_plan.clone()]);
        channel.queue_batches(&sockets, |index, count| FromMaster::Listeners { index, count });
        channel.queue_batches(&self.logs, |index, count| FromMaster::Logs { index, count });
        for (message, fds) in site_processes {
            channel.queue(message, fds);
        }
        channel.queue(FromMaster::Go, Vec::new());
    }

    /// Has its front report that the server is not ready any more.
    pub(crate) fn stop(&mut self) {
        if let Some(front) = &mut self.front {
            front.channel.queue(FromMaster::Stop, Vec::new());
        }
    }

    /// Drains it because the server stops; one that drains already gets no more time than the others.
    pub(crate) fn drain_for_stop(&mut self, now: Instant) {
        let allowed = now + Duration::from_secs(u64::from(self.plan.stop_timeout_secs));
        if !matches!(self.phase, Phase::Draining { .. }) {
            self.drain(now);
        }
        if let Phase::Draining { until } = &mut self.phase {
            *until = (*until).min(allowed);
        }
    }

    /// Has its front close its listening sockets and finish what is open, at most as long as the plan says.
    pub(crate) fn drain(&mut self, now: Instant) {
        let allowed = now + Duration::from_secs(u64::from(self.plan.drain_timeout_secs));
        let last = self.front.as_ref().and_then(|front| watchdog::last_requests(&front.life, now));
        let until = last.map_or(allowed, |last| last.min(allowed));
        self.phase = Phase::Draining { until };
        self.listeners.clear();
        self.logs.clear();
        if let Some(front) = &mut self.front {
            front.channel.queue(FromMaster::Drain, Vec::new());
        }
    }

    /// Returns true if its front may still accept connections, or keeps an address bound.
    pub(crate) fn still_listens(&self) -> bool {
        let listens = self.front.as_ref().is_some_and(|front| !front.released && !front.closed);
        matches!(self.phase, Phase::Draining { .. }) && listens
    }

    /// Returns whether this process is its front.
    pub(crate) fn has_front(&self, pid: Pid) -> bool {
        self.front.as_ref().is_some_and(|front| front.pid == pid)
    }
}
