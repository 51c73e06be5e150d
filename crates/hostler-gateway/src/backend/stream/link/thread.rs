//! A front thread's exchanges through memory beside connections: the tasks to wake when something has arrived, and the
//! programs to call.
//!
//! All is as with warm workers (`backend::ring::thread`), and looked at together with those: a program wakes nobody as long as the
//! thread is awake, and is called for all requests together before the thread parks.

use super::{Call, Link};
use crate::backend::ring::bells::Bells;
use crate::backend::ring::listen::Bell;
use crate::backend::ring::{announce, begin_looking, count_offer, look_now, wake_all};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::io;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The interval at which bells that a program has filled are emptied, and programs that have not begun a request are
/// called again.
const SWEEP: Duration = Duration::from_millis(250);

struct Entry {
    link: Box<Link>,
    /// The task that waits for news.
    waker: Option<Waker>,
}

impl Entry {
    /// Returns whether there is news; if not, and the thread parks, the program will ring the bell when there is.
    fn has_news(&mut self, parks: bool) -> bool {
        if parks { !self.link.channel.sleep() } else { self.link.channel.has_news() }
    }
}

#[derive(Default)]
struct Thread {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    calls: Vec<Call>,
    /// The pools whose bells are watched.
    bells: Vec<Weak<Bells>>,
    sweeping: bool,
    /// Kept for its space.
    woken: Vec<Waker>,
}

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::default();
}

/// A conversation through memory, until it is dropped.
#[derive(Debug)]
pub(in super::super) struct Conversation {
    slot: usize,
    thread: u32,
    offered: Cell<bool>,
    wants_room: Cell<bool>,
    /// The slot is this thread's.
    not_send: PhantomData<Rc<()>>,
}

impl Conversation {
    /// Begins one on this thread, whose number this is. Must be called on its `LocalSet`.
    pub(in super::super) fn begin(link: Box<Link>, thread: u32) -> io::Result<Self> {
        listen(&link.bells, thread)?;
        let (slot, sweep) = THREAD.with_borrow_mut(|all| {
            let entry = Some(Entry { link, waker: None });
            let slot = match all.free.pop() {
                Some(slot) => {
                    all.entries[slot] = entry;
                    slot
                }
                None => {
                    all.entries.push(entry);
                    all.entries.len() - 1
                }
            };
            (slot, !std::mem::replace(&mut all.sweeping, true))
        });
        begin_looking();
        if sweep {
            tokio::task::spawn_local(sweep_until_idle());
        }
        Ok(Self {
            slot,
            thread,
            offered: Cell::new(false),
            wants_room: Cell::new(false),
            not_send: PhantomData,
        })
    }

    /// Leaves the memory to the next one.
    pub(in super::super) fn end(self) -> Option<Box<Link>> {
        leave(self.slot)
    }

    /// Runs with the memory; who is to be called for that is, before the thread parks.
    fn with<T>(&self, run: impl FnOnce(&mut Entry) -> T) -> Result<T, Errno> {
        let (done, call) = THREAD.with_borrow_mut(|all| {
            let entry = all.entries.get_mut(self.slot).and_then(Option::as_mut).ok_or(Errno::BADF)?;
            let done = run(entry);
            let call = entry.link.due_call();
            let is_call = call.is_some();
            all.calls.extend(call);
            Ok((done, is_call))
        })?;
        if call && count_offer() {
            announce();
        }
        Ok(done)
    }

    /// Writes what there is room for: how many bytes. The first ones begin the request.
    pub(in super::super) fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let is_first = !self.offered.replace(true);
        let written = self.with(|entry| match is_first {
            true => entry.link.channel.offer(self.thread, bytes),
            false => entry.link.channel.write(bytes),
        })?;
        if written == 0 { Err(Errno::AGAIN) } else { Ok(written) }
    }

    /// True if room to write is something to wake up for; and whether it was.
    pub(in super::super) fn want_room(&self, wanted: bool) -> bool {
        // Without an entry there is nothing to wake up for.
        let _ = self.with(|entry| entry.link.channel.want_room(wanted));
        self.wants_room.replace(wanted)
    }

    /// Reads what is available, at most so many bytes.
    pub(super) fn read(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut piece = Vec::new();
        self.with(|entry| entry.link.channel.read(&mut piece, most))?.map_err(io::Error::other)?;
        Ok(piece)
    }

    /// Has the task woken when there is news.
    pub(in super::super) fn wait<T>(&self, context: &Context<'_>) -> Poll<io::Result<T>> {
        let noted = self.with(|entry| match &mut entry.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        });
        match noted {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        drop(leave(self.slot));
    }
}

/// `None`: it is left, or the thread is at its end.
fn leave(slot: usize) -> Option<Box<Link>> {
    let left = THREAD.try_with(|all| {
        let mut all = all.borrow_mut();
        let entry = all.entries.get_mut(slot)?.take()?;
        all.free.push(slot);
        Some(entry.link)
    });
    left.ok().flatten()
}

