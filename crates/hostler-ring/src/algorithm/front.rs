//! The front's side of a channel. It never waits, and believes nothing that the worker can write.

use super::{Atomic, Atomics, Medium, Stream, pieces, put};
use crate::layout::{
    AWAITS_BYTES, AWAITS_INPUT, AWAITS_OUTLET, AWAITS_REQUEST, AWAITS_ROOM, FREE, OFFERED, Words, position,
    stamp, unstamp,
};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The worker's counters make no sense.
pub(crate) struct Violation;

/// Private state of one channel's front side. What it wrote to shared memory it has here, too, and uses only this.
#[derive(Debug)]
pub(crate) struct Front {
    channel: usize,
    /// Epoch of the request in the channel; 0: none yet.
    epoch: u32,
    to_head: u32,
    /// The worker's position as last seen and believed.
    to_tail: u32,
    from_tail: u32,
    /// True if anything came from the worker.
    answered: bool,
    wants_room: bool,
    /// True if `front_sleeps` may still be set.
    slept: bool,
    lied: bool,
    /// True if the request is in the channel: offered and not taken back.
    placed: bool,
}

impl Front {
    pub(crate) fn new(channel: usize) -> Self {
        Self {
            channel,
            epoch: 0,
            to_head: 0,
            to_tail: 0,
            from_tail: 0,
            answered: false,
            wants_room: false,
            slept: false,
            lied: false,
            placed: false,
        }
    }

