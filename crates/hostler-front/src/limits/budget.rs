//! The CPU time that a client's request may use in the front for what tenants write (`.htaccess`, includes, expressions,
//! patterns), shared by the request, its sub-requests, redirects and error pages.
//!
//! Such work is counted where it is done ([`effort::spend`]), and from time to time the thread's watch looks at the
//! clock. Two times matter:
//!
//! ```text
//! SLICE     then the request lets others go on, at the next place where it can ([`turn`]); a match that can be resumed is
//!           carried out by another thread (`long_match`)
//! most      then it fails: HostlerRequestBudget is used up
//! ```
//!
//! Work that can do neither, such as a filter's step, may use a hundredth of the budget at once ([`Budget::stretch`]).
//!
//! A request that failed is answered with 500 whatever its rules would have said, because some of them were not
//! carried out. `turns` decides who goes on. Most requests cost so little that no clock is read for them.
//!
//! **Diagnostics**: one line in the virtual host's ErrorLog for each request that failed, under `core`: the rule's place, the
//! cause, and the directive that raises the limit (`failure`).

mod failure;
mod turns;

use failure::Failure;
pub(crate) use failure::{check, fail_rule, log_failure};
pub(crate) use turns::{Turns, hand_out};

use crate::limits::long_match;
use crate::limits::watch::{self, Watched};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::settings;
use crate::request::thread::Thread;
use hostler_expr::effort::{self, Verdict};
use hostler_expr::postponed::{self, Postponed, Results, Settled};
use hostler_expr::{Place, RegexError};
use hostler_wire::plan::SiteId;
use rustix::time::{ClockId, clock_gettime};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Time after which a request lets others go on.
const SLICE: Duration = Duration::from_millis(1);
/// Work that cannot let others go on may take this much at once, whatever the budget.
const STRETCH: Duration = Duration::from_millis(5);
/// Rounds of [`effort::ROUND`] before such work is looked at: no request that does little fails, however slow the machine.
const ROUNDS: u32 = 100;
/// Matches of one request that were postponed: their results are kept.
const MOST_POSTPONED: usize = 20_000;
/// `HostlerRequestBudget` where it is not set.
pub(crate) const DEFAULT: Duration = Duration::from_secs(2);

/// The budget of a client's request.
#[derive(Debug)]
pub(crate) struct Budget {
    spent: Cell<Duration>,
    most: Cell<Duration>,
    site: Cell<Option<SiteId>>,
    failed: Cell<Option<Failure>>,
    /// The failure is in the log.
    logged: Cell<bool>,
    /// The message of the rule that used up the budget, or else the place of the next rule.
    cause: RefCell<Option<String>>,
    place: RefCell<Option<Place>>,
    results: RefCell<Option<Results>>,
    /// The site of which it may read directories ([`crate::limits::listing`]).
    pub(crate) lists: Cell<Option<SiteId>>,
    /// Its waits.
    pub(crate) watched: Watched,
    ends_with_client: Cell<bool>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(DEFAULT)
    }
}

impl Budget {
    fn new(most: Duration) -> Self {
        Self {
            spent: Cell::default(),
            most: Cell::new(most),
            site: Cell::default(),
            failed: Cell::default(),
            logged: Cell::default(),
            cause: RefCell::default(),
            place: RefCell::default(),
            results: RefCell::default(),
            lists: Cell::default(),
            watched: Watched::default(),
            ends_with_client: Cell::default(),
        }
    }

    /// All that the request may use.
    pub(crate) fn most(&self) -> Duration {
        self.most.get()
    }

    /// Returns the rest of it.
    pub(crate) fn left(&self) -> Duration {
        self.most.get().saturating_sub(self.spent.get())
    }

    /// The CPU time that work may use without letting others go on.
    fn stretch(&self) -> Duration {
        STRETCH.max(self.most.get() / 100)
    }

    /// If the slice is over, the rule of this place is the one that the log names.
    pub(crate) fn is_at(&self, place: Option<&Place>) {
        if is_overdue() {
            self.place.replace(place.cloned());
        }
    }

    /// Adds the result of a match that another thread has carried out. `took`: the CPU time of that thread.
    pub(crate) fn settle(&self, settled: Settled, took: Duration) {
        self.charge(took);
        if let Some(error) = settled.error().filter(|_| self.failed.get() == Some(Failure::Spent)) {
            self.cause.borrow_mut().get_or_insert_with(|| error.to_string());
        }
        let results = self.results.borrow_mut().get_or_insert_default().clone();
        results.add(settled);
        if results.count() > MOST_POSTPONED {
            self.failed.set(self.failed.get().or(Some(Failure::Spent)));
        }
        postponed::install(Some(results));
    }

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

    /// The server stops, and the request has had its time.
    pub(crate) fn fail_stopping(&self) {
        self.failed.set(self.failed.get().or(Some(Failure::Stopping)));
    }

    /// Returns whether it is to be ended wherever it waits.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.failed.get(), Some(Failure::Silent(_) | Failure::Stopping))
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    /// The request is not served to its end if its client leaves: the program that answers has a way of its own to hear of that.
    pub(crate) fn end_with_client(&self) {
        self.ends_with_client.set(true);
    }

    pub(crate) fn ends_with_client(&self) -> bool {
        self.ends_with_client.get()
    }

    /// Charges time that another thread has worked for the request.
    pub(crate) fn charge(&self, time: Duration) {
        self.spent.set(self.spent.get() + time);
        if self.spent.get() > self.most.get() {
            self.failed.set(Some(Failure::Spent));
        }
    }
}

