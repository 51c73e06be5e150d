//! A memory for the model checker (loom): it runs every interleaving of small scenarios, with every value that the
//! memory model lets a load see.
//!
//! Bytes are cells whose access loom watches: reading one while the other side may write it fails. Where that is
//! meant to happen they are atomics. A lost wake-up shows as a deadlock. Streams are two bytes long, so that they wrap
//! around and fill up.

mod scenarios;

use super::{Atomic, Atomics, Medium, Stream, atomic};
use crate::layout::Control;
use hostler_sys::shared::WaitResult;
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

atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);

const CAPACITY: u32 = 2;
const CHANNELS: usize = 2;
const BYTES: usize = CHANNELS * 2 * CAPACITY as usize;

/// A byte of a stream.
trait Byte: Default + Send + 'static {
    fn set(&self, byte: u8);
    fn value(&self) -> u8;
}

/// One that only one side may be at.
#[derive(Default)]
struct Watched(UnsafeCell<u8>);

impl Byte for Watched {
    fn set(&self, byte: u8) {
        // SAFETY: loom checks that nobody else is at this cell.
        self.0.with_mut(|cell| unsafe { *cell = byte });
    }
    fn value(&self) -> u8 {
        // SAFETY: as above.
        self.0.with(|cell| unsafe { *cell })
    }
}

/// One that both sides may be at.
#[derive(Default)]
struct Torn(AtomicU32);

impl Byte for Torn {
    fn set(&self, byte: u8) {
        self.0.store(byte.into(), Ordering::Relaxed);
    }
    fn value(&self) -> u8 {
        self.0.load(Ordering::Relaxed) as u8
    }
}

#[derive(Default)]
struct Model<B = Watched> {
    control: Control<Loom>,
    bytes: [B; BYTES],
    futex: (Mutex<()>, Condvar),
    bell: (Mutex<bool>, Condvar),
    /// The call that wakes a worker in its event loop.
    call: (Mutex<bool>, Condvar),
}

// SAFETY: loom runs one thread at a time and fails when two could reach a cell at once.
unsafe impl<B: Byte> Sync for Model<B> {}

impl<B: Byte> Model<B> {
    fn cell(&self, channel: usize, stream: Stream, at: u32) -> &B {
        assert!(at < CAPACITY);
        &self.bytes[(channel * 2 + stream as usize) * CAPACITY as usize + at as usize]
    }

    /// The front's thread in its poller: until its eventfd was written.
    fn park(&self) {
        wait_for(&self.bell);
    }

    /// A worker in its event loop: until the front has called it.
    fn park_worker(&self) {
        wait_for(&self.call);
    }
}

fn wait_for((rung, heard): &(Mutex<bool>, Condvar)) {
    let mut rung = rung.lock().unwrap();
    while !*rung {
        rung = heard.wait(rung).unwrap();
    }
    *rung = false;
}

fn ring((rung, heard): &(Mutex<bool>, Condvar)) {
    *rung.lock().unwrap() = true;
    heard.notify_all();
}

impl<B: Byte> Medium for Model<B> {
    type Atomics = Loom;
    const SPINS: u32 = 0;
    const CHANNELS: usize = CHANNELS;

    fn control(&self) -> &Control<Loom> {
        &self.control
    }

    fn capacity(_: Stream) -> u32 {
        CAPACITY
    }

    fn put(&self, channel: usize, stream: Stream, at: u32, bytes: &[u8]) {
        for (at, byte) in (at..).zip(bytes) {
            self.cell(channel, stream, at).set(*byte);
        }
    }

    fn copy(&self, channel: usize, stream: Stream, at: u32, into: &mut [u8]) {
        for (at, byte) in (at..).zip(into) {
            *byte = self.cell(channel, stream, at).value();
        }
    }

    fn append(&self, channel: usize, stream: Stream, at: u32, length: u32, into: &mut Vec<u8>) {
        let mut bytes = vec![0; length as usize];
        self.copy(channel, stream, at, &mut bytes);
        into.extend(bytes);
    }

    fn sleep(&self, reason: u32, timeout: Option<Duration>) -> WaitResult {
        assert_eq!(timeout, None);
        // The kernel looks at the word under a lock that a waker takes, too.
        let guard = self.futex.0.lock().unwrap();
        if self.control.worker_sleeps.0.load(Ordering::Relaxed) == reason {
            drop(self.futex.1.wait(guard).unwrap());
        }
        WaitResult::Woken
    }

    fn wake_worker(&self) {
        drop(self.futex.0.lock().unwrap());
        self.futex.1.notify_all();
        ring(&self.call);
    }

    fn wake_front(&self, waker: u32) {
        assert_eq!(waker, 7);
        ring(&self.bell);
    }
}

/// Runs the worker's part beside the front's, in every way that differs by at most `switches` forced switches.
fn explore<B: Byte>(switches: usize, worker: fn(&Model<B>), front: fn(&Model<B>)) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(move || {
        let memory = Arc::new(Model::<B>::default());
        let thread = thread::spawn({
            let memory = memory.clone();
            move || worker(&memory)
        });
        front(&memory);
        thread.join().unwrap();
    });
}
