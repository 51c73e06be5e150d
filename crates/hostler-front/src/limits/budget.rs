//! What a client's request may cost in the front: processor time for what tenants write (`.htaccess`, includes,
//! expressions, patterns), shared by the request, its sub-requests, redirects and error pages.
//!
//! Such work is counted where it is done ([`effort::spend`]), and from time to time the thread's watch looks at the
//! clock. Three times matter:
//!
//! ```text
//! SLICE     then the request lets others go on, at the next place where it can ([`turn`])
//! STRETCH   then it fails: a single rule has come to no such place
//! most      then it fails: HostlerRequestBudget is used up
//! ```
//!
//! A request that failed is answered with 500 whatever its rules would have said, because some of them were not
//! carried out. `turns` decides who goes on. Most requests cost so little that no clock is read for them.
//!
//! **Diagnostics**: one line in the virtual host's ErrorLog for each request that failed, under `core`.

mod turns;

pub(crate) use turns::{Turns, hand_out};

use crate::limits::watch::{self, Place, Watched};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::settings;
use crate::request::thread::Thread;
use hostler_expr::effort;
use hostler_wire::plan::SiteId;
use rustix::time::{ClockId, clock_gettime};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Time after which a request lets others go on.
const SLICE: Duration = Duration::from_millis(1);
/// Longest time that a request goes on without coming to a place where it lets others go on.
const STRETCH: Duration = Duration::from_millis(5);
/// `HostlerRequestBudget` where it is not set.
const DEFAULT: Duration = Duration::from_secs(2);

/// The budget of a client's request.
#[derive(Debug)]
pub(crate) struct Budget {
    spent: Cell<Duration>,
    most: Cell<Duration>,
    site: Cell<Option<SiteId>>,
    failed: Cell<Option<Failure>>,
    told: Cell<bool>,
    /// The site of which it may read directories ([`crate::limits::listing`]).
    pub(crate) lists: Cell<Option<SiteId>>,
    /// How long it waits for what.
    pub(crate) watched: Watched,
}

/// Why a request can't be answered as its rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Spent,
    Stretch,
    /// A rule could not be carried out; the log has the reason.
    Rule,
    /// It has waited there for too long ([`crate::limits::watch`]).
    Silent(Place),
}

impl Default for Budget {
    fn default() -> Self {
        let (spent, most) = (Cell::default(), Cell::new(DEFAULT));
        let (failed, told, lists) = (Cell::default(), Cell::default(), Cell::default());
        Self { spent, most, site: Cell::default(), failed, told, lists, watched: Watched::default() }
    }
}

impl Budget {
    /// The request turns out to be for this site, under this virtual host's limit.
    pub(crate) fn belongs(&self, request: &Request) {
        let limit = request.server.conf.core.request_budget;
        self.most.set(limit.map_or(DEFAULT, |milliseconds| Duration::from_millis(u64::from(milliseconds))));
        self.site.set(Some(request.thread.shared.sites.of(&request.server)));
        self.watched.has_patience(settings::wait_timeout(&request.server));
    }

    /// A rule that may guard something could not be carried out.
    pub(crate) fn fail(&self) {
        self.failed.set(self.failed.get().or(Some(Failure::Rule)));
    }

    /// It has waited for too long where it is.
    pub(crate) fn fail_silent(&self) {
        self.failed.set(self.failed.get().or(Some(Failure::Silent(self.watched.place()))));
    }

    /// Whether it is to be ended wherever it waits.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.failed.get(), Some(Failure::Silent(_)))
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    /// Charges time that another thread has worked for the request.
    pub(crate) fn charge(&self, time: Duration) {
        self.spent.set(self.spent.get() + time);
        if self.spent.get() > self.most.get() {
            self.failed.set(Some(Failure::Spent));
        }
    }
}

/// Whether the request has failed; tells so, once.
pub(crate) fn check(request: &Request) -> Result<(), Halt> {
    let budget = &request.budget;
    let Some(failure) = budget.failed.get() else { return Ok(()) };
    if !budget.told.replace(true) {
        let rules = "its .htaccess files, includes and expressions";
        let message = match failure {
            Failure::Spent => format!(
                "the request has used up {} ms of processor time for {rules} (HostlerRequestBudget)",
                budget.most.get().as_millis()
            ),
            Failure::Stretch => format!(
                "a single rule took more than {} ms of processor time: a regular expression that tries too much, or \
                 a value that grows ({rules})",
                STRETCH.as_millis()
            ),
            Failure::Silent(place) => format!(
                "killed: nothing has happened for {} s (HostlerWaitTimeout) in {} of {}, at {}",
                budget.watched.patience().as_secs(),
                place.step,
                place.module,
                about(request)
            ),
            Failure::Rule => format!("a rule of {rules} could not be carried out, so the request is refused"),
        };
        log::request(request, Severity::Error, "core", &message);
    }
    Err(Halt::Status(500))
}

