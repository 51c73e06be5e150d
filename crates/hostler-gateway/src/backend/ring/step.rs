//! One look at what a worker has said.

use super::thread::Entry;
use super::{BytesInUse, Cutter, Frame, Unsent, Violation};
use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

/// Bytes of answers that wait for a worker which is still heard: one waits for its answer before it goes on.
const UNREAD: usize = 256 << 10;

/// The result of a look at the channel.
pub(super) enum Step {
    Frame(Frame),
    Wait,
    /// It was taken back.
    Stuck,
    Fail(Failure),
}

pub(super) enum Failure {
    Died,
    Late,
    Violation(Violation),
}

pub(super) fn step(
    entry: &mut Entry,
    (cutter, kept): (&mut Cutter, &Arc<BytesInUse>),
    unsent: &mut Unsent,
    answers: usize,
    context: &mut Context<'_>,
) -> Step {
    if entry.stuck {
        return Step::Stuck;
    }
    entry.flush(unsent);
    // Asked before reading: what it wrote before its end counts.
    let dead = entry.worker.is_dead();
    // One that asks and asks, and reads no answer, is not heard until it has.
    let is_deaf = answers > UNREAD && !unsent.is_empty();
    let heard = if is_deaf { Ok(None) } else { cutter.next(&mut entry.channel, kept) };
    match heard {
        Err(violation) => Step::Fail(Failure::Violation(violation)),
        Ok(Some(frame)) => {
            entry.moved();
            Step::Frame(frame)
        }
        Ok(None) if dead => Step::Fail(Failure::Died),
        Ok(None) if entry.late => Step::Fail(Failure::Late),
        Ok(None) => {
            entry.wait(context);
            Step::Wait
        }
    }
}

impl Entry {
    /// The worker reads or writes: it has all its time again.
    fn moved(&mut self) {
        self.waker = None;
        self.waiting = None;
        self.late = false;
    }

    pub(super) fn flush(&mut self, unsent: &mut Unsent) {
        if unsent.flush(&mut self.channel) {
            self.waiting = None;
            self.late = false;
        }
    }

    pub(super) fn wait(&mut self, context: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => self.waker = Some(context.waker().clone()),
        }
        self.waiting.get_or_insert_with(Instant::now);
    }
}
