//! The bells of a pool: one eventfd for each thread of the front, by which workers wake it.
//!
//! Workers are a tenant's, and a descriptor's flags and an eventfd's counter are all its holders': whoever writes to a
//! bell that a worker has made blocking and filled waits for ever. So the front never writes to one. What it has to
//! tell its own threads goes by [`Calls`], which no other process knows.
//!
//! They are there as long as the pool has processes, or requests for some: a pool that is at rest holds no descriptor. A thread may still listen for bells that are given up. It is told by being rung, and before it
//! has heard that, it has nothing to hear from any other: what it has begun meanwhile makes it listen for the new ones.

use super::{Common, Pool};
use crate::backend;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Bells for all threads.
#[derive(Debug)]
pub(crate) struct Bells {
    pub(crate) descriptors: Vec<OwnedFd>,
    calls: Arc<Calls>,
}

/// The front's own calls to its threads; holds no descriptor.
#[derive(Debug)]
pub(crate) struct Calls {
    threads: Vec<Notify>,
    /// The pool has given the bells up.
    over: AtomicBool,
}

impl Bells {
    pub(crate) fn new(threads: u32) -> io::Result<Arc<Self>> {
        let threads = threads.max(1);
        let descriptors = (0..threads).map(|_| hostler_sys::shared::bell());
        let calls =
            Calls { threads: (0..threads).map(|_| Notify::new()).collect(), over: AtomicBool::new(false) };
        Ok(Arc::new(Self { descriptors: descriptors.collect::<io::Result<_>>()?, calls: Arc::new(calls) }))
    }

    pub(crate) fn calls(&self) -> Arc<Calls> {
        self.calls.clone()
    }

    /// Takes back what has been rung: a worker that has filled the counters would else keep all others of the pool from
    /// being heard, and for ever in their calls if it has made the bells blocking. To be called now and then.
    pub(crate) fn clear(&self) {
        for bell in &self.descriptors {
            hostler_sys::shared::clear(bell);
        }
    }
}

impl Drop for Bells {
    /// Forgets the bells, which nothing rings any more.
    fn drop(&mut self) {
        self.calls.over.store(true, Release);
        self.calls.call();
    }
}

impl Calls {
    /// Calls all threads. Never waits, so it may be done under a pool's lock.
    fn call(&self) {
        self.threads.iter().for_each(Notify::notify_one);
    }

    /// Waits until this thread is called.
    pub(crate) async fn called(&self, thread: u32) {
        match self.threads.get(thread as usize) {
            Some(call) => call.notified().await,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn are_over(&self) -> bool {
        self.over.load(Acquire)
    }
}

impl backend::Common for Common {
    fn new(threads: u32) -> Self {
        Self { threads, bells: Mutex::default(), kept: Arc::default() }
    }

    fn call_all(&self) {
        if let Some(bells) = &*self.known_bells() {
            bells.calls.call();
        }
    }

    fn rest(&self) {
        if let Some(bells) = self.known_bells().take() {
            bells.calls.over.store(true, Release);
            bells.calls.call();
        }
    }
}

impl Common {
    /// The eventfds of the front's threads; made if there are none.
    pub(crate) fn bells(&self) -> io::Result<Arc<Bells>> {
        let mut bells = self.known_bells();
        if let Some(known) = &*bells {
            return Ok(known.clone());
        }
        let made = Bells::new(self.threads)?;
        *bells = Some(made.clone());
        Ok(made)
    }

    pub(crate) fn known_bells(&self) -> MutexGuard<'_, Option<Arc<Bells>>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// For a thread whose bells were given up: those that it has to listen for now; `None`: the pool is at rest.
    pub(crate) fn new_bells(&self) -> Option<Arc<Bells>> {
        // Held, so that the pool does not go to rest meanwhile.
        let state = self.lock();
        if state.is_at_rest() { None } else { self.common.bells().ok() }
    }

    /// [`Bells::clear`].
    pub(crate) fn clear_bells(&self) {
        if let Some(bells) = &*self.common.known_bells() {
            bells.clear();
        }
    }
}