/// Conversations that this thread has.
pub(crate) fn open_links() -> usize {
    THREAD.try_with(|all| all.try_borrow().map_or(0, |all| all.entries.len() - all.free.len())).unwrap_or(0)
}

/// Calls the programs that are to be called, each process once.
pub(crate) fn announce_links() {
    let calls = THREAD.try_with(|all| std::mem::take(&mut all.borrow_mut().calls));
    let Ok(mut calls) = calls else { return };
    let mut heard = Vec::<usize>::new();
    for at in 0..calls.len() {
        let is_done = heard.iter().any(|known| calls[*known].is_as(&calls[at]));
        // Over a connection that is closed nobody hears anything, but perhaps over the process' next.
        if !is_done && calls[at].make() {
            heard.push(at);
        }
    }
    calls.clear();
    let _ = THREAD.try_with(|all| all.borrow_mut().calls = calls);
}

/// Wakes the tasks that have news. A thread that parks asks the programs of the others to wake it when they do.
pub(crate) fn look_at_links(parks: bool) {
    let woken = THREAD.try_with(|all| {
        let Ok(mut all) = all.try_borrow_mut() else { return Vec::new() };
        let Thread { entries, woken, .. } = &mut *all;
        for entry in entries.iter_mut().flatten() {
            if entry.waker.is_some() && entry.has_news(parks) {
                woken.extend(entry.waker.take());
            }
        }
        std::mem::take(woken)
    });
    let Some(woken) = wake_all(woken.ok()) else { return };
    let _ = THREAD.try_with(|all| {
        if let Ok(mut all) = all.try_borrow_mut() {
            all.woken = woken;
        }
    });
}

/// Begins to listen for bells, if that has not been done.
fn listen(bells: &Arc<Bells>, thread: u32) -> io::Result<()> {
    let listens =
        THREAD.with_borrow(|all| all.bells.iter().any(|known| known.as_ptr() == Arc::as_ptr(bells)));
    if listens {
        return Ok(());
    }
    let bell = Bell::of(bells, thread)?;
    let known = Arc::downgrade(bells);
    THREAD.with_borrow_mut(|all| all.bells.push(known.clone()));
    tokio::task::spawn_local(async move {
        // A look at the memory follows anyway before the thread parks.
        while !bell.calls.are_over() && bell.rings(thread).await.is_ok() {}
        THREAD.with_borrow_mut(|all| all.bells.retain(|other| !other.ptr_eq(&known)));
    });
    Ok(())
}

/// As long as there are conversations: takes back what has been rung, so that a program that has filled the counters keeps nobody
/// from being heard, and calls those again that have not begun on a request.
async fn sweep_until_idle() {
    loop {
        tokio::time::sleep(SWEEP).await;
        let idle = THREAD.with_borrow_mut(|all| {
            let Thread { entries, calls, bells, .. } = all;
            let mut idle = true;
            for Entry { link, .. } in entries.iter().flatten() {
                idle = false;
                if let Some(process) = link.process.filter(|_| !link.channel.is_taken()) {
                    calls.push(link.call(process));
                }
            }
            for bells in bells.iter().filter_map(Weak::upgrade) {
                bells.clear();
            }
            all.sweeping = !idle;
            idle
        });
        if idle {
            return;
        }
        announce();
        // Also for those whose bell was silenced before this thread has heard it.
        look_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_sys::socket::stream_pair;
    use rustix::net::{RecvFlags, recv};
    use std::os::fd::OwnedFd;

    fn heard(socket: &OwnedFd) -> Vec<u8> {
        let mut bytes = [0; 8];
        let (count, _) = recv(socket, &mut bytes[..], RecvFlags::DONTWAIT).unwrap_or((0, 0));
        bytes[..count].to_vec()
    }

    #[test]
    fn a_process_is_called_once_and_over_a_connection_that_is_open() {
        let bells = [Bells::new(1).unwrap(), Bells::new(1).unwrap()];
        let mut ends = Vec::new();
        for (of, process) in [(0, 7), (0, 7), (0, 7), (0, 8), (1, 7)] {
            let (ours, theirs) = stream_pair().unwrap();
            let call = Call { socket: Arc::new(ours), bells: bells[of].clone(), process, word: b"W" };
            THREAD.with_borrow_mut(|all| all.calls.push(call));
            ends.push(Some(theirs));
        }
        ends[0] = None;
        announce_links();
        let heard: Vec<_> = ends.iter().flatten().map(heard).collect();
        assert_eq!(heard, [&b"W"[..], b"", b"W", b"W"]);
        announce_links();
        assert!(ends.iter().flatten().all(|end| self::heard(end).is_empty()));
    }
}