/// The work in progress on this thread.
#[derive(Default)]
struct Now {
    budget: RefCell<Option<Rc<Budget>>>,
    /// When the watch first looked, by the clock on the wall and by the thread's own.
    began: Cell<Option<(Instant, Duration)>>,
    /// The number of sweeps since then.
    rounds: Cell<u32>,
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

/// CPU time of this thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0).unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn watch() -> Verdict {
    NOW.with(|now| {
        let budget = now.budget.borrow();
        let Some(budget) = &*budget else { return Verdict::GoOn };
        if budget.has_failed() {
            return Verdict::Enough;
        }
        let Some((wall, thread)) = now.began.get() else {
            now.rounds.set(0);
            now.began.set(Some((Instant::now(), thread_time())));
            return Verdict::GoOn;
        };
        now.rounds.set(now.rounds.get() + 1);
        let elapsed = wall.elapsed();
        if elapsed > SLICE {
            now.overdue.set(true);
        }
        // Another process may have had the CPU meanwhile.
        if elapsed > budget.stretch() || elapsed > budget.left() {
            let used = thread_time().saturating_sub(thread);
            if used > budget.left() {
                budget.failed.set(Some(Failure::Spent));
            } else if used > budget.stretch() && now.rounds.get() > ROUNDS {
                budget.failed.set(Some(Failure::Stretch));
            }
        }
        match now.overdue.get() {
            _ if budget.has_failed() => Verdict::Enough,
            true => Verdict::Later,
            false => Verdict::GoOn,
        }
    })
}

/// Returns whether the slice is over.
pub(crate) fn is_overdue() -> bool {
    NOW.with(|now| now.overdue.get())
}

/// Puts what was used since the watch first looked on the budget.
fn settle(now: &Now, turns: Option<&Turns>) {
    now.overdue.set(false);
    let Some((_, began)) = now.began.take() else { return };
    effort::start_slice();
    let used = thread_time().saturating_sub(began);
    let budget = now.budget.borrow();
    let Some(budget) = &*budget else { return };
    budget.charge(used);
    if let (Some(turns), Some(site)) = (turns, budget.site.get()) {
        turns.used(site, used);
    }
}

/// Between two rules: lets others go on if this request has worked for long, and carries out a match that was postponed.
/// Cheap otherwise.
pub(crate) async fn turn(request: &Request) -> Result<(), Halt> {
    if let Some(postponed) = Postponed::take() {
        Box::pin(long_match::settle(request, postponed)).await?;
    }
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

/// The same before the rule of this place, which the log names if the budget is used up.
pub(crate) async fn turn_at(request: &Request, place: Option<&Place>) -> Result<(), Halt> {
    request.budget.is_at(place);
    turn(request).await
}

/// Looks for matches until none of them is postponed.
///
/// # Errors
/// The request has failed. A match that was given up is in the result.
pub(crate) async fn matched<T>(
    request: &Request,
    mut look: impl FnMut() -> Result<T, RegexError>,
) -> Result<Result<T, RegexError>, Halt> {
    loop {
        match effort::resumable(&mut look) {
            Err(error) if error.is_postponed() => turn(request).await?,
            done => return Ok(done),
        }
    }
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
    /// Of the request.
    most: Duration,
    turn: Option<turns::Turn>,
}

impl Sideline {
    pub(crate) fn of(request: &Request) -> Self {
        let site = request.budget.site.get().unwrap_or(SiteId::MAX);
        Self { thread: request.thread.clone(), site, most: request.budget.most(), turn: None }
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

    /// Runs a step of the work, with the bound of what cannot let others go on.
    pub(crate) fn step<T>(&self, work: impl FnOnce() -> T) -> T {
        alone(self.most, work)
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
            let waits = NOW.with(|now| leave(now, outer, Some(&thread.turns)));
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

/// The work that was interrupted.
struct Outer {
    budget: Option<Rc<Budget>>,
    results: Option<Results>,
    began: Option<(Instant, Duration)>,
    rounds: u32,
    overdue: bool,
}

fn enter(now: &Now, budget: &Rc<Budget>) -> Outer {
    now.waits.set(false);
    effort::start_slice();
    Outer {
        budget: now.budget.replace(Some(budget.clone())),
        results: postponed::install(budget.results.borrow().clone()),
        began: now.began.take(),
        rounds: now.rounds.get(),
        overdue: now.overdue.replace(false),
    }
}

/// Returns whether the request wants to go on at its next turn.
fn leave(now: &Now, outer: Outer, turns: Option<&Turns>) -> bool {
    settle(now, turns);
    now.budget.replace(outer.budget);
    postponed::install(outer.results);
    now.began.set(outer.began);
    now.rounds.set(outer.rounds);
    now.overdue.set(outer.overdue);
    now.waits.take()
}

/// Runs something short that cannot let others go on, on a budget of its own.
pub(crate) fn alone<T>(most: Duration, work: impl FnOnce() -> T) -> T {
    let budget = Rc::new(Budget::new(most));
    let outer = NOW.with(|now| enter(now, &budget));
    let result = effort::in_one_go(work);
    NOW.with(|now| leave(now, outer, None));
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
        NOW.with(|now| leave(now, outer, Some(&Turns::default())));
        rounds
    }

    #[test]
    fn a_stretch_without_a_turn_ends_and_the_request_has_failed() {
        let budget = Rc::new(Budget::default());
        assert!(work(&budget) > 1);
        assert_eq!(budget.failed.get(), Some(Failure::Stretch));
        assert!(budget.spent.get() >= budget.stretch());
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
        assert!(alone(DEFAULT, || effort::spend(5).is_ok()));
        NOW.with(|now| assert!(now.budget.borrow().as_ref().is_some_and(|now| Rc::ptr_eq(now, &budget))));
        NOW.with(|now| leave(now, outer, Some(&Turns::default())));
        NOW.with(|now| assert!(now.budget.borrow().is_none()));
    }
}