/// What a request is about: its file, or its URL where it has none yet.
fn about(request: &Request) -> Cow<'_, str> {
    let filename = &request.resource.filename;
    String::from_utf8_lossy(if filename.is_empty() { &request.target.uri } else { filename })
}

/// Who works on this thread just now.
#[derive(Default)]
struct Now {
    budget: RefCell<Option<Rc<Budget>>>,
    /// When the watch first looked, by the clock on the wall and by the thread's own.
    began: Cell<Option<(Instant, Duration)>>,
    /// The slice is over.
    overdue: Cell<bool>,
    /// The request wants to go on at its next turn.
    waits: Cell<bool>,
}

thread_local! {
    static NOW: Now = Now::default();
}

/// Makes this thread watch over what requests cost.
pub(crate) fn start() {
    effort::watch_with(watch);
}

/// Processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0).unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn watch() -> bool {
    NOW.with(|now| {
        let budget = now.budget.borrow();
        let Some(budget) = &*budget else { return true };
        if budget.has_failed() {
            return false;
        }
        let Some((wall, thread)) = now.began.get() else {
            now.began.set(Some((Instant::now(), thread_time())));
            return true;
        };
        let stretch = wall.elapsed();
        if stretch > SLICE {
            now.overdue.set(true);
        }
        // Another process may have had the processor meanwhile.
        if stretch > STRETCH || budget.spent.get() + stretch > budget.most.get() {
            let used = thread_time().saturating_sub(thread);
            if budget.spent.get() + used > budget.most.get() {
                budget.failed.set(Some(Failure::Spent));
            } else if used > STRETCH {
                budget.failed.set(Some(Failure::Stretch));
            }
        }
        !budget.has_failed()
    })
}

/// Whether the slice is over.
pub(crate) fn is_overdue() -> bool {
    NOW.with(|now| now.overdue.get())
}

/// Puts what was used since the watch first looked on the budget.
fn settle(now: &Now, turns: Option<&Turns>) {
    now.overdue.set(false);
    let Some((_, began)) = now.began.take() else { return };
    let used = thread_time().saturating_sub(began);
    let budget = now.budget.borrow();
    let Some(budget) = &*budget else { return };
    budget.charge(used);
    if let (Some(turns), Some(site)) = (turns, budget.site.get()) {
        turns.used(site, used);
    }
}

/// Between two rules: lets others go on if this request has worked for long. Cheap otherwise.
pub(crate) async fn turn(request: &Request) -> Result<(), Halt> {
    if is_overdue() {
        NOW.with(|now| {
            settle(now, Some(&request.thread.turns));
            now.waits.set(now.budget.borrow().is_some());
        });
        // Whoever polls us lines up for the next turn.
        let mut waited = false;
        poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
    check(request)
}

/// Before a sub-request, of which rules can cause many: its own work counts, too.
pub(crate) async fn sub_request(request: &Request) -> Result<(), Halt> {
    let _ = effort::spend(effort::ROUND as usize);
    turn(request).await
}

/// So many bytes of access files came from the site's process: to receive them took time that no rule has spent.
pub(crate) fn has_read(request: &Request, bytes: usize) {
    // About a nanosecond for each.
    let time = Duration::from_nanos(bytes as u64);
    if bytes > 0 {
        request.budget.charge(time);
        request.thread.turns.used(request.budget.site.get().unwrap_or(SiteId::MAX), time);
    }
}

/// A site's work that is part of no request any more, such as compressing what is sent: it has no bound, but takes
/// turns with all other work of its site.
pub(crate) struct Sideline {
    thread: Rc<Thread>,
    site: SiteId,
    turn: Option<turns::Turn>,
}

impl Sideline {
    pub(crate) fn of(request: &Request) -> Self {
        let site = request.budget.site.get().unwrap_or(SiteId::MAX);
        Self { thread: request.thread.clone(), site, turn: None }
    }

    /// Waits for the site's turn, if it has to.
    pub(crate) fn poll_turn(&mut self, cx: &mut std::task::Context<'_>) -> Poll<()> {
        if self.turn.is_none() && self.thread.turns.is_hot(self.site) {
            self.turn = Some(self.thread.turns.line_up(self.site));
        }
        if let Some(turn) = &mut self.turn {
            std::task::ready!(Pin::new(turn).poll(cx));
            self.turn = None;
        }
        Poll::Ready(())
    }

    /// Notes what was worked, where [`Self::work`] can't be told.
    pub(crate) fn note(&self, took: Duration) {
        self.thread.turns.used(self.site, took);
    }

    /// Notes what a piece of work has taken.
    pub(crate) fn work<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = thread_time();
        let result = work();
        self.thread.turns.used(self.site, thread_time().saturating_sub(before));
        result
    }
}

