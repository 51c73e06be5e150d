//! Warm workers, each spoken to through shared memory of its own (`hostler_ring`).
//!
//! - [`Exchange`] is one request's conversation, on one thread (`exchange`, `thread`).
//! - Workers wake a thread of the front by its bell (`bells`, `listen`).
//! - What a request has of a worker is a channel of its memory (`place`); what workers say is cut into messages
//!   (`frames`).

mod begin;
pub(crate) mod bells;
mod exchange;
mod frames;
pub(crate) mod listen;
pub(crate) mod memories;
mod place;
mod step;
mod thread;
mod turn;
mod work;

pub use exchange::Exchange;
pub use frames::Frame;
pub(crate) use frames::{BytesInUse, Cutter, Unsent, Violation};
pub use thread::before_park;
pub(crate) use thread::{announce, begin_looking, count_offer, look_now, wake_all};
pub use turn::{Attentive, attentive};
pub use work::Work;

use crate::backend::Backend;
use crate::pool;
use bells::Bells;
use hostler_ring::{CHANNELS, Memory};
use place::Channel;
use std::sync::{Arc, Mutex};

/// The backend.
#[derive(Debug)]
pub struct Ring;

/// A pool of warm workers.
pub type Pool = pool::Pool<Ring>;
pub(crate) type Worker = pool::worker::Worker<Ring>;
pub(crate) type RunningRequest = pool::ticket::RunningRequest<Ring>;

/// State that all workers of a pool share.
pub struct Common {
    threads: u32,
    /// By which workers wake the front's threads, while there is something to be woken for.
    bells: Mutex<Option<Arc<Bells>>>,
    /// The bytes of their output that are still buffered.
    kept: Arc<BytesInUse>,
}

impl Backend for Ring {
    type Work = Work;
    type Seat = Arc<Memory>;
    type Place = Channel;
    type Common = Common;

    fn capacity(_: &Arc<Memory>) -> usize {
        CHANNELS
    }

    fn offer(worker: &Arc<Worker>, place: usize, work: &Work, tells: bool) -> Channel {
        let channel = Channel::offer(worker.seat.channel(place), work, tells);
        thread::announce_later(worker);
        channel
    }
}
