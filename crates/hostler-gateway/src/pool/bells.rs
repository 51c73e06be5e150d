//! The bells of a pool: one eventfd for each thread of the front, by which workers wake it.
//!
//! They are there as long as the pool has processes, or requests for some: a pool that is at rest holds no descriptor
//! ([`Pool::rest`]). A thread may still listen for bells that are given up. It is told by being rung, and before it
//! has heard that, it has nothing to hear from any other: what it has begun meanwhile makes it listen for the new ones.

use super::state::State;
use super::{Phase, Pool};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, MutexGuard, PoisonError};

/// Bells for all threads.
#[derive(Debug)]
pub(super) struct Bells {
    pub(super) descriptors: Vec<OwnedFd>,
    /// The pool has given them up.
    over: Arc<AtomicBool>,
}

/// Tells whether bells were given up; holds no descriptor.
#[derive(Debug)]
pub(super) struct Over(Arc<AtomicBool>);

impl Bells {
    fn new(threads: u32) -> io::Result<Arc<Self>> {
        let descriptors = (0..threads.max(1)).map(|_| hostler_sys::shared::bell());
        Ok(Arc::new(Self { descriptors: descriptors.collect::<io::Result<_>>()?, over: Arc::default() }))
    }

    pub(super) fn over(&self) -> Over {
        Over(self.over.clone())
    }

    fn ring(&self) {
        self.descriptors.iter().for_each(hostler_sys::shared::ring);
    }
}

impl Over {
    pub(super) fn is_over(&self) -> bool {
        self.0.load(Acquire)
    }
}

impl Pool {
    /// The eventfds of the front's threads; made if there are none.
    pub(super) fn bells(&self) -> io::Result<Arc<Bells>> {
        let mut bells = self.known_bells();
        if let Some(known) = &*bells {
            return Ok(known.clone());
        }
        let made = Bells::new(self.threads)?;
        *bells = Some(made.clone());
        Ok(made)
    }

    /// For a thread whose bells were given up: those that it has to listen for now; `None`: the pool is at rest.
    pub(super) fn new_bells(&self) -> Option<Arc<Bells>> {
        // Held, so that the pool does not go to rest meanwhile.
        let state = self.lock();
        if state.is_at_rest() { None } else { self.bells().ok() }
    }

    /// Wakes the front's threads, which then look at all of their conversations.
    pub(super) fn ring_all(&self) {
        if let Some(bells) = &*self.known_bells() {
            bells.ring();
        }
    }

    /// Gives up what only a pool with processes needs, if it has none and nobody waits for any.
    pub(super) fn rest(&self) {
        let given_up = {
            let mut state = self.lock();
            if !state.is_at_rest() {
                return;
            }
            state.give_back_space();
            self.known_bells().take()
        };
        if let Some(bells) = given_up {
            bells.over.store(true, Release);
            bells.ring();
        }
    }

    pub(super) fn known_bells(&self) -> MutexGuard<'_, Option<Arc<Bells>>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether there are no processes, nor requests that need some.
    fn is_at_rest(&self) -> bool {
        matches!(self.phase, Phase::Cold | Phase::Failed(..))
            && self.records.is_empty()
            && self.waiting() == 0
            && self.abandoned.is_empty()
    }

    fn give_back_space(&mut self) {
        self.records.shrink_to_fit();
        self.idle = Vec::new();
        self.placed.shrink_to_fit();
        self.queue.shrink_to_fit();
        self.abandoned = Vec::new();
        self.kills = Vec::new();
        self.retired = Vec::new();
    }
}
