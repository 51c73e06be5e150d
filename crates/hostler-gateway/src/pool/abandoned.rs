//! Requests that nobody waits for any more: their workers serve others again when they are done with them.
//!
//! A worker wakes nobody when it drops such a request, so it is looked after from time to time.

use super::Pool;
use super::state::Abandoned;
use crate::backend::ring::{Kept, Nonsense};
use hostler_wire::work::{FromWorker, HEAD};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest pause between looks.
const LAST_LOOK: Duration = Duration::from_millis(50);

/// Bytes of messages that are passed over whenever it is looked: a worker that says ever more holds nobody up.
const LOOKED_AT: usize = 512 << 10;

impl Pool {
    /// Looks whether workers are done with requests that nobody waits for.
    pub(crate) fn look_after_abandoned(self: &Arc<Self>, now: Instant) {
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
            match ended(&mut abandoned, &self.kept) {
                Ok(None) if now >= abandoned.deadline => self.kill(abandoned.worker.id),
                Ok(None) => {
                    let pause = (abandoned.look.1 * 2).min(LAST_LOOK);
                    abandoned.look = (now + pause, pause);
                    self.lock().abandoned.push(abandoned);
                }
                Ok(Some(exits)) => {
                    let Abandoned { worker, index, channel, .. } = abandoned;
                    drop(channel);
                    self.finished(worker.id, index, exits);
                }
                Err(_) => self.kill(abandoned.worker.id),
            }
        }
    }
}

/// Whether an abandoned request has ended, and whether its worker exits.
fn ended(abandoned: &mut Abandoned, kept: &Arc<Kept>) -> Result<Option<bool>, Nonsense> {
    // Asked before reading: what it said before it let the channel go is there.
    let free = abandoned.channel.is_free();
    let Some(cutter) = &mut abandoned.cutter else { return Ok(free.then_some(false)) };
    let mut bytes = 0;
    while bytes < LOOKED_AT {
        let Some(frame) = cutter.next(&mut abandoned.channel, kept)? else {
            return Ok(free.then_some(false));
        };
        if frame.kind == FromWorker::END {
            return Ok(Some(frame.body.first() == Some(&1)));
        }
        bytes += HEAD + frame.body.len();
    }
    Ok(None)
}
