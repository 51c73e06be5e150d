//! A match of a regular expression that takes longer than a request may work at once: a thread of lower priority carries it
//! out, one at a time for each site and thread of the front, and the rule that wants it is evaluated again afterwards.
//!
//! **Diagnostics**: none of its own; a match that uses up the request's budget is reported by `budget`.

use crate::limits::{aside, budget};
use crate::request::Request;
use crate::request::flow::Continue;
use hostler_expr::effort::{self, Verdict};
use hostler_expr::postponed::Postponed;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Carries out a match on the request's budget.
pub(super) async fn settle(request: &Request, postponed: Postponed) -> Continue {
    let permit = aside::permit(request).await?;
    let until = request.budget.left();
    let given_up = GivenUp::default();
    let flag = given_up.0.clone();
    let work = move || {
        let began = budget::thread_time();
        let bound = Bound { until: began + until, look_at: Instant::now() + until, given_up: flag };
        let settled = within(bound, || postponed.settle());
        (settled, budget::thread_time().saturating_sub(began))
    };
    let (settled, took) = aside::run_free(request, permit, work).await?;
    request.budget.settle(settled, took);
    budget::check(request)
}

/// The request is gone when this is dropped: its match should end.
#[derive(Default)]
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

struct Bound {
    /// By the thread's CPU time.
    until: Duration,
    /// Before that the CPU time cannot be over, and to read it takes a system call.
    look_at: Instant,
    given_up: Arc<AtomicBool>,
}

thread_local! {
    static BOUND: RefCell<Option<Bound>> = const { RefCell::new(None) };
}

/// Works with a bound on a thread that has none otherwise.
fn within<T>(bound: Bound, work: impl FnOnce() -> T) -> T {
    effort::watch_with(watch);
    BOUND.set(Some(bound));
    let result = work();
    BOUND.set(None);
    result
}

fn watch() -> Verdict {
    let is_over = BOUND.with_borrow_mut(|bound| bound.as_mut().is_some_and(Bound::is_over));
    if is_over { Verdict::Enough } else { Verdict::GoOn }
}

impl Bound {
    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.look_at {
            self.look_at = now + self.until.saturating_sub(budget::thread_time());
        }
        self.given_up.load(Relaxed) || now >= self.look_at
    }
}
