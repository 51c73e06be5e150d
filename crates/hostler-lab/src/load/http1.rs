//! The generator for HTTP/1.1: one thread, one event loop, no allocation for a request.
//!
//! The meaning of a plan's phases is here; how a request is sent and its answer read is in [`exchange`].

mod answer;
mod connection;
mod engine;
mod exchange;
mod request;
mod slot;

use super::outcome::Outcome;
use super::plan::{Phase, Plan, Target};
use super::schedule::{Arrivals, Clients};
use super::timers::{Moment, moment, seconds};
use super::{Cancel, Progress};
use anyhow::Result;
use engine::{Engine, Mode};

/// Requests of an open phase that are sent before answers are looked at, when the generator is behind.
const BURST: u32 = 128;

/// Runs a plan.
pub(super) fn run(
    target: &Target,
    plan: &Plan,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<Outcome> {
    let slack = rustix::thread::current_timer_slack().ok().and_then(std::num::NonZeroU64::new);
    // Pauses are to end when they should, not up to 50 microseconds later.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let outcome = Engine::new(target, plan, cancel, progress).and_then(|engine| Run { engine, plan }.all());
    let _ = rustix::thread::set_current_timer_slack(slack);
    outcome
}

struct Run<'a> {
    engine: Engine<'a>,
    plan: &'a Plan,
}

impl Run<'_> {
    fn all(mut self) -> Result<Outcome> {
        if let Some(first) = self.plan.phases.first().filter(|_| self.plan.warm_up > 0.0) {
            self.warm_up(first)?;
        }
        let (begin, used) = (self.engine.now(), super::thread_seconds());
        for (number, phase) in self.plan.phases.iter().enumerate() {
            if self.engine.is_over() {
                break;
            }
            let open_next = matches!(self.plan.phases.get(number + 1), Some(Phase::Open { .. }) | None);
            self.engine.tally.phase_begins(self.engine.now(), matches!(phase, Phase::Open { .. }));
            match phase {
                Phase::Closed { .. } => self.closed(phase, open_next)?,
                Phase::Open { .. } => self.open(Arrivals::of(phase), true)?,
            }
        }
        let elapsed = seconds(self.engine.now() - begin);
        Ok(self.engine.tally.into_outcome(elapsed, super::thread_seconds() - used))
    }

    fn warm_up(&mut self, first: &Phase) -> Result<()> {
        match first {
            Phase::Closed { clients, think, .. } => {
                let clients = (*clients).max(1);
                let seconds = Some(self.plan.warm_up);
                let think = think.clone();
                let phase =
                    Phase::Closed { clients, to_clients: None, join: None, seconds, requests: None, think };
                self.clients(&phase).map(|_| ())
            }
            Phase::Open { .. } => {
                self.open(Arrivals::of(first).map(|all| all.warm_up(self.plan.warm_up)), false)
            }
        }
    }

    fn closed(&mut self, phase: &Phase, dismiss: bool) -> Result<()> {
        let elapsed = self.clients(phase)?;
        let unanswered = if dismiss { self.engine.dismiss() } else { 0 };
        self.engine.tally.phase_ends(Some(elapsed), 0, unanswered);
        Ok(())
    }

    /// Runs the clients of a closed phase: how long it took.
    fn clients(&mut self, phase: &Phase) -> Result<Moment> {
        let (Some(clients), Phase::Closed { seconds: length, requests, think, .. }) =
            (Clients::of(phase), phase)
        else {
            return Ok(0);
        };
        let engine = &mut self.engine;
        let begin = engine.now();
        let end = length.map(|length| begin + moment(length));
        engine.begin(Mode::Closed { wanted: 0, left: *requests, think: think.clone() }, clients.most());
        loop {
            let now = engine.now();
            let over = end.is_some_and(|end| now >= end) || engine.all_ended();
            if over || engine.is_over() {
                return Ok(now.min(end.unwrap_or(Moment::MAX)) - begin);
            }
            let at = seconds(now - begin);
            engine.want(clients.at(at), now)?;
            let change = clients.next_change(at).map(|at| begin + moment(at));
            let until = change.unwrap_or(Moment::MAX).min(end.unwrap_or(Moment::MAX));
            engine.turn(until)?;
        }
    }

    /// Runs an open phase, until all of its requests came to an end.
    fn open(&mut self, arrivals: Option<Arrivals>, counts: bool) -> Result<()> {
        let Some(mut arrivals) = arrivals else { return Ok(()) };
        let engine = &mut self.engine;
        let begin = engine.now();
        engine.begin(Mode::Open, 0);
        while !engine.is_over() {
            let now = engine.now();
            engine.tally.rate_is(arrivals.rate_at(seconds(now - begin)));
            let mut next = arrivals.next().map(|at| begin + moment(at));
            let mut burst = 0;
            while let Some(at) = next.filter(|at| *at <= now && burst < BURST) {
                engine.send(at, now, arrivals.sent())?;
                next = arrivals.next().map(|at| begin + moment(at));
                burst += 1;
            }
            if next.is_none() && engine.under_way() == 0 {
                break;
            }
            engine.turn(next.unwrap_or(Moment::MAX))?;
        }
        if counts {
            let planned = moment(arrivals.seconds()).min(engine.now() - begin);
            engine.tally.phase_ends(None, planned, 0);
        }
        engine.dismiss();
        Ok(())
    }
}
