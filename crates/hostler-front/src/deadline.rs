//! Timeouts of connections, cheap enough to move with every request: a connection owns a slot with a due time,
//! and one task per thread looks through the slots a few times a second.
//!
//! (A timer of the runtime per read would cost more than the read.)

use std::cell::RefCell;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// How often the slots are looked at; timeouts are this much late at most.
const TICK: Duration = Duration::from_millis(200);

struct Slot {
    due: Option<Instant>,
    expired: bool,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

thread_local! {
    static SLOTS: RefCell<Slots> = RefCell::default();
}

/// A connection's slot; dropping it gives the slot back.
#[derive(Debug)]
pub(crate) struct Deadline(usize);

impl Deadline {
    pub(crate) fn new() -> Self {
        SLOTS.with_borrow_mut(|s| {
            let slot = Slot { due: None, expired: false, waker: None };
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
            s.slots[self.0].due = Some(due);
            s.slots[self.0].expired = false;
        });
    }

    /// Whether it has expired; if not, the task is woken when it does.
    pub(crate) fn poll_expired(&self, cx: &mut Context<'_>) -> bool {
        SLOTS.with_borrow_mut(|s| {
            let slot = &mut s.slots[self.0];
            if !slot.expired && slot.waker.as_ref().is_none_or(|w| !w.will_wake(cx.waker())) {
                slot.waker = Some(cx.waker().clone());
            }
            slot.expired
        })
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        SLOTS.with_borrow_mut(|s| {
            s.slots[self.0].due = None;
            s.slots[self.0].waker = None;
            s.free.push(self.0);
        });
    }
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

    #[tokio::test]
    async fn expires_and_can_be_moved() {
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                tokio::task::spawn_local(sweep());
                let deadline = Deadline::new();
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
