//! A front thread's exchanges with workers: the channels, and the tasks to wake when one has news.
//!
//! Conversations through memory beside connections (`backend::stream::link`) are looked at together with these.
//!
//! A worker that says something wakes nobody as long as the thread is awake. Before the thread parks it looks at
//! all of its channels once more ([`before_park`]) and asks those that have no news to ring the thread's bell. A thread
//! that never parks, because some client can always be sent more, looks between the turns of its tasks ([`super::attentive`]).

use super::{Pool, RunningRequest, Worker};
use crate::backend::Common as _;
use crate::backend::stream::{announce_links, look_at_links, open_links};
use hostler_ring::front::Channel;
use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// The longest time a request stays placed behind others: longer than it takes in all likelihood, and too short to
/// notice.
const STUCK: Duration = Duration::from_millis(1);

/// The time a thread works without parking before it announces and looks nevertheless; longer by [`LOOK`] for each
/// exchange, so that looking takes only a small part of its time.
const BUSY: Duration = Duration::from_micros(100);
const LOOK: Duration = Duration::from_micros(1);

/// The precision of timeouts.
const SWEEP: Duration = Duration::from_millis(250);

/// A conversation.
pub(super) struct Entry {
    pub(super) channel: Channel,
    pub(super) worker: Arc<Worker>,
    timeout: Duration,
    /// The task that waits for news.
    pub(super) waker: Option<Waker>,
    /// Since when it has been placed behind other requests; `None`: it was not, or it is the worker's by now.
    behind: Option<Behind>,
    /// It has got stuck behind another request and was taken back: another worker is to be found.
    pub(super) stuck: bool,
    /// Since when it has been the worker's turn, and waited for.
    pub(super) waiting: Option<Instant>,
    /// The time limit has passed.
    pub(super) late: bool,
}

/// The place and time of a request that was placed behind others.
struct Behind {
    pool: Arc<Pool>,
    since: Instant,
    /// The number of requests that its worker had completed then.
    ended: u32,
}

impl Entry {
    pub(super) fn new(channel: Channel, begun: &RunningRequest) -> Self {
        let behind = begun.behind.then(|| Behind {
            pool: begun.pool.clone(),
            since: begun.since,
            ended: begun.worker.ended.load(Relaxed),
        });
        let (worker, timeout) = (begun.worker.clone(), begun.work.timeout.after);
        Self { channel, worker, timeout, waker: None, behind, stuck: false, waiting: None, late: false }
    }

    /// Returns whether there is news for whoever waits. If not, the worker will ring the bell when there is.
    fn has_news_or_sleeps(&mut self) -> bool {
        self.is_over() || !self.channel.sleep()
    }

    /// The same for a thread that does not sleep: no bell is asked for.
    fn has_news(&mut self) -> bool {
        self.is_over() || self.channel.has_news()
    }

    /// Returns whether there is news that is not in the channel.
    fn is_over(&mut self) -> bool {
        if self.behind.is_some() && self.worker.going.load(Acquire) {
            self.take_back();
        }
        self.late || self.stuck || self.worker.is_dead()
    }

    /// It does not come to its turn where it is.
    fn take_back(&mut self) {
        self.behind = None;
        self.stuck = self.channel.take_back();
    }

    /// More has been said than can be told to another worker.
    pub(super) fn bind(&mut self) {
        self.behind = None;
    }
}

#[derive(Default)]
struct Thread {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    sweeping: bool,
    guarding: bool,
    /// Workers that have been offered something and may sleep.
    offered: Vec<Arc<Worker>>,
    /// Requests that have been offered to them.
    offers: usize,
    /// Keeps the thread from parking, so that it looks once more for what clients have sent.
    another_look: Option<Waker>,
    /// The task that wakes others is there.
    looking: bool,
    /// It has looked since something was offered.
    has_looked: bool,
    /// Since when it has not parked, nor looked; `None`: it has parked since the last turn of a task.
    busy_since: Option<Instant>,
    /// Kept for its space.
    woken: Vec<Waker>,
}

