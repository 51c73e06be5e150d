//! The memory for real: a mapped memory file, the processor's atomics, a futex, eventfds.

use crate::algorithm::{Atomic, Atomics, Medium, Stream, announce, atomic};
use crate::front::Channel;
use crate::layout::{CHANNELS, CONTROL, Control, FROM_WORKER, LENGTH, NUMBER, TO_WORKER, unstamp};
use hostler_sys::shared::{self, Mapping, WaitResult};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// The processor's atomics.
pub(crate) struct Native;

impl Atomics for Native {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    fn fence() {
        fence(Ordering::SeqCst);
    }
}

atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);

/// A mapping of a worker's memory, and the bells that this process can ring.
#[derive(Debug)]
pub(crate) struct WorkerMemory {
    mapping: Mapping,
    wakers: Arc<Vec<OwnedFd>>,
    sleeper: Sleeper,
}

/// The place where the worker sleeps.
#[derive(Debug)]
enum Sleeper {
    /// On the word that says so.
    Futex,
    /// In an event loop, which whoever uses the memory wakes by ways of its own.
    EventLoop(Due),
}

/// The notifications that a side of an event loop's memory owes the other.
#[derive(Debug, Default)]
struct Due {
    /// The worker's event loop is to be woken.
    call: AtomicBool,
    /// The number of the bell that is to be rung and 1; 0: none is.
    bell: AtomicU32,
}

/// A bell that is to be rung for a thread of the front.
#[derive(Clone, Debug)]
pub struct Bell {
    bells: Arc<Vec<OwnedFd>>,
    number: u32,
}

impl Bell {
    /// Wakes the thread.
    pub fn ring(&self) {
        if let Some(bell) = self.bells.get(self.number as usize) {
            shared::ring(bell);
        }
    }
}

impl PartialEq for Bell {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number && Arc::ptr_eq(&self.bells, &other.bells)
    }
}

impl WorkerMemory {
    /// Maps what the front has created.
    pub(crate) fn attach(memory: &OwnedFd, wakers: Arc<Vec<OwnedFd>>) -> io::Result<Self> {
        Self::attach_for(memory, wakers, Sleeper::Futex)
    }

    /// The same for a worker that waits in an event loop: no bell is rung, but [`take_bell`](Self::take_bell) tells of it.
    pub(crate) fn attach_polled(memory: &OwnedFd, wakers: Arc<Vec<OwnedFd>>) -> io::Result<Self> {
        Self::attach_for(memory, wakers, Sleeper::EventLoop(Due::default()))
    }

    fn attach_for(memory: &OwnedFd, wakers: Arc<Vec<OwnedFd>>, sleeper: Sleeper) -> io::Result<Self> {
        let mapped = Self { mapping: Mapping::attach(memory, LENGTH)?, wakers, sleeper };
        if mapped.control().layout.0.load(Ordering::Relaxed) != NUMBER {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "shared memory of another version"));
        }
        Ok(mapped)
    }

    /// The bell that is to be rung since this was last asked.
    pub(crate) fn take_bell(&self) -> Option<Bell> {
        let Sleeper::EventLoop(due) = &self.sleeper else { return None };
        let number = due.bell.load(Ordering::Relaxed).checked_sub(1)?;
        due.bell.store(0, Ordering::Relaxed);
        Some(Bell { bells: self.wakers.clone(), number })
    }

    fn offset(channel: usize, stream: Stream, at: u32) -> usize {
        let begin = match stream {
            Stream::ToWorker => 0,
            Stream::FromWorker => TO_WORKER,
        };
        CONTROL + channel * (TO_WORKER + FROM_WORKER) as usize + (begin + at) as usize
    }
}

impl Medium for WorkerMemory {
    type Atomics = Native;
    // One to two microseconds: about the time that a wake-up costs the other side.
    const SPINS: u32 = 60;

    fn control(&self) -> &Control<Native> {
        const { assert!(size_of::<Control<Native>>() <= CONTROL) }
        // SAFETY: the mapping is longer than a `Control`, aligned to a page, lives as long as `self`, and every field
        // is an atomic, for which all bit patterns are valid and which others may change.
        unsafe { self.mapping.start().cast().as_ref() }
    }

    fn capacity(stream: Stream) -> u32 {
        match stream {
            Stream::ToWorker => TO_WORKER,
            Stream::FromWorker => FROM_WORKER,
        }
    }

    fn put(&self, channel: usize, stream: Stream, at: u32, bytes: &[u8]) {
        self.mapping.put(Self::offset(channel, stream, at), bytes);
    }

    fn copy(&self, channel: usize, stream: Stream, at: u32, into: &mut [u8]) {
        self.mapping.copy(Self::offset(channel, stream, at), into);
    }

    fn append(&self, channel: usize, stream: Stream, at: u32, length: u32, into: &mut Vec<u8>) {
        self.mapping.append(Self::offset(channel, stream, at), length as usize, into);
    }

