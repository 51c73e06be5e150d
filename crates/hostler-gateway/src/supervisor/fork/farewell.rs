//! The end of a parent: its workers finish what they are at, and go.

use super::deaths;
use super::lines::Lines;
use crate::Process;
use crate::pool::maintain::FAREWELL;
use crate::pool::state::Phase;
use crate::pool::worker::Death;
use crate::pool::{Facts, Pool, WorkerId, WorkerState};
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How often is looked who is still there. Nobody tells, without a parent.
const LOOK: Duration = Duration::from_millis(50);

/// Why a parent is no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It has ended, or makes no sense.
    Gone,
    /// It does not do, or tell, what it has to.
    Stuck,
    /// The pool is closed.
    Closed,
    /// Its memory is needed elsewhere.
    Evicted,
    /// Nobody has used it for long.
    Idle,
}

impl End {
    /// What the log tells of one that nobody has asked for.
    pub(crate) fn unasked(self) -> Option<&'static [u8]> {
        match self {
            Self::Gone => Some(b"the warm parent ended unasked; another takes its place"),
            Self::Stuck => Some(b"the warm parent is stopped or stuck; another takes its place"),
            Self::Closed | Self::Evicted | Self::Idle => None,
        }
    }
}

/// What is left of a parent and its workers.
pub(crate) struct Farewell {
    pub(crate) pool: Arc<Pool>,
    pub(crate) process: Box<dyn Process>,
    /// Which parent of the pool it was.
    pub(crate) generation: u32,
    /// The workers' standard error.
    pub(crate) lines: HashMap<WorkerId, Rc<Lines>>,
}

impl Farewell {
    /// Takes the workers out of the pool, at once those that are at nothing. `gone`: the parent has ended already.
    pub(crate) fn begin(self, gone: bool) {
        let pool = &self.pool;
        pool.locked(|state, out| {
            let theirs = state.records.values().filter(|record| record.worker.parent == self.generation);
            let unneeded = theirs.filter(|record| record.state != WorkerState::Busy);
            let unneeded: Vec<_> = unneeded.map(|record| record.worker.id).collect();
            for id in unneeded {
                state.died(pool, id, Death::Orphaned, out);
            }
            // Nothing more is placed behind what the others are at.
            let rest = state.records.values_mut().filter(|record| record.worker.parent == self.generation);
            rest.for_each(|record| record.last = true);
            state.phase = Phase::Cold;
            state.growth_due = None;
            state.target = pool.settings.first() as usize;
        });
        *pool.facts() = Facts::default();
        tokio::task::spawn_local(self.wait(gone));
    }

    /// Waits for them, but not for ever; then whatever is left of the parent's process group is killed.
    async fn wait(mut self, mut gone: bool) {
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline && !(gone && self.orphans().is_empty()) {
            if gone {
                sleep(LOOK).await;
            } else {
                let exit = timeout(LOOK, poll_fn(|context| self.process.poll_exit(context)));
                gone = exit.await.is_ok();
            }
            for (id, pid) in self.orphans() {
                if !deaths::runs(pid) {
                    self.bury(id);
                }
            }
        }
        self.process.kill();
        for (id, _) in self.orphans() {
            self.bury(id);
        }
        self.pool.rest();
    }

    fn bury(&mut self, id: WorkerId) {
        if let Some(lines) = self.lines.remove(&id) {
            lines.take_now();
            lines.rest();
        }
        self.pool.locked(|state, out| drop(state.died(&self.pool, id, Death::Orphaned, out)));
    }

    fn orphans(&self) -> Vec<(WorkerId, u32)> {
        let state = self.pool.lock();
        let theirs = state.records.values().filter(|record| record.worker.parent == self.generation);
        theirs.map(|record| (record.worker.id, record.worker.pid.load(Relaxed))).collect()
    }
}
