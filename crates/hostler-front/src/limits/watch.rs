//! A watch on requests: one that waits for the server itself, and that nothing has woken for `HostlerWaitTimeout`, has lost
//! its way (a lock that its own request holds, an answer that never comes). It fails, and the log names what it waited for.
//!
//! No request has a timer: each thread counts, once a second ([`sweep`]), how long ago each of its requests was last polled.
//! Waits with a time limit of their own are left alone: programs, other servers, the client's body, a site's turn.
//!
//! **Diagnostics**: one line in the virtual host's ErrorLog for each request that is ended, under `core`
//! ([`crate::limits::budget::check`]).

use crate::io::body;
use crate::limits::budget::Budget;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The place of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// A phase, in Apache's words, or another step.
    pub(crate) step: &'static str,
    pub(crate) module: &'static str,
    /// Its waits there have a time limit of their own.
    pub(crate) is_timed: bool,
}

impl Place {
    /// Between connection and phases, and after the handler: clients and programs set the pace.
    pub(crate) const OUTSIDE: Self = Self { step: "response", module: "core", is_timed: true };
    /// Before the first hook.
    pub(crate) const START: Self = Self { step: "post_read_request", module: "core", is_timed: false };

    /// A handler that waits for nothing but the front's own work and the site's files.
    pub(crate) const fn handler(module: &'static str) -> Self {
        Self { step: "handler", module, is_timed: false }
    }
}

/// The watch's data about a request.
#[derive(Debug)]
pub(crate) struct Watched {
    place: Cell<Place>,
    /// Sweeps since it was last polled.
    silent: Cell<u32>,
    /// It waits for the client's body, or for its site's turn.
    is_others: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    patience: Cell<Duration>,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            place: Cell::new(Place::OUTSIDE),
            silent: Cell::default(),
            is_others: Cell::default(),
            waker: RefCell::default(),
            patience: Cell::new(Duration::MAX),
        }
    }
}

impl Watched {
    /// Sets the longest wait.
    pub(crate) fn has_patience(&self, patience: Duration) {
        self.patience.set(patience);
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience.get()
    }

    pub(crate) fn place(&self) -> Place {
        self.place.get()
    }

    /// The request comes to a place.
    pub(crate) fn enter(&self, place: Place) {
        self.place.set(place);
    }

    /// A second has passed; whether the request is to be ended.
    fn ages(&self) -> bool {
        let silent = self.silent.get().saturating_add(1);
        self.silent.set(silent);
        let waits = !self.place.get().is_timed && !self.is_others.get();
        // The first sweep may come right after the poll.
        waits && Duration::from_secs(u64::from(silent)) > self.patience.get()
    }
}

/// Puts a request back to its place, when one that belongs to it is done.
pub(crate) struct Return(Rc<Budget>, Place);

impl Return {
    pub(crate) fn to_here(budget: &Rc<Budget>) -> Self {
        Self(budget.clone(), budget.watched.place())
    }
}

impl Drop for Return {
    fn drop(&mut self) {
        self.0.watched.enter(self.1);
    }
}

/// The requests of a thread that are being worked for, and free places among them.
type Requests = (Vec<Option<Rc<Budget>>>, Vec<usize>);

thread_local! {
    static REQUESTS: RefCell<Requests> = RefCell::default();
}

/// A request's place in the watch's list.
pub(crate) struct Entry(usize);

impl Entry {
    pub(crate) fn new(budget: &Rc<Budget>) -> Self {
        REQUESTS.with_borrow_mut(|(all, free)| {
            let at = free.pop().unwrap_or_else(|| {
                all.push(None);
                all.len() - 1
            });
            all[at] = Some(budget.clone());
            Self(at)
        })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // When the thread ends the list may be gone.
        let _ = REQUESTS.try_with(|requests| {
            let (all, free) = &mut *requests.borrow_mut();
            all[self.0] = None;
            free.push(self.0);
        });
    }
}

/// Looks at all requests of this thread; to be called once a second.
pub(crate) fn sweep() {
    let wakers: Vec<Waker> = REQUESTS.with_borrow(|(all, _)| {
        let old = all.iter().flatten().filter(|budget| budget.watched.ages());
        old.filter_map(|budget| {
            budget.fail_silent();
            budget.watched.waker.borrow().clone()
        })
        .collect()
    });
    wakers.into_iter().for_each(Waker::wake);
}

/// Ends all requests of this thread that have no response yet: the server stops.
pub(crate) fn end_all() {
    let wakers: Vec<Waker> = REQUESTS.with_borrow(|(all, _)| {
        all.iter()
            .flatten()
            .filter_map(|budget| {
                budget.fail_stopping();
                budget.watched.waker.borrow().clone()
            })
            .collect()
    });
    wakers.into_iter().for_each(Waker::wake);
}

/// Returns true if a request of this thread has no response yet.
pub(crate) fn has_requests() -> bool {
    REQUESTS.with_borrow(|(all, free)| all.len() > free.len())
}

/// The request is polled.
pub(crate) fn before_poll(budget: &Budget) {
    budget.watched.silent.set(0);
    body::take_waiting();
}

/// It has to wait. `for_turn`: for its site's turn.
pub(crate) fn after_poll(budget: &Budget, context: &Context<'_>, for_turn: bool) {
    budget.watched.is_others.set(body::take_waiting() || for_turn);
    let mut waker = budget.watched.waker.borrow_mut();
    if !waker.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
        *waker = Some(context.waker().clone());
    }
}

/// Does work for a request; `None`: the watch has ended it. Where work has parts that are bounded in the same way, the
/// innermost one ends first.
pub(crate) async fn bounded<T>(budget: &Rc<Budget>, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Pending if budget.is_ended() => Poll::Ready(None),
        polled => polled.map(Some),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    const HERE: Place = Place { step: "fixups", module: "dir", is_timed: false };

    fn watched(place: Place) -> Rc<Budget> {
        let budget = Rc::new(Budget::default());
        budget.watched.has_patience(Duration::from_secs(2));
        budget.watched.enter(place);
        budget
    }

    /// Polls work that never ends, as a request's work is polled; sweeps once a second.
    fn ended_after(budget: &Rc<Budget>, sweeps: usize) -> Option<usize> {
        let _entry = Entry::new(budget);
        let mut context = Context::from_waker(Waker::noop());
        let mut work = pin!(bounded(budget, pending::<()>()));
        (0..sweeps).find(|_| {
            let polled = work.as_mut().poll(&mut context);
            sweep();
            polled.is_ready()
        })
    }

    #[test]
    fn a_request_that_nothing_wakes_is_ended_and_others_are_not() {
        assert_eq!(ended_after(&watched(HERE), 10), Some(3));
        assert_eq!(ended_after(&watched(Place { is_timed: true, ..HERE }), 10), None);
        assert_eq!(ended_after(&watched(Place::OUTSIDE), 10), None);
    }

    #[test]
    fn a_request_that_is_polled_is_not_ended() {
        let budget = watched(HERE);
        let _entry = Entry::new(&budget);
        for _ in 0..10 {
            before_poll(&budget);
            sweep();
        }
        assert!(!budget.is_ended());
    }

    #[test]
    fn a_part_gives_the_place_back() {
        let budget = watched(HERE);
        let back = Return::to_here(&budget);
        budget.watched.enter(Place::handler("autoindex"));
        drop(back);
        assert_eq!(budget.watched.place(), HERE);
    }
}