    fn words<'a, M: Medium>(&self, memory: &'a M) -> &'a Words<M::Atomics> {
        &memory.control().channels[self.channel]
    }

    /// Begins a new request of the epoch `epoch` (not 0, not one of before). [`announce`] has to follow.
    pub(crate) fn offer<M: Medium>(&mut self, memory: &M, epoch: u32, waker: u32, message: &[u8]) -> usize {
        let taken = message.len().min(M::capacity(Stream::ToWorker) as usize);
        *self = Self { epoch, to_head: taken as u32, placed: true, ..Self::new(self.channel) };
        let words = self.words(memory);
        let free = self.is_free(memory);
        if !free {
            // The worker may be reading what is overwritten now: it is to see so before it sees the new bytes.
            words.front.0.to_head.store(stamp(epoch, 0), Relaxed);
            M::Atomics::fence();
        }
        put(memory, self.channel, Stream::ToWorker, 0, &message[..taken]);
        words.worker.0.front_sleeps.swap(0, Relaxed);
        let words = &words.front.0;
        words.waker.store(waker, Relaxed);
        words.from_tail.store(stamp(epoch, 0), Relaxed);
        words.to_head.store(stamp(epoch, self.to_head), Relaxed);
        words.state.swap(stamp(epoch, OFFERED), AcqRel);
        if !free {
            // A worker that is still at the channel's last request finds itself abandoned, whatever it waits for.
            wake(memory, AWAITS_INPUT | AWAITS_OUTLET);
        }
        taken
    }

    pub(crate) fn take_back<M: Medium>(&mut self, memory: &M) -> bool {
        if !self.placed || self.answered {
            return false;
        }
        let state = &self.words(memory).front.0.state;
        let back = state.exchange(stamp(self.epoch, OFFERED), stamp(self.epoch, FREE));
        self.placed = !back;
        back
    }

    /// Returns whether the worker says that it has the request. It may lie.
    pub(crate) fn is_taken<M: Medium>(&self, memory: &M) -> bool {
        self.placed && self.words(memory).front.0.state.load(Relaxed) != stamp(self.epoch, OFFERED)
    }

    /// Returns whether the worker says that no request is in the channel.
    pub(crate) fn is_free<M: Medium>(&self, memory: &M) -> bool {
        unstamp(self.words(memory).front.0.state.load(Acquire)).1 == FREE
    }

    pub(crate) fn write<M: Medium>(&mut self, memory: &M, bytes: &[u8]) -> usize {
        if !self.placed || bytes.is_empty() {
            return 0;
        }
        self.awake(memory);
        let taken = bytes.len().min(self.room(memory) as usize);
        if taken == 0 {
            return 0;
        }
        put(memory, self.channel, Stream::ToWorker, self.to_head, &bytes[..taken]);
        self.to_head = self.to_head.wrapping_add(taken as u32);
        self.words(memory).front.0.to_head.store(stamp(self.epoch, self.to_head), Release);
        wake(memory, AWAITS_INPUT);
        taken
    }

    /// Bytes that can be written, by what the worker says it has read; never more than the capacity.
    fn room<M: Medium>(&mut self, memory: &M) -> u32 {
        let tail = position(self.words(memory).worker.0.to_tail.load(Acquire), self.epoch);
        // It can't have read what was not written, nor unread.
        if tail.wrapping_sub(self.to_tail) > self.to_head.wrapping_sub(self.to_tail) {
            self.lied = true;
        } else {
            self.to_tail = tail;
        }
        if self.lied { 0 } else { M::capacity(Stream::ToWorker) - self.to_head.wrapping_sub(self.to_tail) }
    }

    /// Bytes that can be read; never more than the capacity.
    fn available<M: Medium>(&mut self, memory: &M) -> u32 {
        let head = position(self.words(memory).worker.0.from_head.load(Acquire), self.epoch);
        let available = head.wrapping_sub(self.from_tail);
        // A position of another epoch, once ours was seen, counts as 0 and is far behind, too.
        if available > M::capacity(Stream::FromWorker) {
            self.lied = true;
        }
        if self.lied { 0 } else { available }
    }

    pub(crate) fn read<M: Medium>(
        &mut self,
        memory: &M,
        into: &mut Vec<u8>,
        most: usize,
    ) -> Result<usize, Violation> {
        if !self.placed {
            return Ok(0);
        }
        self.awake(memory);
        let count = self.available(memory).min(u32::try_from(most).unwrap_or(u32::MAX));
        if self.lied {
            return Err(Violation);
        }
        if count == 0 {
            return Ok(0);
        }
        let (at, first, rest) = pieces::<M>(Stream::FromWorker, self.from_tail, count);
        memory.append(self.channel, Stream::FromWorker, at, first, into);
        if rest > 0 {
            memory.append(self.channel, Stream::FromWorker, 0, rest, into);
        }
        self.answered = true;
        self.from_tail = self.from_tail.wrapping_add(count);
        self.words(memory).front.0.from_tail.store(stamp(self.epoch, self.from_tail), Release);
        wake(memory, AWAITS_OUTLET);
        Ok(count as usize)
    }

    pub(crate) fn sleep<M: Medium>(&mut self, memory: &M) -> bool {
        if !self.placed {
            return true;
        }
        let reasons = if self.wants_room { AWAITS_BYTES | AWAITS_ROOM } else { AWAITS_BYTES };
        // Together with whose bell it is: a worker may look at a channel that it has not been offered yet.
        self.words(memory).worker.0.front_sleeps.swap(reasons, Release);
        self.slept = true;
        M::Atomics::fence();
        let something = self.has_news(memory);
        if something {
            self.awake(memory);
        }
        !something
    }

    pub(crate) fn has_news<M: Medium>(&mut self, memory: &M) -> bool {
        self.placed && (self.available(memory) > 0 || self.wants_room && self.room(memory) > 0 || self.lied)
    }

    /// Spares the worker the wake-up that it would else owe.
    fn awake<M: Medium>(&mut self, memory: &M) {
        if self.slept {
            self.slept = false;
            self.words(memory).worker.0.front_sleeps.swap(0, Relaxed);
        }
    }

    pub(crate) fn want_room(&mut self, wanted: bool) {
        self.wants_room = wanted;
    }

    pub(crate) fn abandon<M: Medium>(&mut self, memory: &M) {
        if self.placed {
            self.words(memory).front.0.abandoned.store(self.epoch, Release);
            wake(memory, AWAITS_INPUT | AWAITS_OUTLET);
        }
    }
}

/// Wakes the worker if it sleeps until a request is offered; to be called after offers.
pub(crate) fn announce<M: Medium>(memory: &M) {
    wake(memory, AWAITS_REQUEST);
}

/// Wakes the worker if it sleeps for one of these reasons; to be called after anything that it could wait for.
fn wake<M: Medium>(memory: &M, reasons: u32) {
    M::Atomics::fence();
    let sleeps = &memory.control().worker_sleeps.0;
    // It is loaded first because a swap would take the cache line from the worker each time.
    if sleeps.load(Relaxed) & reasons != 0 && sleeps.swap(0, Relaxed) != 0 {
        memory.wake_worker();
    }
}
