//! Clients, and the requests that they or an open phase have under way.

use super::exchange::Lines;
use crate::load::plan::{Plan, Stop, Think};
use crate::load::tally::{End, Failure, RequestKind, Tally};
use crate::load::think::Random;
use crate::load::timers::Moment;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Pauses after failures: the first, and the longest.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));

/// State that the clients and the driver share.
pub(super) struct SharedState {
    pub(super) tally: RefCell<Tally>,
    pub(super) begin: Instant,
    pub(super) lines: Lines,
    pub(super) plan: Plan,
    /// Of each client.
    pub(super) randoms: RefCell<Vec<Random>>,
    /// In open phases: numbers that no request has.
    pub(super) free: RefCell<Vec<u32>>,
    /// Requests that are still to be sent, where their number ends the phase.
    pub(super) left: Cell<Option<u64>>,
    /// The target number of clients.
    pub(super) wanted: Cell<u32>,
    pub(super) under_way: Cell<u32>,
    /// Something ended that the driver may wait for.
    pub(super) news: Notify,
    /// An error of the generator itself.
    pub(super) fault: RefCell<Option<anyhow::Error>>,
}

impl SharedState {
    pub(super) fn now(&self) -> Moment {
        Moment::try_from(self.begin.elapsed().as_nanos()).unwrap_or(Moment::MAX)
    }

    /// A client of a closed phase.
    pub(super) async fn client(self: Rc<Self>, number: u32, think: Think) {
        let mut failures = 0;
        while number < self.wanted.get() && self.take() {
            let asked = RequestKind { at: self.now(), client: number };
            let answered = self.ask(number, number as usize, asked).await;
            failures = if answered { 0 } else { failures + 1 };
            let pause = match failures {
                0 => self.pause(number, &think),
                _ => Some((BACK_OFF.0 * 2_u32.pow((failures - 1).min(10))).min(BACK_OFF.1)),
            };
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
        }
    }

    fn pause(&self, number: u32, think: &Think) -> Option<Duration> {
        let mut randoms = self.randoms.borrow_mut();
        while randoms.len() <= number as usize {
            let next = u32::try_from(randoms.len()).unwrap_or(u32::MAX);
            randoms.push(Random::new(self.plan.seed, next));
        }
        randoms[number as usize].pause(think)
    }

    /// Returns whether there is another request to be sent: it is taken.
    fn take(&self) -> bool {
        let left = self.left.get();
        if left == Some(0) {
            return false;
        }
        self.left.set(left.map(|left| left - 1));
        self.under_way.set(self.under_way.get() + 1);
        true
    }

    /// One request that is under way, counted: whether there was an answer.
    pub(super) async fn ask(&self, number: u32, host: usize, asked: RequestKind) -> bool {
        let exchange = self.lines.exchange(number, host, &self.tally);
        let end = tokio::time::timeout(self.patience(), exchange).await;
        let end = end.unwrap_or(Ok(End::Failed(Failure::Timeout)));
        self.under_way.set(self.under_way.get().saturating_sub(1));
        let answered = matches!(end, Ok(End::Answered { .. }));
        match end {
            Ok(End::Failed(Failure::Timeout)) if self.breaks_limit() => {}
            Ok(end) => self.tally.borrow_mut().ended(self.now(), asked, end),
            Err(fault) => *self.fault.borrow_mut() = Some(fault),
        }
        if self.under_way.get() == 0 || !answered || self.tally.borrow().has_stopped() {
            self.news.notify_one();
        }
        answered
    }

    /// Returns the time limit of a request. Limits do not apply while warming up.
    fn patience(&self) -> Duration {
        let limit = match self.plan.stop {
            Some(Stop::Answer { seconds }) if self.tally.borrow().counts() => seconds,
            _ => f64::INFINITY,
        };
        Duration::from_secs_f64(limit.min(self.plan.timeout))
    }

    /// Returns whether a request that took too long breaks the plan's limit: said, then.
    fn breaks_limit(&self) -> bool {
        let Some(Stop::Answer { seconds }) = self.plan.stop else { return false };
        let mut tally = self.tally.borrow_mut();
        let breaks = seconds < self.plan.timeout && tally.counts();
        if breaks {
            tally.broke(&format!("an answer took more than {seconds} s"));
        }
        breaks
    }
}