impl Thread {
    /// Returns whether it has gone on for so long that it has to look before it parks. Called once for each turn of a
    /// task.
    fn is_look_due(&mut self) -> bool {
        let open = self.entries.len() - self.free.len() + open_links();
        if open == 0 && self.offered.is_empty() {
            return false;
        }
        let now = Instant::now();
        let is_due = |since| now.duration_since(since) >= BUSY + LOOK * open as u32;
        let due = self.busy_since.is_some_and(is_due);
        if due || self.busy_since.is_none() {
            self.busy_since = Some(now);
        }
        due
    }
}

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::default();
}

/// Keeps a conversation; its slot.
pub(super) fn enter(entry: Entry) -> usize {
    let (slot, sweep, guard) = THREAD.with_borrow_mut(|thread| {
        let guard = entry.behind.is_some() && !std::mem::replace(&mut thread.guarding, true);
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
        (slot, !std::mem::replace(&mut thread.sweeping, true), guard)
    });
    begin_looking();
    if sweep {
        tokio::task::spawn_local(sweep_until_idle());
    }
    if guard {
        tokio::task::spawn_local(guard_until_idle());
    }
    slot
}

/// Has the thread look for further requests before it announces those that it has offered.
pub(crate) fn begin_looking() {
    let begins = THREAD.with_borrow_mut(|thread| !std::mem::replace(&mut thread.looking, true));
    if begins {
        tokio::task::spawn_local(look_when_woken());
    }
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

/// So many requests are announced together at most: the first of them should not wait for long.
const TOGETHER: usize = 8;

/// Wakes a worker for the request that it is about to be offered, if it sleeps; when the thread parks, so that a
/// worker that gets two requests is woken once, and a thread with more to do is not interrupted by those it wakes.
pub(super) fn announce_later(worker: &Arc<Worker>) {
    let _ = THREAD.try_with(|thread| {
        let mut thread = thread.borrow_mut();
        if !thread.offered.iter().any(|known| Arc::ptr_eq(known, worker)) {
            thread.offered.push(worker.clone());
        }
    });
    if count_offer() {
        announce();
    }
}

/// Counts something that is to be announced; whether that is to be done now.
pub(crate) fn count_offer() -> bool {
    let full = THREAD.try_with(|thread| {
        let mut thread = thread.borrow_mut();
        thread.offers += 1;
        thread.offers >= TOGETHER
    });
    full != Ok(false)
}

/// Wakes the workers that have been offered something.
pub(crate) fn announce() {
    let offered = THREAD.try_with(|thread| {
        let mut thread = thread.borrow_mut();
        thread.offers = 0;
        std::mem::take(&mut thread.offered)
    });
    let Ok(mut offered) = offered else { return };
    offered.drain(..).for_each(|worker| worker.seat.announce());
    let _ = THREAD.try_with(|thread| thread.borrow_mut().offered = offered);
    announce_links();
}

/// Returns whether the thread is to look for what clients have sent before it announces what it has offered: requests
/// that come while others are read are often there by now, and a worker is woken once for all of them. That look costs
/// a tenth of waking.
fn looks_once_more() -> bool {
    let waker = THREAD.try_with(|thread| {
        let mut thread = thread.try_borrow_mut().ok()?;
        thread.has_looked = thread.offers > 0 && !thread.has_looked;
        thread.another_look.clone().filter(|_| thread.has_looked)
    });
    let Ok(Some(waker)) = waker else { return false };
    waker.wake();
    true
}

/// Does nothing, as often as it is woken: a thread with something to do asks the system for events without waiting.
async fn look_when_woken() {
    /// Without the task nothing would keep the thread from parking.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            let _ = THREAD.try_with(|thread| {
                let mut thread = thread.borrow_mut();
                (thread.looking, thread.another_look) = (false, None);
            });
        }
    }
    let _ends = Ends;
    poll_fn(|context| {
        THREAD.with_borrow_mut(|thread| thread.another_look = Some(context.waker().clone()));
        Poll::<()>::Pending
    })
    .await;
}

