//! The end of a parent: its workers finish what they are at, and go.

use super::deaths;
use crate::backend::ring::Pool;
use crate::pool::WorkerId;
use crate::pool::maintain::FAREWELL;
use crate::supervisor::Process;
use crate::supervisor::lines::Lines;
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// The interval at which remaining processes are checked. Without a parent, nothing reports their end.
const LOOK: Duration = Duration::from_millis(50);

/// The remains of a parent and its workers.
pub(super) struct Farewell {
    pub(super) pool: Arc<Pool>,
    pub(super) process: Box<dyn Process>,
    /// The pool's parent, by number.
    pub(super) generation: u32,
    /// The workers' standard error.
    pub(super) lines: HashMap<WorkerId, Rc<Lines>>,
}

impl Farewell {
    /// Takes the workers out of the pool, at once those that are at nothing. `gone`: the parent has ended already.
    pub(super) fn begin(self, gone: bool) {
        self.pool.let_go(self.generation);
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
                    self.forget(id);
                }
            }
        }
        self.process.kill();
        for (id, _) in self.orphans() {
            self.forget(id);
        }
        self.pool.rest();
    }

    fn forget(&mut self, id: WorkerId) {
        if let Some(lines) = self.lines.remove(&id) {
            lines.take_now();
            lines.rest();
        }
        self.pool.orphan_gone(id);
    }

    fn orphans(&self) -> Vec<(WorkerId, u32)> {
        self.pool.workers_of(self.generation)
    }
}
