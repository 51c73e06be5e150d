//! Every interleaving of small scenarios, and every value that the memory model lets a load see (loom).
//!
//! Bytes are cells whose access loom watches: reading one while the other side may write it fails. A lost wake-up
//! shows as a deadlock. Streams are two bytes long, so that they wrap around and fill up.

use super::{Atomic, Atomics, Front, Medium, Stream, Talk, take};
use crate::layout::{CHANNELS, Control};
use hostler_sys::shared::Waited;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::time::Duration;

#[derive(Default)]
struct Loom;

impl Atomics for Loom {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    fn fence() {
        fence(Ordering::SeqCst);
    }
}

macro_rules! modelled {
    ($atomic:ty, $value:ty) => {
        impl Atomic<$value> for $atomic {
            fn load(&self, order: Ordering) -> $value {
                <$atomic>::load(self, order)
            }
            fn store(&self, value: $value, order: Ordering) {
                <$atomic>::store(self, value, order);
            }
            fn swap(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::swap(self, value, order)
            }
            fn exchange(&self, from: $value, to: $value) -> bool {
                self.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            }
        }
    };
}
modelled!(AtomicU32, u32);
modelled!(AtomicU64, u64);

const CAPACITY: u32 = 2;
const BYTES: usize = CHANNELS * 2 * CAPACITY as usize;

#[derive(Default)]
struct Model {
    control: Control<Loom>,
    bytes: [UnsafeCell<u8>; BYTES],
    futex: (Mutex<()>, Condvar),
    bell: (Mutex<bool>, Condvar),
}

// SAFETY: loom runs one thread at a time and fails when two could reach a cell at once.
unsafe impl Sync for Model {}

impl Model {
    fn cell(&self, channel: usize, stream: Stream, at: u32) -> &UnsafeCell<u8> {
        assert!(at < CAPACITY);
        &self.bytes[(channel * 2 + stream as usize) * CAPACITY as usize + at as usize]
    }

    /// The front's thread in its poller: until its eventfd was written.
    fn park(&self) {
        let mut rung = self.bell.0.lock().unwrap();
        while !*rung {
            rung = self.bell.1.wait(rung).unwrap();
        }
        *rung = false;
    }
}

impl Medium for Model {
    type Atomics = Loom;
    const SPINS: u32 = 0;

    fn control(&self) -> &Control<Loom> {
        &self.control
    }

    fn capacity(_: Stream) -> u32 {
        CAPACITY
    }

    fn put(&self, channel: usize, stream: Stream, at: u32, bytes: &[u8]) {
        for (at, byte) in (at..).zip(bytes) {
            // SAFETY: loom checks that nobody else is at this cell.
            self.cell(channel, stream, at).with_mut(|cell| unsafe { *cell = *byte });
        }
    }

    fn copy(&self, channel: usize, stream: Stream, at: u32, into: &mut [u8]) {
        for (at, byte) in (at..).zip(into) {
            // SAFETY: as above.
            *byte = self.cell(channel, stream, at).with(|cell| unsafe { *cell });
        }
    }

    fn append(&self, channel: usize, stream: Stream, at: u32, length: u32, into: &mut Vec<u8>) {
        let mut bytes = vec![0; length as usize];
        self.copy(channel, stream, at, &mut bytes);
        into.extend(bytes);
    }

    fn sleep(&self, timeout: Option<Duration>) -> Waited {
        assert_eq!(timeout, None);
        // The kernel looks at the word under a lock that a waker takes, too.
        let guard = self.futex.0.lock().unwrap();
        if self.control.worker_sleeps.0.load(Ordering::Relaxed) == 1 {
            drop(self.futex.1.wait(guard).unwrap());
        }
        Waited::Woken
    }

    fn wake_worker(&self) {
        drop(self.futex.0.lock().unwrap());
        self.futex.1.notify_all();
    }

    fn wake_front(&self, waker: u32) {
        assert_eq!(waker, 7);
        *self.bell.0.lock().unwrap() = true;
        self.bell.1.notify_all();
    }
}

/// Runs the worker's part beside the front's, in every way that differs by at most `switches` forced switches.
fn explore(switches: usize, worker: fn(&Model), front: fn(&Model)) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(move || {
        let memory = Arc::new(Model::default());
        let thread = thread::spawn({
            let memory = memory.clone();
            move || worker(&memory)
        });
        front(&memory);
        thread.join().unwrap();
    });
}

fn next(memory: &Model) -> Talk {
    take(memory, None).unwrap_or_else(|waited| panic!("{waited:?}"))
}

fn write_all(talk: &mut Talk, memory: &Model, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        bytes = &bytes[talk.write(memory, bytes).unwrap()..];
    }
}

/// Parks until `count` bytes have come.
fn await_bytes(front: &mut Front, memory: &Model, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < count {
        if front.read(memory, &mut bytes, count).ok().unwrap() == 0 && front.sleep(memory) {
            memory.park();
        }
    }
    bytes
}

