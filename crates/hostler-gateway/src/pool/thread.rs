//! What a thread of the front keeps of its conversations with workers: the channels, and who is to be woken when
//! one has news.
//!
//! A worker that says something wakes nobody as long as the thread is awake. Before the thread parks it looks at
//! all of its channels once more ([`before_park`]) and asks those that have no news to ring the thread's bell.

use super::Pool;
use super::worker::Worker;
use crate::register;
use hostler_ring::front::Channel;
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How exactly timeouts are kept.
const SWEEP: Duration = Duration::from_millis(250);

/// A conversation.
pub(super) struct Entry {
    pub(super) channel: Channel,
    pub(super) worker: Arc<Worker>,
    timeout: Duration,
    /// Who waits for news.
    pub(super) waker: Option<Waker>,
    /// Since when it has been the worker's turn, and waited for.
    pub(super) waiting: Option<Instant>,
    /// That was too long.
    pub(super) late: bool,
}

impl Entry {
    pub(super) fn new(channel: Channel, worker: Arc<Worker>, timeout: Duration) -> Self {
        Self { channel, worker, timeout, waker: None, waiting: None, late: false }
    }

    /// Whether there is news for whoever waits. If not, the worker will ring the bell when there is.
    fn has_news(&mut self) -> bool {
        self.late || self.worker.is_dead() || !self.channel.sleep()
    }
}

#[derive(Default)]
struct Thread {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    /// Pools whose bell is listened for.
    pools: Vec<u64>,
    sweeping: bool,
    /// Workers that have been offered something and may sleep.
    offered: Vec<Arc<Worker>>,
    /// Kept for its space.
    woken: Vec<Waker>,
}

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::default();
}

/// Keeps a conversation; its slot.
pub(super) fn enter(entry: Entry) -> usize {
    let (slot, sweep) = THREAD.with_borrow_mut(|thread| {
        let slot = match thread.free.pop() {
            Some(slot) => {
                thread.entries[slot] = Some(entry);
                slot
            }
            None => {
                thread.entries.push(Some(entry));
                thread.entries.len() - 1
            }
        };
        (slot, !std::mem::replace(&mut thread.sweeping, true))
    });
    if sweep {
        tokio::task::spawn_local(sweep_until_idle());
    }
    slot
}

/// Forgets a conversation. `None` when it is not there, or the thread is at its end.
pub(super) fn leave(slot: usize) -> Option<Entry> {
    let left = THREAD.try_with(|thread| {
        let mut thread = thread.borrow_mut();
        let entry = thread.entries.get_mut(slot)?.take()?;
        thread.free.push(slot);
        Some(entry)
    });
    left.ok().flatten()
}

/// Runs with a conversation.
pub(super) fn with<T>(slot: usize, run: impl FnOnce(&mut Entry) -> T) -> Option<T> {
    THREAD.with_borrow_mut(|thread| thread.entries.get_mut(slot)?.as_mut().map(run))
}

/// So many workers are woken together at most: the first of them should not wait for long.
const TOGETHER: usize = 8;

/// Wakes a worker for the request that it is about to be offered, if it sleeps; when the thread parks, so that a
/// worker that gets two requests is woken once, and a thread with more to do is not interrupted by those it wakes.
pub(super) fn announce_later(worker: &Arc<Worker>) {
    let full = THREAD.try_with(|thread| {
        let mut thread = thread.borrow_mut();
        if !thread.offered.iter().any(|known| Arc::ptr_eq(known, worker)) {
            thread.offered.push(worker.clone());
        }
        thread.offered.len() > TOGETHER
    });
    if full != Ok(false) {
        announce();
    }
}

/// Wakes the workers that have been offered something.
fn announce() {
    let offered = THREAD.try_with(|thread| std::mem::take(&mut thread.borrow_mut().offered));
    let Ok(mut offered) = offered else { return };
    offered.drain(..).for_each(|worker| worker.memory.announce());
    let _ = THREAD.try_with(|thread| thread.borrow_mut().offered = offered);
}

/// To be called by each thread of the front just before it parks (tokio's `on_thread_park`): wakes the tasks whose
/// worker has said something, and asks the other workers to wake the thread when they do.
pub fn before_park() {
    announce();
    let woken = THREAD.try_with(|thread| {
        let Ok(mut thread) = thread.try_borrow_mut() else { return Vec::new() };
        let Thread { entries, woken, .. } = &mut *thread;
        for entry in entries.iter_mut().flatten() {
            if entry.waker.is_some() && entry.has_news() {
                woken.extend(entry.waker.take());
            }
        }
        std::mem::take(woken)
    });
    let Ok(mut woken) = woken else { return };
    if woken.is_empty() {
        return;
    }
    // Whatever waking runs, it may come back here.
    woken.drain(..).for_each(Waker::wake);
    let _ = THREAD.try_with(|thread| {
        if let Ok(mut thread) = thread.try_borrow_mut() {
            thread.woken = woken;
        }
    });
}

/// Begins to listen for the bell that the pool's workers ring for this thread, if that has not been done.
///
/// # Errors
/// The kernel's: no descriptor could be had, or watched.
pub(super) fn join(pool: &Arc<Pool>, thread: u32) -> io::Result<()> {
    if THREAD.with_borrow(|local| local.pools.contains(&pool.id)) {
        return Ok(());
    }
    let bells = pool.bells()?;
    let bell = bells.get(thread as usize).ok_or(io::ErrorKind::InvalidInput)?;
    let bell = register(bell.try_clone()?, Interest::READABLE)?;
    THREAD.with_borrow_mut(|local| local.pools.push(pool.id));
    tokio::task::spawn_local(listen(pool.id, Arc::downgrade(pool), bell));
    Ok(())
}

async fn listen(id: u64, pool: Weak<Pool>, bell: AsyncFd<OwnedFd>) {
    while let Ok(mut ready) = bell.readable().await {
        ready.clear_ready();
        hostler_sys::shared::hush(bell.get_ref());
        before_park();
        if pool.upgrade().is_none_or(|pool| pool.is_closed() && pool.lock().is_quiet()) {
            break;
        }
    }
    THREAD.with_borrow_mut(|local| local.pools.retain(|known| *known != id));
}

/// Notices workers that take too long, as long as there are any to wait for.
async fn sweep_until_idle() {
    loop {
        tokio::time::sleep(SWEEP).await;
        let idle = THREAD.with_borrow_mut(|thread| {
            let mut idle = true;
            for entry in thread.entries.iter_mut().flatten() {
                idle = false;
                entry.late |= entry.waiting.is_some_and(|since| since.elapsed() >= entry.timeout);
            }
            thread.sweeping = !idle;
            idle
        });
        if idle {
            return;
        }
        before_park();
    }
}
