//! The worker's end in an event loop: one channel of a memory, and nothing here waits.
//!
//! How the loop is woken when the front has done something is the business of those who use both: the front asks
//! [`Memory::is_called`](crate::Memory::is_called). The loop in turn looks whenever it is woken, and says that it sleeps
//! ([`PolledWorker::sleep`]) before it goes on waiting. Nor does this side ring the front's bells: which is due it tells
//! ([`PolledWorker::take_bell`]), so that one is rung once for several answers.
//!
//! **Runs as** the site's user, inside an engine. A child that a program forks shares the memory: it must not go on with what it
//! finds there, nor drop it ([`std::mem::forget`]).

use crate::algorithm::{Medium as _, Talk, offered, says_asleep, take_from};
use crate::layout::{AWAITS_INPUT, AWAITS_OUTLET, AWAITS_REQUEST};
use crate::mapped::{Bell, WorkerMemory};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The channel.
const CHANNEL: usize = 0;

/// A memory of which one channel is used.
#[derive(Debug)]
pub struct PolledWorker {
    mapped: WorkerMemory,
    /// The request that was begun last; `None`: none, or it is over.
    talk: Option<Talk>,
}

impl PolledWorker {
    /// Maps the memory that the front has made; `wakers` are the eventfds of the front's threads, by number.
    ///
    /// # Errors
    /// `InvalidData` for anything but such memory; the kernel's.
    pub fn attach(memory: &OwnedFd, wakers: Arc<Vec<OwnedFd>>) -> io::Result<Self> {
        Ok(Self { mapped: WorkerMemory::attach_polled(memory, wakers)?, talk: None })
    }

    /// Begins with the request that is offered; the one before is over by that. False: none is.
    pub fn begin(&mut self) -> bool {
        let Some(talk) = take_from(&self.mapped, CHANNEL) else { return false };
        self.talk = Some(talk);
        true
    }

    /// Reads what is there of the request: how many bytes.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        self.talk.as_mut().and_then(|talk| talk.read_now(&self.mapped, into)).unwrap_or(0)
    }

    /// Writes what there is room for, how many bytes, and publishes it.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let Some(talk) = &mut self.talk else { return 0 };
        let count = talk.write_now(&self.mapped, bytes);
        talk.publish(&self.mapped);
        count
    }

    /// The request's answer is complete.
    pub fn finish(&mut self) {
        if let Some(mut talk) = self.talk.take() {
            talk.finish(&self.mapped);
        }
    }

    /// The bell that is to be rung for what was done since this was last asked; sooner or later somebody has to.
    #[must_use]
    pub fn take_bell(&self) -> Option<Bell> {
        self.mapped.take_bell()
    }

    /// Returns whether the worker says that it sleeps, and has not been called since.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.mapped.control().worker_sleeps.0.load(Relaxed) != 0
    }

    /// Says that the worker waits for requests; if it `reads`, for more of the one that it has begun; and if it wants that, for
    /// room. True: it will be called. False: there is something already.
    #[must_use]
    pub fn sleep(&mut self, reads: bool, wants_room: bool) -> bool {
        let mut reasons = AWAITS_REQUEST;
        if reads {
            reasons |= AWAITS_INPUT;
        }
        if wants_room {
            reasons |= AWAITS_OUTLET;
        }
        says_asleep(&self.mapped, reasons, || {
            let has = |of: fn(&Talk, &WorkerMemory) -> u32| {
                self.talk.as_ref().is_some_and(|talk| of(talk, &self.mapped) > 0)
            };
            offered(&self.mapped, CHANNEL).is_some()
                || reads && has(Talk::available)
                || wants_room && has(Talk::room)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;

    #[test]
    fn who_polls_is_called_once_for_what_is_there_when_it_has_said_that_it_sleeps() {
        let (memory, fd) = Memory::create_polled().unwrap();
        let mut worker = PolledWorker::attach(&fd, Arc::default()).unwrap();
        let mut channel = memory.channel(0);
        channel.offer(0, b"before");
        assert!(!memory.is_called(), "nobody sleeps");
        assert!(!worker.sleep(true, false), "a request is there");
        assert!(worker.begin());
        let mut bytes = [0; 6];
        assert_eq!(worker.read(&mut bytes), 6);
        assert!(worker.sleep(true, false));
        channel.write(b"more");
        assert!(memory.is_called());
        channel.write(b"and more");
        assert!(!memory.is_called(), "it was called for that");
        assert_eq!(worker.read(&mut bytes), 6);
        assert_eq!(&bytes, b"morean");
    }

    #[test]
    fn a_bell_is_due_for_what_a_front_that_sleeps_waits_for() {
        let (memory, fd) = Memory::create_polled().unwrap();
        let bells =
            Arc::new(vec![hostler_sys::shared::bell().unwrap(), hostler_sys::shared::bell().unwrap()]);
        let mut worker = PolledWorker::attach(&fd, bells.clone()).unwrap();
        let mut channel = memory.channel(0);
        channel.offer(1, b"x");
        assert!(worker.begin());
        worker.write(b"a");
        assert_eq!(worker.take_bell(), None, "nobody sleeps");
        assert_eq!(channel.read(&mut Vec::new(), 9), Ok(1));
        assert!(channel.sleep());
        worker.write(b"b");
        let bell = worker.take_bell().unwrap();
        worker.write(b"c");
        assert_eq!(worker.take_bell(), None, "it is due already");
        let rung = |at: usize| hostler_sys::shared::clear(&bells[at]);
        assert_eq!([0, 1].map(rung), [false, false]);
        bell.ring();
        assert_eq!([0, 1].map(rung), [false, true]);
    }

    #[test]
    fn a_reader_that_rests_is_not_called_for_more_to_read() {
        let (memory, fd) = Memory::create_polled().unwrap();
        let mut worker = PolledWorker::attach(&fd, Arc::default()).unwrap();
        let mut channel = memory.channel(0);
        channel.offer(0, b"x");
        assert!(worker.begin());
        assert!(worker.sleep(false, false), "it does not read");
        channel.write(b"y");
        assert!(!memory.is_called());
        assert!(!worker.sleep(true, false), "now it does");
    }

    #[test]
    fn answers_longer_than_the_stream_go_on_when_the_front_has_read() {
        let (memory, fd) = Memory::create_polled().unwrap();
        let mut worker = PolledWorker::attach(&fd, Arc::default()).unwrap();
        let mut channel = memory.channel(0);
        channel.offer(0, b"x");
        assert!(worker.begin());
        assert_eq!(worker.read(&mut [0]), 1);
        let long = vec![7; 300 << 10];
        let written = worker.write(&long);
        assert_eq!(written, 256 << 10);
        assert!(worker.sleep(true, true));
        let mut read = Vec::new();
        assert_eq!(channel.read(&mut read, 1 << 20), Ok(256 << 10));
        assert!(memory.is_called(), "there is room");
        assert_eq!(worker.write(&long[written..]), long.len() - written);
        worker.finish();
        assert!(channel.is_free());
        assert_eq!(channel.read(&mut read, 1 << 20), Ok(long.len() - written));
        assert_eq!(read, long);
    }
}
