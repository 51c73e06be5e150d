//! The worker's side: it takes requests, reads, writes, and sleeps when there is nothing else to do.

use super::{Atomic, Atomics, Medium, Stream, pieces, put};
use crate::layout::{
    AWAITS_BYTES, AWAITS_INPUT, AWAITS_OUTLET, AWAITS_REQUEST, AWAITS_ROOM, CHANNELS, FREE, OFFERED, TAKEN,
    Words, position, stamp, unstamp,
};
use hostler_sys::shared::WaitResult;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// Written bytes are published at the latest when there are so many, so that the front reads along.
const PUBLISH_AT: u32 = 32 << 10;

/// The worker's private state of one request.
#[derive(Debug)]
pub(crate) struct Talk {
    channel: usize,
    epoch: u32,
    to_tail: u32,
    from_head: u32,
    published: u32,
    /// The front's position as last seen.
    from_tail: u32,
}

/// Channels in which something was published and nobody was woken for it yet, a bit for each.
#[derive(Debug, Default)]
pub(crate) struct PendingWakes(u32);

impl PendingWakes {
    pub(crate) fn is_none(&self) -> bool {
        self.0 == 0
    }

    /// Wakes those of the front's threads that sleep, each once.
    pub(crate) fn settle<M: Medium>(&mut self, memory: &M) {
        const { assert!(CHANNELS <= 32) }
        if self.is_none() {
            return;
        }
        M::Atomics::fence();
        let (mut bells, mut count) = ([0; CHANNELS], 0);
        let owed = std::mem::take(&mut self.0);
        for channel in (0..M::CHANNELS).filter(|channel| owed & 1 << channel != 0) {
            let words = &memory.control().channels[channel];
            let sleeps = &words.worker.0.front_sleeps;
            if sleeps.load(Relaxed) & AWAITS_BYTES != 0 && sleeps.swap(0, Acquire) != 0 {
                let waker = words.front.0.waker.load(Relaxed);
                if !bells[..count].contains(&waker) {
                    bells[count] = waker;
                    count += 1;
                }
            }
        }
        // Only now: a thread that woke for the first could be asleep again before the last had its turn.
        bells[..count].iter().for_each(|waker| memory.wake_front(*waker));
    }
}

/// Takes the oldest request that is offered. Waits for one, but pays first what is owed; `Err` when it was not woken
/// for one.
pub(crate) fn take<M: Medium>(
    memory: &M,
    timeout: Option<Duration>,
    owed: &mut PendingWakes,
) -> Result<Talk, WaitResult> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        if let Some((channel, _)) = oldest(memory) {
            match take_from(memory, channel) {
                Some(talk) => return Ok(talk),
                None => continue,
            }
        }
        owed.settle(memory);
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(WaitResult::TimedOut);
        }
        match wait(memory, AWAITS_REQUEST, left, || oldest(memory).is_some()) {
            WaitResult::Interrupted => return Err(WaitResult::Interrupted),
            WaitResult::Woken | WaitResult::TimedOut => {}
        }
    }
}

/// The offered request with the smallest epoch, and its channel.
fn oldest<M: Medium>(memory: &M) -> Option<(usize, u32)> {
    let mut found: Option<(usize, u32)> = None;
    for channel in 0..M::CHANNELS {
        let Some(epoch) = offered(memory, channel) else { continue };
        // Epochs wrap around; those that can be compared here are close to each other.
        let older = |than: u32| (epoch.wrapping_sub(than) as i32) < 0;
        if found.is_none_or(|(_, than)| older(than)) {
            found = Some((channel, epoch));
        }
    }
    found
}

/// The epoch of the request that is offered in a channel.
pub(crate) fn offered<M: Medium>(memory: &M, channel: usize) -> Option<u32> {
    let (epoch, state) = unstamp(memory.control().channels[channel].front.0.state.load(Acquire));
    (state == OFFERED).then_some(epoch)
}

