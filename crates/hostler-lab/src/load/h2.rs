//! The generator for HTTP/2: over TLS that agrees on it, or by prior knowledge (RFC 9113 §3.2, §3.3); one thread, tokio's event loop.
//!
//! Clients are streams; some share a connection, as a browser's requests do. Slower than [`super::http1`], by what
//! frames, header compression and tasks cost. At the end of a closed phase what is under way is not counted, also
//! when another closed phase follows.

mod alarm;
mod client;
mod exchange;
#[cfg(test)]
mod tests;

use super::outcome::Outcome;
use super::plan::{MOST_CLIENTS, Phase, Plan, Target, Think};
use super::schedule::{Arrivals, Clients};
use super::tally::{End, Failure, RequestKind, Tally};
use super::timers::{Moment, SECOND, moment, seconds};
use super::{Cancel, Progress};
use alarm::Alarm;
use anyhow::{Context, Result};
use client::SharedState;
use exchange::Lines;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, LocalSet};

/// Interval at which progress is reported and cancellation checked.
const PROGRESS: Moment = SECOND / 10;

/// Runs a plan.
pub(super) fn run(
    target: &Target,
    plan: &Plan,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<Outcome> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("an event loop")?;
    let shared = Rc::new(SharedState {
        tally: RefCell::new(Tally::new(target, plan)),
        begin: Instant::now(),
        lines: Lines::new(target, plan.keep_alive)?,
        plan: plan.clone(),
        randoms: RefCell::new(Vec::new()),
        free: RefCell::new(Vec::new()),
        left: Cell::new(None),
        wanted: Cell::new(0),
        under_way: Cell::new(0),
        news: Notify::new(),
        fault: RefCell::new(None),
    });
    let local = LocalSet::new();
    let mut driver =
        Driver { shared: Rc::clone(&shared), cancel, progress, next_progress: 0, tasks: Vec::new() };
    let outcome = local.block_on(&runtime, driver.all());
    drop(driver);
    drop(local);
    outcome
}

struct Driver<'a> {
    shared: Rc<SharedState>,
    cancel: &'a Cancel,
    progress: &'a mut Progress<'a>,
    next_progress: Moment,
    tasks: Vec<AbortHandle>,
}

