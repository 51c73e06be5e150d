//! Timeouts of connections, cheap enough to move with every request: a connection owns a slot with a due time,
//! and one task per thread looks through the slots a few times a second.
//!
//! (A timer of the runtime per read would cost more than the read.)
//!
//! Connections from which nothing has to come any more, or nothing came yet, are *silent*: where room is short the
//! oldest of them are closed before their time.

use crate::values::address::Client;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The interval at which the slots are checked; timeouts are at most this late.
const TICK: Duration = Duration::from_millis(200);

/// So old a connection without a request is silent before those that have had one.
const YOUNG: Duration = Duration::from_secs(1);
/// One in so many silent ones is closed at a time: looking for them costs as much for one as for more.
const SHARE: usize = 32;

struct Slot {
    client: Client,
    due: Option<Instant>,
    expired: bool,
    /// Since when, and whether it has had a request.
    silent: Option<(Instant, bool)>,
    closed: bool,
    waker: Option<Waker>,
}

impl Slot {
    /// The lowest go first: who has never asked for anything, then those who have, then who has only just come; of
    /// them the oldest.
    fn rank(&self, now: Instant) -> Option<(u8, Instant)> {
        let (since, asked) = self.silent?;
        let class = match asked {
            false if now.saturating_duration_since(since) >= YOUNG => 0,
            true => 1,
            false => 2,
        };
        Some((class, since))
    }
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

thread_local! {
    static SLOTS: RefCell<Slots> = RefCell::default();
    /// The front ends: every connection has expired.
    static CUT_OFF: Cell<bool> = const { Cell::new(false) };
}

/// A connection's slot; dropping it gives the slot back.
#[derive(Debug)]
pub(crate) struct Deadline(usize);

impl Deadline {
    pub(crate) fn new(client: Client) -> Self {
        SLOTS.with_borrow_mut(|s| {
            let slot = Slot { client, due: None, expired: false, silent: None, closed: false, waker: None };
            if let Some(index) = s.free.pop() {
                s.slots[index] = slot;
                Self(index)
            } else {
                s.slots.push(slot);
                Self(s.slots.len() - 1)
            }
        })
    }

    /// Expires `after` from now.
    pub(crate) fn set(&self, after: Duration) {
        let due = Instant::now() + after;
        self.set_at(due);
    }

    /// Expires at `due`.
    pub(crate) fn set_at(&self, due: Instant) {
        SLOTS.with_borrow_mut(|s| {
            let slot = &mut s.slots[self.0];
            slot.due = Some(due);
            // What is being closed has come to its end.
            slot.expired = slot.closed;
        });
    }

    /// From now on there is nothing but silence to be expected; `asked`: the connection has had a request.
    pub(crate) fn silent(&self, asked: bool) {
        SLOTS.with_borrow_mut(|s| s.slots[self.0].silent = Some((Instant::now(), asked)));
    }

    /// Something has come: the connection is not closed before its time.
    pub(crate) fn active(&self) {
        SLOTS.with_borrow_mut(|s| {
            let slot = &mut s.slots[self.0];
            (slot.silent, slot.closed, slot.due) = (None, false, None);
        });
    }

    /// It is not closed to make room now. As long as nothing whole has come, it may be later.
    pub(crate) fn spare(&self) {
        SLOTS.with_borrow_mut(|s| {
            let slot = &mut s.slots[self.0];
            (slot.closed, slot.expired) = (false, false);
        });
    }

    /// Returns whether it is closed to make room.
    pub(crate) fn is_closed(&self) -> bool {
        SLOTS.with_borrow(|s| s.slots[self.0].closed)
    }