/// Takes the request that is offered in a channel, if there is one.
pub(crate) fn take_from<M: Medium>(memory: &M, channel: usize) -> Option<Talk> {
    let epoch = offered(memory, channel)?;
    let state = &memory.control().channels[channel].front.0.state;
    // The front may have taken it back, or replaced it, since.
    let is_taken = state.exchange(stamp(epoch, OFFERED), stamp(epoch, TAKEN));
    is_taken.then(|| Talk::new(channel, epoch))
}

/// Says that the worker sleeps, for these reasons. False: it is `ready`, and need not.
pub(crate) fn says_asleep<M: Medium>(memory: &M, reasons: u32, ready: impl FnOnce() -> bool) -> bool {
    let sleeps = &memory.control().worker_sleeps.0;
    sleeps.swap(reasons, Relaxed);
    M::Atomics::fence();
    let is_ready = ready();
    if is_ready {
        sleeps.swap(0, Relaxed);
    }
    !is_ready
}

/// Returns as soon as `ready`, or when the wait has ended otherwise. The front wakes a sleeper only for its reason.
fn wait<M: Medium>(
    memory: &M,
    reason: u32,
    timeout: Option<Duration>,
    ready: impl Fn() -> bool,
) -> WaitResult {
    for _ in 0..M::SPINS {
        if ready() {
            return WaitResult::Woken;
        }
        std::hint::spin_loop();
    }
    if !says_asleep(memory, reason, ready) {
        return WaitResult::Woken;
    }
    let waited = memory.sleep(reason, timeout);
    memory.control().worker_sleeps.0.swap(0, Relaxed);
    waited
}

impl Talk {
    const fn new(channel: usize, epoch: u32) -> Self {
        Self { channel, epoch, to_tail: 0, from_head: 0, published: 0, from_tail: 0 }
    }

