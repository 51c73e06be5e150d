//! The layout of a worker's memory, and the packing of its words.
//!
//! ```text
//! 0      Control: layout number, worker_sleeps, and for each channel two groups of words:
//!          front's   state, to_head, from_tail, abandoned, waker    (written by the front; state by both)
//!          worker's  from_head, to_tail, front_sleeps               (by the worker; front_sleeps by both)
//! 4096   channel 0: stream to the worker, stream from the worker
//!        channels 1 to 7: the same
//! ```
//! Groups stand apart by two cache lines (processors fetch lines in pairs), so that a side's writes disturb the
//! other only when there is news.
//! Words that both sides write are changed by read-modify-write operations only: each then follows the one before it,
//! and none is lost.
//!
//! Each offered request has a sequence number, its *epoch*, never 0. Positions in streams begin at 0 with each
//! request, so that small ones stay in the first page of a stream; a position is stored together with its epoch,
//! and one with another epoch counts as 0. Positions count bytes modulo 2^32; capacities are powers of two.

use crate::algorithm::Atomics;

/// Channels of a worker's memory. Pages of one that was never used cost nothing.
pub const CHANNELS: usize = 8;
/// Bytes of the stream to the worker.
pub(crate) const TO_WORKER: u32 = 64 << 10;
/// Bytes of the stream from the worker.
pub(crate) const FROM_WORKER: u32 = 256 << 10;
/// Bytes of the control words: a page.
pub(crate) const CONTROL: usize = 4096;
/// Bytes of the whole.
pub(crate) const LENGTH: usize = CONTROL + CHANNELS * (TO_WORKER + FROM_WORKER) as usize;
/// Names this layout; a worker of another version refuses to attach.
pub(crate) const NUMBER: u64 = 0x5249_4e47_0000_0002;

/// Words of the whole.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Control<A: Atomics> {
    /// [`NUMBER`].
    pub(crate) layout: Apart<A::U64>,
    /// The events that wake the worker, which sleeps on this word; 0 if it is awake: [`AWAITS_REQUEST`],
    /// [`AWAITS_INPUT`], [`AWAITS_OUTLET`]. The front sets it to 0 and wakes it.
    pub(crate) worker_sleeps: Apart<A::U32>,
    pub(crate) channels: [Words<A>; CHANNELS],
}

/// Something that shares its cache lines with nothing else.
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct Apart<T>(pub(crate) T);

/// Words of one channel.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Words<A: Atomics> {
    pub(crate) front: Apart<FrontWords<A>>,
    pub(crate) worker: Apart<WorkerWords<A>>,
}

/// The words that the front writes.
#[repr(C)]
#[derive(Default)]
pub(crate) struct FrontWords<A: Atomics> {
    /// [`stamp`] of epoch and [`FREE`], [`OFFERED`] or [`TAKEN`]; the worker changes it by compare-and-swap.
    pub(crate) state: A::U64,
    /// Bytes written to the worker.
    pub(crate) to_head: A::U64,
    /// Bytes read from the worker.
    pub(crate) from_tail: A::U64,
    /// Epoch of the request that nobody waits for any more.
    pub(crate) abandoned: A::U32,
    /// Number of the eventfd that wakes the front's thread.
    pub(crate) waker: A::U32,
}

/// The words that the worker writes.
#[repr(C)]
#[derive(Default)]
pub(crate) struct WorkerWords<A: Atomics> {
    /// Bytes written to the front.
    pub(crate) from_head: A::U64,
    /// Bytes read from the front.
    pub(crate) to_tail: A::U64,
    /// The events that wake the front's thread, 0 if it is awake: [`AWAITS_BYTES`], [`AWAITS_ROOM`]. The worker sets it
    /// to 0 and writes the eventfd.
    pub(crate) front_sleeps: A::U32,
}

/// No request, or one that is over.
pub(crate) const FREE: u32 = 0;
/// A request that the worker may take and the front may take back.
pub(crate) const OFFERED: u32 = 1;
/// A request that the worker is at.
pub(crate) const TAKEN: u32 = 2;

/// The front sleeps until there is something to read.
pub(crate) const AWAITS_BYTES: u32 = 1;
/// The front sleeps until there is room to write.
pub(crate) const AWAITS_ROOM: u32 = 2;

/// The worker sleeps until a request is offered.
pub(crate) const AWAITS_REQUEST: u32 = 1;
/// The worker sleeps until there is more of its request to read.
pub(crate) const AWAITS_INPUT: u32 = 2;
/// The worker sleeps until there is room for its answer.
pub(crate) const AWAITS_OUTLET: u32 = 4;

/// A value together with its epoch.
pub(crate) fn stamp(epoch: u32, value: u32) -> u64 {
    u64::from(epoch) << 32 | u64::from(value)
}

/// Epoch and value.
pub(crate) fn unstamp(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// The position in a word if it is of this epoch; 0 if it was left by another request.
pub(crate) fn position(word: u64, epoch: u32) -> u32 {
    let (of, position) = unstamp(word);
    if of == epoch { position } else { 0 }
}
