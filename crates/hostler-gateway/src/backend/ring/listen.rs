//! The notification of a front thread that a pool's workers have output, or that the front itself calls it. The thread
//! finds the output in the channels (`thread`) before it parks again.

use super::Pool;
use super::bells::{Bells, Calls};
use crate::{Error, register};
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

thread_local! {
    /// Pools whose bell is listened for.
    static POOLS: RefCell<Vec<Weak<Pool>>> = RefCell::default();
}

/// Begins to listen for the bell that the pool's workers ring for this thread, if that has not been done.
///
/// # Errors
/// The kernel's: no descriptor could be had, or watched. The pool's, if nothing can be begun there.
pub(crate) fn join(pool: &Arc<Pool>, thread: u32) -> Result<(), Error> {
    if is_listening(pool) {
        return Ok(());
    }
    pool.lock().may_start()?;
    let bell = Bell::of(&*pool.common.bells()?, thread)?;
    POOLS.with_borrow_mut(|pools| pools.push(Arc::downgrade(pool)));
    tokio::task::spawn_local(listen(Arc::downgrade(pool), thread, bell));
    Ok(())
}

/// Returns whether this thread listens for the pool's bell.
pub(crate) fn is_listening(pool: &Arc<Pool>) -> bool {
    POOLS.with_borrow(|pools| pools.iter().any(|known| known.as_ptr() == Arc::as_ptr(pool)))
}

/// A thread's bell, as the thread listens for it.
pub(crate) struct Bell {
    descriptor: AsyncFd<OwnedFd>,
    pub(crate) calls: Arc<Calls>,
}

impl Bell {
    pub(crate) fn of(bells: &Bells, thread: u32) -> io::Result<Self> {
        let bell = bells.descriptors.get(thread as usize).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { descriptor: register(bell.try_clone()?, Interest::READABLE)?, calls: bells.calls() })
    }

    /// Waits until it rings, or the front calls. Only edges are listened for, so the counter may stay as it is.
    pub(crate) async fn rings(&self, thread: u32) -> io::Result<()> {
        tokio::select! {
            ready = self.descriptor.readable() => ready.map(|mut ready| ready.clear_ready()),
            () = self.calls.called(thread) => Ok(()),
        }
    }
}

async fn listen(pool: Weak<Pool>, thread: u32, mut bell: Bell) {
    // A look at the channels follows anyway before the thread parks.
    while bell.rings(thread).await.is_ok() {
        let Some(pool) = pool.upgrade() else { break };
        if pool.is_closed() && pool.lock().is_quiet() {
            break;
        }
        if bell.calls.are_over() {
            let Some(new) = pool.new_bells().and_then(|bells| Bell::of(&bells, thread).ok()) else { break };
            bell = new;
        }
    }
    POOLS.with_borrow_mut(|pools| pools.retain(|known| !known.ptr_eq(&pool)));
}
