//! Warm workers, each spoken to through shared memory of its own (`hostler_ring`).
//!
//! - [`Exchange`] is one request's conversation, on one thread (`exchange`, `thread`).
//! - Workers wake a thread of the front by its bell (`bells`, `listen`).

pub(crate) mod bells;
mod exchange;
pub(crate) mod frames;
pub(crate) mod listen;
pub(crate) mod memories;
mod step;
pub(crate) mod thread;
mod turn;

pub use exchange::Exchange;
pub use frames::Frame;
pub(crate) use frames::{Cutter, Kept, Nonsense, Unsent};
pub use thread::before_park;
pub use turn::{Attentive, attentive};
