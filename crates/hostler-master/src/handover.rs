//! The moment at which a generation has taken over: it serves, and no older front accepts a connection any more or keeps
//! an address bound. Only then is the outcome of a reload announced, by the PidFile and to the service manager, and the
//! next reload begun: from then on each new connection has the new configuration.
//!
//! A front that does not release its sockets in time has a stuck thread, which is the watchdog's business: it is not
//! waited for any longer.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::generation::Phase;
use crate::master::Master;

/// The longest time that older fronts may take to close their sockets.
const PATIENCE: Duration = Duration::from_secs(10);

/// A generation that serves and is to be announced.
pub(crate) struct Handover {
    number: u64,
    pid_file: Option<PathBuf>,
    /// When it is announced in any case.
    pub(crate) until: Instant,
}

impl Master {
    /// A generation serves: older ones drain, and it is announced when they have released their sockets.
    pub(crate) fn take_over(&mut self, number: u64, pid_file: Option<PathBuf>, now: Instant) {
        for older in self.generations.iter_mut().filter(|g| g.number < number && g.phase == Phase::Serving) {
            older.drain(now);
        }
        self.handover = Some(Handover { number, pid_file, until: now + PATIENCE });
        self.announce(now);
    }

    /// The front of a generation has closed its listening sockets.
    pub(crate) fn front_released(&mut self, number: u64) {
        let generation = self.generations.iter_mut().find(|g| g.number == number);
        if let Some(front) = generation.and_then(|g| g.front.as_mut()) {
            front.released = true;
        }
    }

    /// Announces a generation that has taken over.
    pub(crate) fn announce(&mut self, now: Instant) {
        let older_listens = self.generations.iter().any(crate::generation::Generation::still_listens);
        let is_due = |handover: &mut Handover| !older_listens || handover.until <= now;
        let Some(Handover { number, pid_file, .. }) = self.handover.take_if(is_due) else { return };
        self.manager.ready(&format!("generation {number} serves"));
        self.write_pid_file(number, pid_file, &format!("generation {number} serves\n"));
        self.offer_status(number, now);
    }
}