    /// Waits until it expires.
    pub(crate) async fn expired(&self) {
        poll_fn(|cx| if self.poll_expired(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Returns whether it has expired; if not, the task is woken when it does.
    pub(crate) fn poll_expired(&self, cx: &mut Context<'_>) -> bool {
        SLOTS.with_borrow_mut(|s| {
            let slot = &mut s.slots[self.0];
            if !slot.expired && slot.waker.as_ref().is_none_or(|w| !w.will_wake(cx.waker())) {
                slot.waker = Some(cx.waker().clone());
            }
            slot.expired || CUT_OFF.get()
        })
    }

    /// Returns true if all connections of this thread are cut off; if not, the task is woken when they are.
    pub(crate) fn poll_cut_off(&self, cx: &mut Context<'_>) -> bool {
        CUT_OFF.get() || {
            self.poll_expired(cx);
            false
        }
    }
}

/// Cuts off all connections of this thread, now and from now on.
pub(crate) fn cut_off_all() {
    CUT_OFF.set(true);
    let wakers = SLOTS.with_borrow_mut(|s| s.slots.iter_mut().filter_map(|slot| slot.waker.take()).collect());
    let wakers: Vec<Waker> = wakers;
    wakers.into_iter().for_each(Waker::wake);
}

impl Drop for Deadline {
    fn drop(&mut self) {
        SLOTS.with_borrow_mut(|s| {
            s.slots[self.0].due = None;
            s.slots[self.0].silent = None;
            s.slots[self.0].waker = None;
            s.free.push(self.0);
        });
    }
}

/// Closes some of this thread's silent connections, of one client or of all; how many.
pub(crate) fn close_oldest(of: Option<Client>) -> usize {
    let now = Instant::now();
    let woken: Vec<Option<Waker>> = SLOTS.with_borrow_mut(|s| {
        let ranked = s.slots.iter().enumerate().filter_map(|(index, slot)| {
            let is_meant = !slot.closed && of.is_none_or(|client| client == slot.client);
            slot.rank(now).filter(|_| is_meant).map(|rank| (rank, index))
        });
        let mut ranked: Vec<_> = ranked.collect();
        if ranked.is_empty() {
            return Vec::new();
        }
        let last = (ranked.len() - 1) / SHARE;
        ranked.select_nth_unstable(last);
        let close = |(_, index): &(_, usize)| {
            let slot = &mut s.slots[*index];
            (slot.closed, slot.expired) = (true, true);
            slot.waker.take()
        };
        ranked[..=last].iter().map(close).collect()
    });
    let closed = woken.len();
    // Not under the borrow, see below.
    woken.into_iter().flatten().for_each(Waker::wake);
    closed
}

/// Runs for as long as the thread does.
pub(crate) async fn sweep() {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut woken = Vec::new();
    loop {
        ticks.tick().await;
        let now = Instant::now();
        SLOTS.with_borrow_mut(|s| {
            for slot in &mut s.slots {
                if slot.due.is_some_and(|due| due <= now) && !slot.expired {
                    slot.expired = true;
                    woken.extend(slot.waker.take());
                }
            }
        });
        // Waking may run a destructor that gives a slot back: not under the borrow.
        woken.drain(..).for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8) -> Client {
        std::net::IpAddr::from([192, 0, 2, last]).into()
    }

    #[test]
    fn the_oldest_silent_ones_are_closed_and_nobody_else() {
        let all: Vec<_> = [1, 1, 2, 1].into_iter().map(|last| Deadline::new(client(last))).collect();
        let closed = || all.iter().map(Deadline::is_closed).collect::<Vec<_>>();
        all[1].silent(true);
        all[2].silent(false);
        all[3].silent(true);
        assert_eq!((close_oldest(Some(client(1))), closed()), (1, vec![false, true, false, false]));
        // One that has only just come is the last to go.
        assert_eq!((close_oldest(None), closed()), (1, vec![false, true, false, true]));
        assert_eq!((close_oldest(Some(client(1))), close_oldest(None)), (0, 1));
        assert_eq!((close_oldest(None), closed()), (0, vec![false, true, true, true]));
        // A request that came in this very moment is answered.
        all[1].active();
        assert!(!all[1].is_closed());
    }

    #[tokio::test]
    async fn expires_and_can_be_moved() {
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                tokio::task::spawn_local(sweep());
                let deadline = Deadline::new(client(1));
                deadline.set(Duration::from_secs(60));
                assert!(!std::future::poll_fn(|cx| std::task::Poll::Ready(deadline.poll_expired(cx))).await);
                deadline.set(Duration::from_millis(1));
                std::future::poll_fn(|cx| {
                    if deadline.poll_expired(cx) {
                        std::task::Poll::Ready(())
                    } else {
                        std::task::Poll::Pending
                    }
                })
                .await;
                deadline.set(Duration::from_secs(60));
                assert!(!std::future::poll_fn(|cx| std::task::Poll::Ready(deadline.poll_expired(cx))).await);
            })
            .await;
    }
}
