//! Stopping. SIGTERM and SIGWINCH let the server finish what it is at: it reports that it is not ready any more, accepts
//! connections for `HostlerDrainDelay`, then closes its listeners, and ends when all requests are done or after
//! `GracefulShutdownTimeout`. A second SIGTERM, and SIGINT or SIGQUIT at any time, end it at once.
//!
//! Fronts end before the processes of sites: otherwise a request would fail because its program was killed, and neither
//! its page nor the log would name the cause.

use hostler_sys::process::{Signal, kill};
use std::time::{Duration, Instant};

use crate::generation::Phase;
use crate::master::Master;
use crate::report;

/// The time between SIGTERM and SIGKILL for children.
const GRACE: Duration = Duration::from_secs(5);

/// The way the master ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All children were sent SIGTERM, the fronts first.
    Now {
        /// When those that are left are killed.
        kill_at: Instant,
        /// The exit status of the master.
        status: u8,
        /// The processes of sites have got their signal.
        sites_told: bool,
    },
    /// The generations drain; when the last is done, so is the master.
    Gracefully {
        /// When the listeners close; `None`: they are closed.
        drain_at: Option<Instant>,
        /// A SIGTERM has come: the second one ends the server at once.
        by_term: bool,
    },
}

impl Master {
    /// Ends everything now; the master exits with 0.
    pub(crate) fn stop(&mut self, now: Instant) {
        if !matches!(self.ending, Some(Ending::Now { .. })) {
            report::info(&"stopping at once");
            self.end_children(now, 0);
        }
    }

    /// Something cannot go on: ends everything, and the master exits with `status`.
    pub(crate) fn end_with(&mut self, status: u8) {
        self.end_children(Instant::now(), status);
    }

    fn end_children(&mut self, now: Instant, status: u8) {
        self.manager.stopping();
        let planner = self.planning.iter().map(|planning| planning.pid);
        let fronts = self.generations.iter().filter_map(|g| g.front.as_ref()).map(|front| front.pid);
        planner.chain(fronts).for_each(|pid| kill(pid, Signal::TERM));
        self.ending = Some(Ending::Now { kill_at: now + GRACE, status, sites_told: false });
    }

    /// SIGTERM (`by_term`) or SIGWINCH: the server stops when its requests are done.
    pub(crate) fn stop_gracefully(&mut self, by_term: bool, now: Instant) {
        match &mut self.ending {
            Some(Ending::Now { .. }) => {}
            Some(Ending::Gracefully { by_term: true, .. }) if by_term => self.stop(now),
            Some(Ending::Gracefully { by_term: before, .. }) => *before |= by_term,
            None => self.begin_stop(by_term, now),
        }
    }

    fn begin_stop(&mut self, by_term: bool, now: Instant) {
        report::info(&"stopping when all requests are done");
        self.manager.stopping();
        if let Some(planning) = self.planning.take() {
            kill(planning.pid, Signal::KILL);
        }
        for generation in &mut self.generations {
            generation.stop();
        }
        let serving = self.generations.iter().find(|g| g.phase == Phase::Serving);
        let delay = serving.map_or(0, |generation| generation.plan.drain_delay_secs);
        let drain_at = Some(now + Duration::from_secs(u64::from(delay)));
        self.ending = Some(Ending::Gracefully { drain_at, by_term });
        self.drain_if_due(now);
    }

    /// Closes the listeners when `HostlerDrainDelay` is over.
    pub(crate) fn drain_if_due(&mut self, now: Instant) {
        let Some(Ending::Gracefully { drain_at, .. }) = &mut self.ending else { return };
        if drain_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        self.generations.retain(|g| g.front.is_some());
        for generation in &mut self.generations {
            generation.drain_for_stop(now);
        }
    }

    /// Ends fronts whose time to drain is over: they log the requests that they cut off. One that does not exit is killed
    /// after [`GRACE`].
    pub(crate) fn cut_off_late(&mut self, now: Instant) {
        for generation in &mut self.generations {
            let Phase::Draining { until } = &mut generation.phase else { continue };
            let Some(front) = generation.front.as_mut().filter(|front| !front.cut_off && *until <= now)
            else {
                continue;
            };
            if front.life.doomed.is_none() {
                (front.cut_off, *until) = (true, now + GRACE);
                report::warning(&format_args!(
                    "generation {}: its time to finish requests is over, and those left are cut off",
                    generation.number
                ));
                kill(front.pid, Signal::TERM);
            }
        }
    }

    /// Continues an ending that has begun; returns the exit status once it is complete.
    pub(crate) fn ended(&mut self, now: Instant) -> Option<u8> {
        self.drain_if_due(now);
        let has_front = self.generations.iter().any(|g| g.front.is_some());
        match self.ending? {
            Ending::Gracefully { .. } if self.generations.is_empty() => {
                self.end_children(now, 0);
                self.ended(now)
            }
            Ending::Gracefully { .. } => None,
            Ending::Now { status, sites_told: false, .. } if !has_front => {
                self.sites.iter().for_each(|process| kill(process.pid, Signal::TERM));
                self.ending = Some(Ending::Now { kill_at: now + GRACE, status, sites_told: true });
                self.ended(now)
            }
            Ending::Now { status, .. } if self.all_children().is_empty() => Some(status),
            Ending::Now { kill_at, .. } if kill_at <= now => {
                self.all_children().into_iter().for_each(|pid| kill(pid, Signal::KILL));
                None
            }
            Ending::Now { .. } => None,
        }
    }
}
