//! The front's end of a channel: offers a request, writes its body, reads the answer. Nothing here waits.
//!
//! **Diagnostics:** a worker whose counters make no sense shows as [`Violation`]; kill it.

use crate::algorithm::Front;
use crate::mapped::Memory;
use std::sync::Arc;

/// One channel of one worker's memory, with one request at a time. Owned by one thread of the front.
#[derive(Debug)]
pub struct Channel {
    memory: Arc<Memory>,
    index: usize,
    front: Front,
}

/// The worker's counters make no sense: its memory was overwritten. There is no way on but to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the worker has overwritten its shared memory")]
pub struct Violation;

impl Channel {
    pub(crate) fn new(memory: Arc<Memory>, index: usize) -> Self {
        Self { memory, index, front: Front::new(index) }
    }

    /// Begins a request: resets both streams, writes as much of `message` as fits, and offers it to the worker,
    /// which it wakes if it sleeps. `waker` is the number of the eventfd that is to wake this thread. Returns the
    /// bytes taken; the rest goes with [`write`](Self::write).
    ///
    /// The request of before may be unfinished on the worker's side: it finds itself abandoned.
    pub fn offer(&mut self, waker: u32, message: &[u8]) -> usize {
        let taken = self.offer_quietly(waker, message);
        self.memory.announce();
        taken
    }

    /// As [`offer`](Self::offer), but the worker is left asleep until [`Memory::announce`]: who offers several
    /// requests at once wakes their workers at the end, and one that is awake sees them all the same.
    pub fn offer_quietly(&mut self, waker: u32, message: &[u8]) -> usize {
        self.front.offer(&self.memory.mapped, self.memory.next_epoch(), waker, message)
    }

    /// Takes the offered request back unless the worker has taken it. True: it is ours again, and the worker will
    /// not see it.
    pub fn take_back(&mut self) -> bool {
        self.front.take_back(&self.memory.mapped)
    }

    /// Returns whether the worker says that it has taken the request.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.front.is_taken(&self.memory.mapped)
    }

    /// Returns whether the worker says that it has let the channel go (or never had it). A request that was abandoned
    /// keeps the worker busy until then.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.front.is_free(&self.memory.mapped)
    }

    /// Writes what fits, and wakes the worker if it sleeps. Returns the bytes taken; 0: full.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.front.write(&self.memory.mapped, bytes)
    }

    /// Appends at most `most` bytes from the worker to `into`; 0: nothing there now. Wakes the worker if it waits
    /// for room.
    ///
    /// # Errors
    /// [`Violation`], now and from now on, also for what [`write`](Self::write) has seen.
    pub fn read(&mut self, into: &mut Vec<u8>, most: usize) -> Result<usize, Violation> {
        self.front.read(&self.memory.mapped, into, most).map_err(|_| Violation)
    }

    /// Returns whether there is something to read, or, if wanted, room; for a thread that does not sleep.
    #[must_use]
    pub fn has_news(&mut self) -> bool {
        self.front.has_news(&self.memory.mapped)
    }

    /// To be called before the thread parks: tells the worker that the front sleeps. True: nothing to do, the worker
    /// will write the eventfd. False: there is something to read, or, if wanted, room.
    #[must_use]
    pub fn sleep(&mut self) -> bool {
        self.front.sleep(&self.memory.mapped)
    }

    /// Returns whether room to write is something to wake up for. Begins as no with each request.
    pub fn want_room(&mut self, wanted: bool) {
        self.front.want_room(wanted);
    }

    /// Tells the worker that nobody waits for the answer any more.
    pub fn abandon(&mut self) {
        self.front.abandon(&self.memory.mapped);
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        if !self.take_back() && !self.is_free() {
            self.abandon();
        }
        self.memory.release(self.index);
    }
}