    fn sleep(&self, reason: u32, timeout: Option<Duration>) -> WaitResult {
        shared::wait(&self.control().worker_sleeps.0, reason, timeout)
    }

    fn wake_worker(&self) {
        match &self.sleeper {
            Sleeper::Futex => shared::wake(&self.control().worker_sleeps.0),
            Sleeper::EventLoop(due) => due.call.store(true, Ordering::Relaxed),
        }
    }

    fn wake_front(&self, waker: u32) {
        match &self.sleeper {
            Sleeper::Futex => {
                if let Some(bell) = self.wakers.get(waker as usize) {
                    shared::ring(bell);
                }
            }
            Sleeper::EventLoop(due) => due.bell.store(waker.wrapping_add(1), Ordering::Relaxed),
        }
    }
}

/// The front's side of one worker's memory: creates it, and hands out its channels.
#[derive(Debug)]
pub struct Memory {
    pub(crate) mapped: WorkerMemory,
    /// Sequence number of the last request, over all channels.
    sequence: AtomicU32,
    owned: [AtomicBool; CHANNELS],
}

impl Memory {
    /// Creates and maps the memory. The descriptor is for the worker; no holder of it can change the length.
    ///
    /// # Errors
    /// The kernel's (ENOMEM, EMFILE).
    pub fn create() -> io::Result<(Arc<Self>, OwnedFd)> {
        Self::create_for(Sleeper::Futex)
    }

    /// As [`create`](Self::create), for a worker that waits in an event loop ([`crate::polled`]): whoever has done something in a
    /// channel asks [`is_called`](Self::is_called), and wakes the loop by other means if so.
    ///
    /// # Errors
    /// As those of `create`.
    pub fn create_polled() -> io::Result<(Arc<Self>, OwnedFd)> {
        Self::create_for(Sleeper::EventLoop(Due::default()))
    }

    fn create_for(sleeper: Sleeper) -> io::Result<(Arc<Self>, OwnedFd)> {
        let (mapping, fd) = Mapping::create("hostler-worker", LENGTH)?;
        let mapped = WorkerMemory { mapping, wakers: Arc::default(), sleeper };
        mapped.control().layout.0.store(NUMBER, Ordering::Relaxed);
        let memory = Self { mapped, sequence: AtomicU32::new(0), owned: Default::default() };
        Ok((Arc::new(memory), fd))
    }

    /// Makes memory that nobody holds any more, the worker included, as good as new for another worker: nothing of
    /// what was said in it is left. False: somebody still holds it, or so much was said that new memory is cheaper.
    pub fn renew(memory: &mut Arc<Self>) -> bool {
        const PAGE: u32 = 4096;
        let Some(memory) = Arc::get_mut(memory) else { return false };
        let mapped = &memory.mapped;
        for (channel, words) in mapped.control().channels.iter().enumerate() {
            let said = [
                (Stream::ToWorker, words.front.0.to_head.load(Ordering::Relaxed)),
                (Stream::FromWorker, words.worker.0.from_head.load(Ordering::Relaxed)),
            ];
            for (stream, word) in said {
                let (_, bytes) = unstamp(word);
                if bytes > PAGE {
                    return false;
                }
                mapped.put(channel, stream, 0, &[0; PAGE as usize][..bytes as usize]);
            }
        }
        mapped.mapping.put(0, &[0; CONTROL]);
        mapped.control().layout.0.store(NUMBER, Ordering::Relaxed);
        memory.sequence = AtomicU32::new(0);
        true
    }

    /// The front's end of a channel; dropping it lets another be made, on another thread perhaps.
    ///
    /// # Panics
    /// When there is no channel of this index ([`CHANNELS`]), or its end is still in someone's hands.
    #[must_use]
    pub fn channel(self: &Arc<Self>, index: usize) -> Channel {
        assert!(!self.owned[index].swap(true, Ordering::Acquire), "a channel has one owner");
        Channel::new(self.clone(), index)
    }

    /// Wakes the worker if it sleeps until a request is offered.
    pub fn announce(&self) {
        announce(&self.mapped);
    }

    /// Returns whether the worker's event loop is to be woken since this was last asked.
    #[must_use]
    pub fn is_called(&self) -> bool {
        match &self.mapped.sleeper {
            Sleeper::Futex => false,
            Sleeper::EventLoop(due) => {
                due.call.load(Ordering::Relaxed) && due.call.swap(false, Ordering::Relaxed)
            }
        }
    }

    /// Makes this the next epoch.
    #[cfg(test)]
    pub(crate) fn skip_to(&self, epoch: u32) {
        self.sequence.store(epoch.wrapping_sub(1), Ordering::Relaxed);
    }

    /// Takes an end back.
    pub(crate) fn release(&self, index: usize) {
        self.owned[index].store(false, Ordering::Release);
    }

    /// The next request's epoch: not 0, which is that of fresh memory.
    pub(crate) fn next_epoch(&self) -> u32 {
        loop {
            let epoch = self.sequence.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            if epoch != 0 {
                return epoch;
            }
        }
    }
}