/// To be called by each thread of the front just before it parks (tokio's `on_thread_park`): wakes the tasks whose
/// worker has said something, and asks the other workers to wake the thread when they do.
pub fn before_park() {
    if looks_once_more() {
        return;
    }
    let _ = THREAD.try_with(|thread| {
        if let Ok(mut thread) = thread.try_borrow_mut() {
            thread.busy_since = None;
        }
    });
    announce();
    look(Entry::has_news_or_sleeps);
    look_at_links(true);
}

/// To be called after each turn of a task: announces and looks if the thread has not parked for a while.
pub(super) fn between_turns() {
    let due = THREAD.try_with(|thread| thread.try_borrow_mut().is_ok_and(|mut thread| thread.is_look_due()));
    if due == Ok(true) {
        announce();
        look_now();
    }
}

/// Wakes the tasks that have news, of a thread that goes on.
pub(crate) fn look_now() {
    look(Entry::has_news);
    look_at_links(false);
}

/// Wakes the tasks that have news.
fn look(has_news: fn(&mut Entry) -> bool) {
    let woken = THREAD.try_with(|thread| {
        let Ok(mut thread) = thread.try_borrow_mut() else { return Vec::new() };
        let Thread { entries, woken, .. } = &mut *thread;
        for entry in entries.iter_mut().flatten() {
            if entry.waker.is_some() && has_news(entry) {
                woken.extend(entry.waker.take());
            }
        }
        std::mem::take(woken)
    });
    let Some(woken) = wake_all(woken.ok()) else { return };
    let _ = THREAD.try_with(|thread| {
        if let Ok(mut thread) = thread.try_borrow_mut() {
            thread.woken = woken;
        }
    });
}

/// Wakes these tasks; the list for its space, if there were any. Nothing may be borrowed: whatever waking runs, it may come back here.
pub(crate) fn wake_all(woken: Option<Vec<Waker>>) -> Option<Vec<Waker>> {
    let mut woken = woken.filter(|woken| !woken.is_empty())?;
    woken.drain(..).for_each(Waker::wake);
    Some(woken)
}

/// Notices workers that take too long, as long as there are any to wait for, and silences their bells.
async fn sweep_until_idle() {
    loop {
        tokio::time::sleep(SWEEP).await;
        let mut pools = Vec::<Weak<Pool>>::new();
        let idle = THREAD.with_borrow_mut(|thread| {
            let mut idle = true;
            for entry in thread.entries.iter_mut().flatten() {
                idle = false;
                entry.late |= entry.waiting.is_some_and(|since| since.elapsed() >= entry.timeout);
                if !pools.iter().any(|known| known.ptr_eq(&entry.worker.pool)) {
                    pools.push(entry.worker.pool.clone());
                }
            }
            thread.sweeping = !idle;
            idle
        });
        if idle {
            return;
        }
        pools.iter().filter_map(Weak::upgrade).for_each(|pool| pool.clear_bells());
        // Also for those whose bell was silenced before this thread has heard it.
        look(Entry::has_news);
    }
}

impl Behind {
    /// Returns whether the worker has ended nothing since it was last looked at, for long enough.
    fn is_stuck(&mut self, worker: &Worker) -> bool {
        if self.since.elapsed() < STUCK / 2 {
            return false;
        }
        let ended = worker.ended.load(Relaxed);
        std::mem::replace(&mut self.ended, ended) == ended
    }
}

/// Looks after requests that were placed behind others, as long as there are any: those whose worker has ended
/// nothing for about [`STUCK`] are given to others.
async fn guard_until_idle() {
    let mut guarding = true;
    while guarding {
        tokio::time::sleep(STUCK).await;
        let mut pools = Vec::<Arc<Pool>>::new();
        guarding = THREAD.with_borrow_mut(|thread| {
            thread.guarding = false;
            for entry in thread.entries.iter_mut().flatten() {
                let Some(behind) = &mut entry.behind else { continue };
                if !behind.is_stuck(&entry.worker) {
                    thread.guarding = true;
                    continue;
                }
                // Its worker may owe an answer to another thread.
                if !pools.iter().any(|known| Arc::ptr_eq(known, &behind.pool)) {
                    pools.push(behind.pool.clone());
                }
                entry.take_back();
            }
            thread.guarding
        });
        pools.iter().for_each(|pool| pool.common.call_all());
    }
}