    fn words<'a, M: Medium>(&self, memory: &'a M) -> &'a Words<M::Atomics> {
        &memory.control().channels[self.channel]
    }

    #[cfg(test)]
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn is_abandoned<M: Medium>(&self, memory: &M) -> bool {
        let words = &self.words(memory).front.0;
        words.abandoned.load(Acquire) == self.epoch || self.is_replaced(memory)
    }

    /// Returns whether the front has begun to put another request into the channel.
    fn is_replaced<M: Medium>(&self, memory: &M) -> bool {
        unstamp(self.words(memory).front.0.to_head.load(Acquire)).0 != self.epoch
    }

    /// Bytes that can be read.
    pub(crate) fn available<M: Medium>(&self, memory: &M) -> u32 {
        let head = self.words(memory).front.0.to_head.load(Acquire);
        let available = position(head, self.epoch).wrapping_sub(self.to_tail);
        if available > M::capacity(Stream::ToWorker) { 0 } else { available }
    }

    /// Reads what is there; `None`: nothing. 0: abandoned.
    pub(crate) fn read_now<M: Medium>(&mut self, memory: &M, into: &mut [u8]) -> Option<usize> {
        let count = self.available(memory).min(u32::try_from(into.len()).unwrap_or(u32::MAX)) as usize;
        if count == 0 {
            return None;
        }
        self.copy(memory, &mut into[..count]);
        // What another request has overwritten meanwhile is not ours.
        Some(if self.is_replaced(memory) { 0 } else { count })
    }

    /// Reads what is there, at least a byte; 0: abandoned (or no room in `into`).
    pub(crate) fn read<M: Medium>(&mut self, memory: &M, into: &mut [u8]) -> Result<usize, WaitResult> {
        loop {
            if let Some(count) = self.read_now(memory, into) {
                return Ok(count);
            }
            if into.is_empty() || self.is_abandoned(memory) {
                return Ok(0);
            }
            self.publish(memory);
            let ready = || self.available(memory) > 0 || self.is_abandoned(memory);
            if wait(memory, AWAITS_INPUT, None, ready) == WaitResult::Interrupted {
                return Err(WaitResult::Interrupted);
            }
        }
    }

    fn copy<M: Medium>(&mut self, memory: &M, into: &mut [u8]) {
        let (at, first, rest) = pieces::<M>(Stream::ToWorker, self.to_tail, into.len() as u32);
        let (begin, end) = into.split_at_mut(first as usize);
        memory.copy(self.channel, Stream::ToWorker, at, begin);
        if rest > 0 {
            memory.copy(self.channel, Stream::ToWorker, 0, end);
        }
        self.to_tail = self.to_tail.wrapping_add(first + rest);
        let words = &self.words(memory).worker.0;
        words.to_tail.store(stamp(self.epoch, self.to_tail), Release);
        self.wake(memory, AWAITS_ROOM);
    }

    /// Bytes that can be written.
    pub(crate) fn room<M: Medium>(&self, memory: &M) -> u32 {
        let tail = position(self.words(memory).front.0.from_tail.load(Acquire), self.epoch);
        let used = self.from_head.wrapping_sub(tail);
        M::capacity(Stream::FromWorker).saturating_sub(used)
    }

    /// Writes what there is room for: how many bytes.
    pub(crate) fn write_now<M: Medium>(&mut self, memory: &M, bytes: &[u8]) -> usize {
        let capacity = M::capacity(Stream::FromWorker);
        let mut room = capacity - self.from_head.wrapping_sub(self.from_tail);
        if room == 0 {
            room = self.room(memory);
            self.from_tail = self.from_head.wrapping_sub(capacity - room);
        }
        let count = bytes.len().min(room as usize);
        if count > 0 {
            put(memory, self.channel, Stream::FromWorker, self.from_head, &bytes[..count]);
            self.from_head = self.from_head.wrapping_add(count as u32);
            if self.from_head.wrapping_sub(self.published) >= PUBLISH_AT.min(capacity) {
                self.publish(memory);
            }
        }
        count
    }

    /// Writes at least a byte (of a `bytes` that isn't empty), waiting for room. 0: abandoned.
    pub(crate) fn write<M: Medium>(&mut self, memory: &M, bytes: &[u8]) -> Result<usize, WaitResult> {
        loop {
            let count = self.write_now(memory, bytes);
            if count > 0 {
                return Ok(count);
            }
            if bytes.is_empty() || self.is_abandoned(memory) {
                return Ok(0);
            }
            self.publish(memory);
            let ready = || self.room(memory) > 0 || self.is_abandoned(memory);
            if wait(memory, AWAITS_OUTLET, None, ready) == WaitResult::Interrupted {
                return Err(WaitResult::Interrupted);
            }
        }
    }

    pub(crate) fn publish<M: Medium>(&mut self, memory: &M) {
        if self.published != self.from_head {
            self.published = self.from_head;
            let words = &self.words(memory).worker.0;
            words.from_head.store(stamp(self.epoch, self.from_head), Release);
            self.wake(memory, AWAITS_BYTES);
        }
    }

    /// Wakes the front if it sleeps and waits for this.
    fn wake<M: Medium>(&self, memory: &M, reason: u32) {
        M::Atomics::fence();
        let words = self.words(memory);
        let sleeps = &words.worker.0.front_sleeps;
        if sleeps.load(Relaxed) & reason != 0 && sleeps.swap(0, Acquire) != 0 {
            memory.wake_front(words.front.0.waker.load(Relaxed));
        }
    }

    /// Publishes, and lets the channel go, unless the front has already put another request into it.
    pub(crate) fn finish<M: Medium>(&mut self, memory: &M) {
        self.publish(memory);
        self.let_go(memory);
    }

    /// As [`finish`](Self::finish), but leaves it to [`PendingWakes::settle`] to wake the front.
    pub(crate) fn finish_quietly<M: Medium>(&mut self, memory: &M, owed: &mut PendingWakes) {
        if self.published != self.from_head {
            self.published = self.from_head;
            let words = &self.words(memory).worker.0;
            words.from_head.store(stamp(self.epoch, self.from_head), Release);
            owed.0 |= 1 << self.channel;
        }
        self.let_go(memory);
    }

    fn let_go<M: Medium>(&self, memory: &M) {
        let state = &self.words(memory).front.0.state;
        state.exchange(stamp(self.epoch, TAKEN), stamp(self.epoch, FREE));
    }
}
