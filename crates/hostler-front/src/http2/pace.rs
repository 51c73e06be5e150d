//! The streams that a connection may begin at once. A client can open a hundred of them with one packet, and every task that this
//! makes ready runs before the tasks of other clients that become ready later. If more than [`FREE`] requests of a connection are at
//! work, others begin [`EACH_ROUND`] at a time in each round of the thread's event loop, in the order of their arrival.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Requests of a connection that begin without waiting, if no more are at work.
const FREE: u32 = 4;
/// Requests of a connection that begin in a round beyond those.
const EACH_ROUND: usize = 2;

/// The requests of a connection that wait for a round.
#[derive(Clone, Default)]
pub(super) struct Pace(Rc<RefCell<VecDeque<Waiting>>>);

struct Waiting {
    may_begin: Rc<Cell<bool>>,
    waker: Option<Waker>,
}

impl Pace {
    /// Waits until a request may begin. `working`: the requests of the connection that are at work, this one included.
    pub(super) async fn begin(&self, working: u32) {
        if working <= FREE && self.0.borrow().is_empty() {
            return;
        }
        let may_begin = Rc::new(Cell::new(false));
        let waiting = Waiting { may_begin: may_begin.clone(), waker: None };
        self.0.borrow_mut().push_back(waiting);
        if self.0.borrow().len() == 1 {
            tokio::task::spawn_local(self.clone().run());
        }
        poll_fn(|context| {
            if may_begin.get() {
                return Poll::Ready(());
            }
            let mut all = self.0.borrow_mut();
            if let Some(own) = all.iter_mut().rev().find(|one| Rc::ptr_eq(&one.may_begin, &may_begin)) {
                own.waker = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// Lets some begin in each round, until none waits.
    async fn run(self) {
        while !self.0.borrow().is_empty() {
            tokio::task::yield_now().await;
            for _ in 0..EACH_ROUND {
                let Some(next) = self.0.borrow_mut().pop_front() else { return };
                next.may_begin.set(true);
                next.waker.iter().for_each(Waker::wake_by_ref);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;

    async fn in_set<T>(work: impl Future<Output = T>) -> T {
        tokio::task::LocalSet::new().run_until(work).await
    }

    #[tokio::test]
    async fn few_requests_begin_at_once() {
        let pace = Pace::default();
        let mut begun = std::pin::pin!(pace.begin(FREE));
        let mut context = std::task::Context::from_waker(Waker::noop());
        assert!(begun.as_mut().poll(&mut context).is_ready());
    }

    #[tokio::test]
    async fn many_requests_leave_others_their_turn() {
        let (pace, begun, turns) = (Pace::default(), Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        in_set(async {
            for number in 0..100 {
                let (pace, begun) = (pace.clone(), begun.clone());
                tokio::task::spawn_local(async move {
                    pace.begin(FREE + number).await;
                    begun.set(begun.get() + 1);
                });
            }
            while begun.get() < 100 {
                let before = begun.get();
                tokio::task::yield_now().await;
                assert!(begun.get() <= before + 1 + EACH_ROUND, "{before} and then {}", begun.get());
                turns.set(turns.get() + 1);
            }
        })
        .await;
        assert!(turns.get() > 30, "{}", turns.get());
    }

    #[tokio::test]
    async fn one_that_left_stops_no_other() {
        let pace = Pace::default();
        in_set(async {
            let left = tokio::task::spawn_local({
                let pace = pace.clone();
                async move { pace.begin(FREE + 1).await }
            });
            let stays = tokio::task::spawn_local({
                let pace = pace.clone();
                async move { pace.begin(FREE + 2).await }
            });
            left.abort();
            stays.await.unwrap();
        })
        .await;
    }
}