/// Runs what works for a request.
pub(crate) async fn within<F: Future>(
    thread: &Rc<Thread>,
    budget: &Rc<Budget>,
    mut future: Pin<&mut F>,
) -> F::Output {
    let mut turn: Option<turns::Turn> = None;
    let _entry = watch::Entry::new(budget);
    poll_fn(|cx| {
        watch::before_poll(budget);
        loop {
            if turn.is_none() && budget.site.get().is_some_and(|site| thread.turns.is_hot(site)) {
                turn = budget.site.get().map(|site| thread.turns.line_up(site));
            }
            if let Some(waiting) = &mut turn {
                if Pin::new(waiting).poll(cx).is_pending() {
                    watch::after_poll(budget, cx, true);
                    return Poll::Pending;
                }
                turn = None;
            }
            let outer = NOW.with(|now| enter(now, budget));
            let result = future.as_mut().poll(cx);
            let waits = NOW.with(|now| leave(now, outer, &thread.turns));
            if result.is_ready() {
                return result;
            }
            if !waits {
                watch::after_poll(budget, cx, false);
                return result;
            }
            turn = Some(thread.turns.line_up(budget.site.get().unwrap_or(SiteId::MAX)));
        }
    })
    .await
}

/// Who worked before.
type Outer = (Option<Rc<Budget>>, Option<(Instant, Duration)>, bool);

fn enter(now: &Now, budget: &Rc<Budget>) -> Outer {
    now.waits.set(false);
    (now.budget.replace(Some(budget.clone())), now.began.take(), now.overdue.replace(false))
}

/// Whether the request wants to go on at its next turn.
fn leave(now: &Now, (budget, began, overdue): Outer, turns: &Turns) -> bool {
    settle(now, Some(turns));
    now.budget.replace(budget);
    now.began.set(began);
    now.overdue.set(overdue);
    now.waits.take()
}

/// Runs something short that is no request's, with the bound of a single rule.
pub(crate) fn alone<T>(work: impl FnOnce() -> T) -> T {
    let budget = Rc::new(Budget::default());
    let outer = NOW.with(|now| enter(now, &budget));
    let result = work();
    NOW.with(|now| {
        settle(now, None);
        let (budget, began, overdue) = outer;
        now.budget.replace(budget);
        now.began.set(began);
        now.overdue.set(overdue);
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(budget: &Rc<Budget>) -> u32 {
        start();
        let outer = NOW.with(|now| enter(now, budget));
        let mut rounds = 0;
        while effort::spend(effort::ROUND as usize).is_ok() {
            rounds += 1;
        }
        NOW.with(|now| leave(now, outer, &Turns::default()));
        rounds
    }

    #[test]
    fn a_stretch_without_a_turn_ends_and_the_request_has_failed() {
        let budget = Rc::new(Budget::default());
        assert!(work(&budget) > 1);
        assert_eq!(budget.failed.get(), Some(Failure::Stretch));
        assert!(budget.spent.get() >= STRETCH);
        assert!(work(&budget) <= 1, "it stays failed");
    }

    #[test]
    fn a_budget_ends() {
        let budget = Rc::new(Budget::default());
        budget.most.set(Duration::from_millis(2));
        work(&budget);
        assert_eq!(budget.failed.get(), Some(Failure::Spent));
        let budget = Budget::default();
        budget.charge(DEFAULT);
        assert!(!budget.has_failed());
        budget.charge(Duration::from_nanos(1));
        assert_eq!(budget.failed.get(), Some(Failure::Spent));
    }

    #[test]
    fn who_worked_before_goes_on_as_before() {
        let budget = Rc::new(Budget::default());
        start();
        let outer = NOW.with(|now| enter(now, &budget));
        assert!(alone(|| effort::spend(5).is_ok()));
        NOW.with(|now| assert!(now.budget.borrow().as_ref().is_some_and(|now| Rc::ptr_eq(now, &budget))));
        NOW.with(|now| leave(now, outer, &Turns::default()));
        NOW.with(|now| assert!(now.budget.borrow().is_none()));
    }
}