#[test]
fn a_request_and_its_answer_wake_who_sleeps() {
    explore(
        3,
        |memory| {
            let mut talk = next(memory);
            let mut byte = [0];
            assert_eq!(talk.read(memory, &mut byte), Ok(1));
            write_all(&mut talk, memory, &byte);
            talk.finish(memory);
        },
        |memory| {
            let mut front = Front::new(0);
            assert_eq!(front.offer(memory, 1, 7, b"q"), 1);
            assert_eq!(await_bytes(&mut front, memory, 1), b"q");
        },
    );
}

#[test]
fn what_is_taken_back_is_not_taken_and_the_other_request_comes_through() {
    explore(
        3,
        |memory| {
            loop {
                let mut talk = next(memory);
                let mut byte = [0];
                assert_eq!(talk.read(memory, &mut byte), Ok(1));
                write_all(&mut talk, memory, &byte);
                talk.finish(memory);
                if &byte == b"b" {
                    return;
                }
            }
        },
        |memory| {
            let (mut first, mut second) = (Front::new(0), Front::new(1));
            first.offer(memory, 1, 7, b"a");
            let back = first.take_back(memory);
            second.offer(memory, 2, 7, b"b");
            assert_eq!(await_bytes(&mut second, memory, 1), b"b");
            // Oldest first: by now the first one was answered, or never will be.
            let words = &memory.control.channels[0].worker.0;
            assert_eq!(words.from_head.load(Ordering::Acquire) == 0, back);
        },
    );
}

#[test]
fn streams_keep_their_order_and_wait_for_room() {
    explore(
        2,
        |memory| {
            let mut talk = next(memory);
            for _ in 0..3 {
                let mut byte = [0];
                assert_eq!(talk.read(memory, &mut byte), Ok(1));
                write_all(&mut talk, memory, &byte);
            }
            talk.finish(memory);
        },
        |memory| {
            let mut front = Front::new(1);
            let mut taken = front.offer(memory, 1, 7, b"abc");
            let mut bytes = Vec::new();
            while bytes.len() < 3 {
                taken += front.write(memory, &b"abc"[taken..]);
                front.want_room(taken < 3);
                if front.read(memory, &mut bytes, 1).ok().unwrap() == 0 && front.sleep(memory) {
                    memory.park();
                }
            }
            assert_eq!(bytes, b"abc");
        },
    );
}

#[test]
fn a_front_that_wants_room_wakes_when_the_worker_has_read() {
    explore(
        2,
        |memory| {
            let mut talk = next(memory);
            for byte in b"abc" {
                let mut read = [0];
                assert_eq!(talk.read(memory, &mut read), Ok(1));
                assert_eq!(read, [*byte]);
            }
        },
        |memory| {
            let mut front = Front::new(0);
            let mut taken = front.offer(memory, 1, 7, b"abc");
            front.want_room(true);
            while taken < 3 {
                let count = front.write(memory, &b"abc"[taken..]);
                taken += count;
                if count == 0 && front.sleep(memory) {
                    memory.park();
                }
            }
        },
    );
}

#[test]
fn a_full_stream_holds_the_worker_until_the_front_reads() {
    explore(
        2,
        |memory| {
            let mut talk = next(memory);
            write_all(&mut talk, memory, b"abcde");
            talk.finish(memory);
        },
        |memory| {
            let mut front = Front::new(0);
            front.offer(memory, 1, 7, b"");
            assert_eq!(await_bytes(&mut front, memory, 5), b"abcde");
        },
    );
}

#[test]
fn a_worker_that_waits_hears_that_it_is_abandoned() {
    explore(
        3,
        |memory| {
            let mut talk = next(memory);
            assert_eq!(talk.read(memory, &mut [0]), Ok(0));
            let mut talk = next(memory);
            assert_eq!(talk.write(memory, b"ab"), Ok(2));
            assert_eq!(talk.write(memory, b"c"), Ok(0));
        },
        |memory| {
            let (mut first, mut second) = (Front::new(0), Front::new(1));
            first.offer(memory, 1, 7, b"");
            first.abandon(memory);
            second.offer(memory, 2, 7, b"");
            second.abandon(memory);
        },
    );
}

#[test]
fn a_channel_can_be_used_again_as_soon_as_its_answer_is_there() {
    explore(
        3,
        |memory| {
            for question in [b'x', b'y'] {
                let mut talk = next(memory);
                let mut byte = [0];
                assert_eq!(talk.read(memory, &mut byte), Ok(1));
                assert_eq!(byte, [question]);
                write_all(&mut talk, memory, &byte);
                talk.finish(memory);
            }
        },
        |memory| {
            let mut front = Front::new(0);
            for (epoch, question) in [(1, b"x"), (2, b"y")] {
                front.offer(memory, epoch, 7, question);
                assert_eq!(await_bytes(&mut front, memory, 1), question);
            }
        },
    );
}
