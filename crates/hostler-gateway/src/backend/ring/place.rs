//! A request's channel of a worker's memory, with what there was no room for yet and what has come.

use super::{BytesInUse, Common, Cutter, Ring, Unsent, Violation, Work};
use crate::backend::{AbandonedState, Place};
use hostler_ring::front;
use hostler_wire::work::{FromWorker, HEAD};
use std::sync::Arc;

/// Bytes of messages that are passed over whenever it is looked: a worker that says ever more holds nobody up.
const LOOKED_AT: usize = 512 << 10;

/// A request at a worker's.
pub struct Channel {
    pub(super) channel: front::Channel,
    pub(super) unsent: Unsent,
    pub(super) cutter: Cutter,
    /// The answer is complete: the worker need not be told that nobody waits, it is only cleaning up.
    pub(super) finished: bool,
    /// The worker has been told that nobody waits.
    pub(super) told: bool,
    /// Nothing waits for the request, and it runs to its end nevertheless.
    pub(super) runs_on: bool,
}

impl Channel {
    /// Offers a request; the worker is not woken.
    pub(super) fn offer(mut channel: front::Channel, work: &Work, tells: bool) -> Self {
        let unsent = if tells {
            let message = [&work.directory.1[..], &work.request].concat();
            let gone = channel.offer_quietly(work.thread, &message);
            Unsent::rest(message, gone)
        } else {
            let gone = channel.offer_quietly(work.thread, &work.request);
            Unsent::rest(work.request.get(gone..).unwrap_or_default().to_vec(), 0)
        };
        Self { channel, unsent, cutter: Cutter::default(), finished: false, told: false, runs_on: false }
    }

    /// Tells the worker that nobody waits, as soon as all of the request is there to be read: a program may want to know that
    /// nobody listens, also one that goes on.
    fn tell(&mut self) {
        if self.finished || self.told || !self.unsent.is_empty() {
            return;
        }
        self.channel.abandon();
        self.told = true;
    }

    /// Returns whether the request has ended, and whether its worker exits.
    fn ended(&mut self, kept: &Arc<BytesInUse>) -> Result<Option<bool>, Violation> {
        // Asked before reading: what it said before it let the channel go is there.
        let free = self.channel.is_free();
        if self.told {
            return Ok(free.then_some(false));
        }
        self.unsent.flush(&mut self.channel);
        if self.runs_on {
            self.tell();
        }
        let mut bytes = 0;
        while bytes < LOOKED_AT {
            let Some(frame) = self.cutter.next(&mut self.channel, kept)? else {
                return Ok(free.then_some(false));
            };
            if frame.kind == FromWorker::END {
                return Ok(Some(frame.body.first() == Some(&1)));
            }
            bytes += HEAD + frame.body.len();
        }
        Ok(None)
    }
}

impl Place<Ring> for Channel {
    fn take_back(&mut self) -> bool {
        self.channel.take_back()
    }

    fn abandon(&mut self, runs_on: bool) {
        self.runs_on = runs_on;
        if !runs_on {
            self.unsent = Unsent::default();
        }
        self.tell();
    }

    fn look(&mut self, common: &Common) -> AbandonedState {
        match self.ended(&common.kept) {
            Ok(None) => AbandonedState::Runs,
            Ok(Some(exits)) => AbandonedState::Ended { exits },
            Err(_) => AbandonedState::Broken,
        }
    }
}
