//! Both sides' protocol over an abstract memory, so that a model checker can put its own under it.
//!
//! Sleeping and waking is the same in both directions (Dekker): the sleeper says that it sleeps, fences, looks once
//! more, and sleeps; the other side publishes, fences, and looks whether someone sleeps. One of the two sees the other.

mod front;
#[cfg(test)]
mod model;
mod worker;

use crate::layout::{CHANNELS, Control};
pub(crate) use front::{Front, announce};
use hostler_sys::shared::WaitResult;
use std::sync::atomic::Ordering;
use std::time::Duration;
pub(crate) use worker::{PendingWakes, Talk, offered, says_asleep, take, take_from};

/// A family of atomics: the processor's, or a model checker's.
pub(crate) trait Atomics {
    type U32: Atomic<u32>;
    type U64: Atomic<u64>;
    /// A sequentially consistent fence.
    fn fence();
}

/// One atomic word.
pub(crate) trait Atomic<T>: Default {
    fn load(&self, order: Ordering) -> T;
    fn store(&self, value: T, order: Ordering);
    fn swap(&self, value: T, order: Ordering) -> T;
    /// Compare-and-swap (acquire and release); whether it was made.
    fn exchange(&self, from: T, to: T) -> bool;
}

/// An atomic word by the methods of `std`'s, which loom's have, too.
macro_rules! atomic {
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
pub(crate) use atomic;

/// A direction of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    ToWorker,
    FromWorker,
}

/// The memory that both sides see, and how they wake each other.
pub(crate) trait Medium {
    type Atomics: Atomics;
    /// The number of polls before a worker sleeps.
    const SPINS: u32;
    /// Channels that are in use, at most those that there are.
    const CHANNELS: usize = CHANNELS;

    fn control(&self) -> &Control<Self::Atomics>;
    /// Bytes of a stream: a power of two.
    fn capacity(stream: Stream) -> u32;
    /// Copies bytes to an offset of a stream; they don't reach over its end.
    fn put(&self, channel: usize, stream: Stream, at: u32, bytes: &[u8]);
    /// Copies bytes from an offset of a stream; they don't reach over its end.
    fn copy(&self, channel: usize, stream: Stream, at: u32, into: &mut [u8]);
    /// Appends bytes from an offset of a stream; they don't reach over its end.
    fn append(&self, channel: usize, stream: Stream, at: u32, length: u32, into: &mut Vec<u8>);
    /// Puts the worker to sleep while `worker_sleeps` is `reason`.
    fn sleep(&self, reason: u32, timeout: Option<Duration>) -> WaitResult;
    /// Wakes the worker.
    fn wake_worker(&self);
    /// Wakes the front's thread of this number.
    fn wake_front(&self, waker: u32);
}

/// Returns the place of `count` bytes from a position in a stream: offset and length up to its end, and the rest at its
/// start.
fn pieces<M: Medium>(stream: Stream, position: u32, count: u32) -> (u32, u32, u32) {
    let capacity = M::capacity(stream);
    let at = position & (capacity - 1);
    let first = count.min(capacity - at);
    (at, first, count - first)
}

/// Copies bytes into a stream at a position. At most the stream's capacity.
fn put<M: Medium>(memory: &M, channel: usize, stream: Stream, position: u32, bytes: &[u8]) {
    let (at, first, _) = pieces::<M>(stream, position, bytes.len() as u32);
    let (first, rest) = bytes.split_at(first as usize);
    memory.put(channel, stream, at, first);
    if !rest.is_empty() {
        memory.put(channel, stream, 0, rest);
    }
}
