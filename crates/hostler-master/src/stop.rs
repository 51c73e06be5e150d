//! Stopping: at once (SIGTERM, SIGINT), or when all connections are done (SIGWINCH).

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
    /// Everybody was told to end; whoever is left at that time is killed.
    Now {
        /// When.
        kill_at: Instant,
        /// With which status the master exits.
        status: u8,
    },
    /// The generations drain; when the last is done, so is the master.
    Gracefully,
}

impl Master {
    /// Ends everything now; the master exits with 0.
    pub(crate) fn stop(&mut self, now: Instant) {
        if !matches!(self.ending, Some(Ending::Now { .. })) {
            report::info(&"stopping");
            self.end_children(now, 0);
        }
    }

    /// Something can't go on: ends everything, and the master exits with `status`.
    pub(crate) fn end_with(&mut self, status: u8) {
        self.end_children(Instant::now(), status);
    }

    fn end_children(&mut self, now: Instant, status: u8) {
        self.manager.stopping();
        for pid in self.all_children() {
            kill(pid, Signal::TERM);
        }
        self.ending = Some(Ending::Now { kill_at: now + GRACE, status });
    }

    /// Takes no more connections and ends when the open ones are done.
    pub(crate) fn stop_gracefully(&mut self, now: Instant) {
        if self.ending.is_some() {
            return;
        }
        report::info(&"stopping when all connections are done");
        self.manager.stopping();
        if let Some(planning) = self.planning.take() {
            kill(planning.pid, Signal::KILL);
        }
        self.generations.retain(|g| g.front.is_some());
        for generation in &mut self.generations {
            if !matches!(generation.phase, Phase::Draining { .. }) {
                generation.drain(now);
            }
        }
        self.ending = Some(Ending::Gracefully);
    }

    /// Goes on with an ending that has begun; the exit status once it is complete.
    pub(crate) fn ended(&mut self, now: Instant) -> Option<u8> {
        match self.ending? {
            Ending::Gracefully if self.generations.is_empty() => {
                self.end_children(now, 0);
                self.ended(now)
            }
            Ending::Gracefully => None,
            Ending::Now { status, .. } if self.all_children().is_empty() => Some(status),
            Ending::Now { kill_at, .. } if kill_at <= now => {
                for pid in self.all_children() {
                    kill(pid, Signal::KILL);
                }
                None
            }
            Ending::Now { .. } => None,
        }
    }
}