impl Driver<'_> {
    async fn all(&mut self) -> Result<Outcome> {
        let alarm = Alarm::new()?;
        let plan = self.shared.plan.clone();
        if let Some(first) = plan.phases.first().filter(|_| plan.warm_up > 0.0) {
            match first {
                Phase::Closed { clients, think, .. } => {
                    self.clients(&warm_up((*clients).max(1), plan.warm_up, think), &alarm).await?;
                }
                Phase::Open { .. } => {
                    self.open(Arrivals::of(first).map(|all| all.warm_up(plan.warm_up)), &alarm).await?;
                }
            }
            self.dismiss();
        }
        let (begin, used) = (self.shared.now(), super::thread_seconds());
        for phase in &plan.phases {
            if self.is_over() {
                break;
            }
            let open = matches!(phase, Phase::Open { .. });
            self.shared.tally.borrow_mut().phase_begins(self.shared.now(), open);
            let (elapsed, least) = if open {
                (None, self.open(Arrivals::of(phase), &alarm).await?)
            } else {
                (Some(self.clients(phase, &alarm).await?), 0)
            };
            let unanswered = self.dismiss();
            let unanswered = if open { 0 } else { unanswered };
            self.shared.tally.borrow_mut().phase_ends(elapsed, least, unanswered);
        }
        let elapsed = seconds(self.shared.now() - begin);
        let tally = self.shared.tally.replace(Tally::new(&self.shared.lines.target, &plan));
        Ok(tally.into_outcome(elapsed, super::thread_seconds() - used))
    }

    fn is_over(&self) -> bool {
        self.shared.tally.borrow().has_stopped() || self.cancel.load(Ordering::Relaxed)
    }

    /// Ends what is under way: how much that was.
    fn dismiss(&mut self) -> u64 {
        for task in self.tasks.drain(..) {
            task.abort();
        }
        self.shared.left.set(None);
        self.shared.wanted.set(0);
        u64::from(self.shared.under_way.replace(0))
    }

    /// Waits for news, at most until then.
    async fn wait(&mut self, until: Moment, alarm: &Alarm) -> Result<()> {
        let now = self.shared.now();
        let wait = until.min(self.next_progress).saturating_sub(now);
        if wait > 0 {
            tokio::select! {
                () = self.shared.news.notified() => {}
                ended = alarm.after(wait) => ended?,
            }
        } else {
            tokio::task::yield_now().await;
        }
        let now = self.shared.now();
        if now >= self.next_progress {
            self.next_progress = now + PROGRESS;
            self.shared.tally.borrow_mut().tick(now);
            (self.progress)(seconds(now), self.shared.plan.seconds());
            self.tasks.retain(|task| !task.is_finished());
        }
        self.shared.fault.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Runs the clients of a closed phase: how long it took.
    async fn clients(&mut self, phase: &Phase, alarm: &Alarm) -> Result<Moment> {
        let (Some(clients), Phase::Closed { seconds: length, requests, think, .. }) =
            (Clients::of(phase), phase)
        else {
            return Ok(0);
        };
        let begin = self.shared.now();
        let end = length.map_or(Moment::MAX, |length| begin + moment(length));
        self.shared.left.set(*requests);
        let mut joined = 0;
        loop {
            let now = self.shared.now();
            let all_ended = self.shared.left.get() == Some(0) && self.shared.under_way.get() == 0;
            if now >= end || all_ended || self.is_over() {
                return Ok(now.min(end) - begin);
            }
            let at = seconds(now - begin);
            let wanted = clients.at(at);
            self.shared.wanted.set(wanted);
            self.shared.tally.borrow_mut().clients_are(wanted);
            for number in joined..wanted {
                let client = Rc::clone(&self.shared).client(number, think.clone());
                self.tasks.push(tokio::task::spawn_local(client).abort_handle());
            }
            joined = joined.max(wanted);
            let change = clients.next_change(at).map_or(Moment::MAX, |at| begin + moment(at));
            self.wait(change.min(end), alarm).await?;
        }
    }

    /// Runs an open phase, until all of its requests came to an end: how long it was to take, as far as it went.
    async fn open(&mut self, arrivals: Option<Arrivals>, alarm: &Alarm) -> Result<Moment> {
        let Some(mut arrivals) = arrivals else { return Ok(0) };
        let begin = self.shared.now();
        let mut numbers = 0;
        self.shared.free.borrow_mut().clear();
        while !self.is_over() {
            let now = self.shared.now();
            self.shared.tally.borrow_mut().rate_is(arrivals.rate_at(seconds(now - begin)));
            let mut next = arrivals.next().map(|at| begin + moment(at));
            while let Some(at) = next.filter(|at| *at <= now) {
                self.send(at, arrivals.sent(), &mut numbers);
                next = arrivals.next().map(|at| begin + moment(at));
            }
            if next.is_none() && self.shared.under_way.get() == 0 {
                break;
            }
            self.wait(next.unwrap_or(Moment::MAX), alarm).await?;
        }
        Ok(moment(arrivals.seconds()).min(self.shared.now() - begin))
    }

    fn send(&mut self, at: Moment, request: u64, numbers: &mut u32) {
        let free = self.shared.free.borrow_mut().pop();
        let number = match free {
            Some(number) => number,
            None if *numbers < MOST_CLIENTS => {
                *numbers += 1;
                *numbers - 1
            }
            None => {
                let now = self.shared.now();
                let asked = RequestKind { at, client: 0 };
                self.shared.tally.borrow_mut().ended(now, asked, End::Failed(Failure::Connect));
                return;
            }
        };
        // Now already: the task begins when it is its turn.
        let under_way = self.shared.under_way.get() + 1;
        self.shared.under_way.set(under_way);
        self.shared.tally.borrow_mut().clients_are(under_way);
        let shared = Rc::clone(&self.shared);
        let task = tokio::task::spawn_local(async move {
            let host = usize::try_from(request).unwrap_or(0);
            shared.ask(number, host, RequestKind { at, client: 0 }).await;
            shared.free.borrow_mut().push(number);
            shared.tally.borrow_mut().clients_are(shared.under_way.get());
        });
        self.tasks.push(task.abort_handle());
    }
}

fn warm_up(clients: u32, seconds: f64, think: &Think) -> Phase {
    let (seconds, think) = (Some(seconds), think.clone());
    Phase::Closed { clients, to_clients: None, join: None, seconds, requests: None, think }
}
