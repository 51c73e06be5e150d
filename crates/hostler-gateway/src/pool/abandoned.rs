//! Requests that nobody waits for any more: their workers serve others again when they are done with them.
//!
//! A worker wakes nobody when it drops such a request, so it is looked after from time to time.

use super::Pool;
use super::state::AbandonedRequest;
use crate::backend::{AbandonedState, Backend, Place as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest pause between looks.
const LAST_LOOK: Duration = Duration::from_millis(50);

impl<B: Backend> Pool<B> {
    /// Looks whether workers are done with requests that nobody waits for.
    pub(super) fn look_after_abandoned(self: &Arc<Self>, now: Instant) {
        let mut due = Vec::new();
        {
            let mut state = self.lock();
            let mut at = 0;
            while at < state.abandoned.len() {
                if state.abandoned[at].look.0 <= now {
                    due.push(state.abandoned.swap_remove(at));
                } else {
                    at += 1;
                }
            }
        }
        for mut abandoned in due {
            match abandoned.place.look(&self.common) {
                AbandonedState::Runs if now >= abandoned.deadline => self.kill(abandoned.worker.id),
                AbandonedState::Runs => {
                    let pause = (abandoned.look.1 * 2).min(LAST_LOOK);
                    abandoned.look = (now + pause, pause);
                    self.lock().abandoned.push(abandoned);
                }
                AbandonedState::Ended { exits } => {
                    let AbandonedRequest { worker, index, place, .. } = abandoned;
                    drop(place);
                    self.finished(worker.id, index, exits);
                }
                AbandonedState::Broken => self.kill(abandoned.worker.id),
            }
        }
    }
}
