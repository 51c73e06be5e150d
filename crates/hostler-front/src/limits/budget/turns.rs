//! The turns of a thread's long-running requests: one at a time, with sites taking turns, and all other work between
//! two of them. A site with a thousand such requests takes no more from others than with one.

use hashbrown::HashMap;
use hostler_wire::plan::SiteId;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};

/// A site that has worked for so long within [`WINDOW`] lines up for whatever its requests do.
const HOT: Duration = Duration::from_millis(10);
const WINDOW: Duration = Duration::from_secs(1);

/// The requests of a thread that want to go on.
#[derive(Default)]
pub(crate) struct Turns {
    /// Sites in the order of their turns, each with its requests in theirs.
    sites: RefCell<VecDeque<(SiteId, VecDeque<oneshot::Sender<()>>)>>,
    used: RefCell<HashMap<SiteId, Usage>>,
    /// When no site is hot any more.
    hot_until: Cell<Option<Instant>>,
    lined_up: Notify,
}

/// A site's use since then.
struct Usage {
    since: Instant,
    time: Duration,
}

/// A place in the line. Whoever drops it leaves.
pub(super) struct Turn(oneshot::Receiver<()>);

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Without anybody who hands out turns there is nothing to wait for.
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}

impl Turns {
    /// Lines up.
    pub(super) fn line_up(&self, site: SiteId) -> Turn {
        let (sender, receiver) = oneshot::channel();
        let mut sites = self.sites.borrow_mut();
        match sites.iter_mut().find(|(known, _)| *known == site) {
            Some((_, waiting)) => waiting.push_back(sender),
            None => sites.push_back((site, VecDeque::from([sender]))),
        }
        self.lined_up.notify_one();
        Turn(receiver)
    }

    /// Notes what a site has used.
    pub(super) fn used(&self, site: SiteId, time: Duration) {
        let now = Instant::now();
        let mut all = self.used.borrow_mut();
        let used = all.entry(site).or_insert(Usage { since: now, time: Duration::ZERO });
        if now.duration_since(used.since) > WINDOW {
            *used = Usage { since: now, time: Duration::ZERO };
        }
        used.time += time;
        if used.time > HOT {
            self.hot_until.set(Some(now + WINDOW));
        }
    }

    /// Returns whether all that a site does waits for its turn.
    pub(super) fn is_hot(&self, site: SiteId) -> bool {
        let Some(until) = self.hot_until.get() else { return false };
        let now = Instant::now();
        let mut all = self.used.borrow_mut();
        if now > until {
            all.clear();
            self.hot_until.set(None);
            return false;
        }
        all.get(&site).is_some_and(|used| used.time > HOT && now.duration_since(used.since) <= WINDOW)
    }

    /// Lets the next one go on; false if nobody waits.
    fn next(&self) -> bool {
        let mut sites = self.sites.borrow_mut();
        while let Some((site, mut waiting)) = sites.pop_front() {
            let gone_on = std::iter::from_fn(|| waiting.pop_front()).any(|one| one.send(()).is_ok());
            if !waiting.is_empty() {
                sites.push_back((site, waiting));
            }
            if gone_on {
                return true;
            }
        }
        false
    }
}

/// Hands out the turns of a thread, one in each round of its event loop.
pub(crate) async fn hand_out(thread: Rc<crate::request::thread::Thread>) {
    loop {
        while thread.turns.next() {
            // The thread does not park as long as somebody has work, but workers want to be heard.
            hostler_gateway::backend::ring::before_park();
            tokio::task::yield_now().await;
        }
        thread.turns.lined_up.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn went_on(turns: &Turns, all: &mut [Turn]) -> Vec<usize> {
        let mut order = Vec::new();
        while turns.next() {
            for (index, turn) in all.iter_mut().enumerate() {
                if turn.0.try_recv().is_ok() {
                    order.push(index);
                }
            }
        }
        order
    }

    #[test]
    fn sites_take_turns_and_within_a_site_the_first_is_first() {
        let turns = Turns::default();
        let mut all: Vec<Turn> = [1, 1, 1, 2, 3, 2].into_iter().map(|site| turns.line_up(site)).collect();
        assert_eq!(went_on(&turns, &mut all), [0, 3, 4, 1, 5, 2]);
    }

    #[test]
    fn who_has_left_is_passed_over() {
        let turns = Turns::default();
        drop(turns.line_up(1));
        let mut all = [turns.line_up(1), turns.line_up(2)];
        drop(turns.line_up(2));
        assert_eq!(went_on(&turns, &mut all), [0, 1]);
        assert!(!turns.next());
    }

    #[test]
    fn a_site_that_uses_much_is_hot() {
        let turns = Turns::default();
        turns.used(1, HOT);
        assert!(!turns.is_hot(1));
        turns.used(1, Duration::from_nanos(1));
        assert!(turns.is_hot(1) && !turns.is_hot(2));
    }
}
