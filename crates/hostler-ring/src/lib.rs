//! Shared memory between the front and one warm worker: a few channels, each for one request at a time.
//!
//! A channel has a state word, a byte stream to the worker and one from it. What the streams carry is not known
//! here (`hostler_wire::work`). One channel serves the running request; others may hold such as the front has
//! placed ahead and can take back. Decisions: `docs/decisions/0008-shared-memory-channels-for-workers.md`,
//! `docs/decisions/0016-short-requests-gather-at-one-worker.md`.
//!
//! - [`front`]: the side that never blocks and believes nothing. All that the worker can write is loaded once,
//!   checked against bounds, and used from the copy; what the front wrote itself it never reads back.
//! - [`worker`]: the side that sleeps. It trusts the front.
//! - [`polled`]: the same side in an event loop, which has one channel beside each of its connections.
//! - `algorithm`: both sides over an abstract memory, so that a model checker can drive them.
//! - `mapped`: that memory for real.

mod algorithm;
pub mod front;
#[cfg(test)]
mod hostile;
mod layout;
mod mapped;
pub mod polled;
pub mod worker;

pub use layout::CHANNELS;
pub use mapped::{Bell, Memory};
