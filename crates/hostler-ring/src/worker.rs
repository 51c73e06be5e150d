//! The worker's end: takes requests one after another, and sleeps in between.
//!
//! **Runs as** the site's user, inside an engine. A child that a program forks shares the memory: it must not go on
//! with a conversation of its parent's, nor drop it ([`std::mem::forget`]).

use crate::algorithm::{PendingWakes, Talk, take};
use crate::mapped::WorkerMemory;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time that a response waits before the front is woken for it, while further requests are served.
const LINGER: Duration = Duration::from_micros(50);

/// A worker's memory.
#[derive(Debug)]
pub struct Worker {
    mapped: Arc<WorkerMemory>,
    owed: PendingWakes,
    /// Since when something has been owed.
    since: Option<Instant>,
}

impl Worker {
    /// Maps the memory that the front has made for this worker; `wakers` are the eventfds of the front's threads, by
    /// number.
    ///
    /// # Errors
    /// `InvalidData` for anything but such memory; the kernel's.
    pub fn attach(memory: OwnedFd, wakers: Vec<OwnedFd>) -> io::Result<Self> {
        // The mapping stays when the descriptor is closed.
        let mapped = WorkerMemory::attach(&memory, Arc::new(wakers))?;
        drop(memory);
        Ok(Self { mapped: Arc::new(mapped), owed: PendingWakes::default(), since: None })
    }

    /// The next request, oldest first; waits for it. `None` after `timeout` (`None`: for ever) or when a signal
    /// handler ran. One that runs in the instant before the sleep goes unnoticed: who has to hear of it gives a
    /// timeout.
    pub fn next(&mut self, timeout: Option<Duration>) -> Option<Conversation> {
        if self.since.is_some_and(|since| since.elapsed() >= LINGER) {
            self.settle();
        }
        let talk = take(&*self.mapped, timeout, &mut self.owed).ok();
        if self.owed.is_none() {
            self.since = None;
        }
        Some(Conversation { mapped: self.mapped.clone(), talk: talk? })
    }

    /// Ends a conversation at the time `now`. The front is not woken for it before [`next`](Self::next), and not
    /// there either if there is another request, up to a time that nobody notices: several answers then cost one
    /// wake-up. To be preferred to [`Conversation::finish`] when requests have been short lately. One that turns out
    /// to be long after all keeps nobody waiting, since the front looks by itself about a millisecond after it has
    /// placed a request behind another.
    pub fn finish(&mut self, mut conversation: Conversation, now: Instant) {
        conversation.talk.finish_quietly(&*self.mapped, &mut self.owed);
        self.since.get_or_insert(now);
    }

    /// Wakes whoever waits for an answer that is there. Dropping the worker does it, too.
    pub fn settle(&mut self) {
        self.owed.settle(&*self.mapped);
        self.since = None;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.settle();
    }
}

/// One request: its bytes in, the answer's bytes out. Dropping it lets the channel go.
#[derive(Debug)]
pub struct Conversation {
    mapped: Arc<WorkerMemory>,
    talk: Talk,
}

impl Conversation {
    /// Reads what is there, waiting for at least a byte. 0: nobody waits for the answer any more. What was written
    /// is published before it waits.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        loop {
            if let Ok(count) = self.read_some(into) {
                return count;
            }
        }
    }

    /// As [`read`](Self::read), but ends when a signal handler ran.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn read_some(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.talk.read(&*self.mapped, into).map_err(|_| io::ErrorKind::Interrupted.into())
    }

    /// Writes all bytes into the shared memory. They become visible with [`publish`](Self::publish), or when many
    /// have come together. Waits while there is no room; drops the rest when nobody waits for the answer any more.
    pub fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.write_some(bytes) {
                Ok(0) => return,
                Ok(count) => bytes = &bytes[count..],
                Err(_) => {}
            }
        }
    }

    /// Writes at least one byte, waiting for room until a signal handler has run. 0: nobody waits for the answer any
    /// more.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.talk.write(&*self.mapped, bytes).map_err(|_| io::ErrorKind::Interrupted.into())
    }

    /// Makes what was written visible, and wakes the front if it sleeps.
    pub fn publish(&mut self) {
        self.talk.publish(&*self.mapped);
    }

    /// Returns whether nobody waits for the answer any more.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.talk.is_abandoned(&*self.mapped)
    }

    /// Publishes, and lets the channel go.
    pub fn finish(self) {
        drop(self);
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.talk.finish(&*self.mapped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;

    #[test]
    fn requests_come_oldest_first_whichever_channel_they_are_in() {
        let (memory, fd) = Memory::create().unwrap();
        let mut worker = Worker::attach(fd, Vec::new()).unwrap();
        let mut channels = [memory.channel(0), memory.channel(1)];
        for order in [[0, 1], [1, 0], [1, 0], [0, 1]] {
            for index in order {
                channels[index].offer(0, &[index as u8]);
            }
            for index in order {
                let mut byte = [9];
                worker.next(None).unwrap().read(&mut byte);
                assert_eq!(byte, [index as u8]);
            }
            assert!(worker.next(Some(Duration::ZERO)).is_none());
        }
    }

    #[test]
    fn order_survives_the_wrap_of_sequence_numbers() {
        let (memory, fd) = Memory::create().unwrap();
        memory.skip_to(u32::MAX);
        let mut worker = Worker::attach(fd, Vec::new()).unwrap();
        let mut channels = [memory.channel(0), memory.channel(1)];
        channels[1].offer(0, b"old");
        channels[0].offer(0, b"new");
        let mut bytes = [0; 3];
        worker.next(None).unwrap().read(&mut bytes);
        assert_eq!(&bytes, b"old");
        worker.next(None).unwrap().read(&mut bytes);
        assert_eq!(&bytes, b"new");
    }

    #[test]
    fn nothing_to_do_ends_with_the_timeout() {
        let (_memory, fd) = Memory::create().unwrap();
        let mut worker = Worker::attach(fd, Vec::new()).unwrap();
        let start = std::time::Instant::now();
        assert!(worker.next(Some(Duration::from_millis(20))).is_none());
        // Time: the timeout is what is tested; longer it may take.
        assert!(start.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn memory_that_no_front_has_made_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(Worker::attach(file.into(), Vec::new()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let (_mapping, fd) = hostler_sys::shared::Mapping::create("blank", crate::layout::LENGTH).unwrap();
        assert_eq!(Worker::attach(fd, Vec::new()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
