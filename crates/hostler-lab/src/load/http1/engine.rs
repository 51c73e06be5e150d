//! The event loop: clients, their timers, and what the kernel says of their connections.

use super::answer::LastHead;
use super::request;
use super::slot::{Connector, Slot, State};
use crate::load::plan::{MOST_CLIENTS, Plan, Stop, Target, Think};
use crate::load::tally::{End, Failure, RequestKind, Tally};
use crate::load::timers::{Due, Moment, SECOND, Timers, moment, seconds};
use crate::load::tls::Tls;
use crate::load::{Cancel, Progress};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Events taken from the kernel at once.
const EVENTS: usize = 512;

/// Bytes read at once; all connections share the room.
const READ: usize = 256 << 10;

/// Interval at which progress is reported.
const PROGRESS: Moment = SECOND / 10;

/// The action after the end of a request.
#[derive(Clone, Debug)]
pub(super) enum Mode {
    /// Slots are clients: so many of them, who ask again, until none is `left`.
    Closed { wanted: u32, left: Option<u64>, think: Think },
    /// Slots are free for the next.
    Open,
}

/// The loop.
pub(super) struct Engine<'a> {
    pub(super) tally: Tally,
    pub(super) mode: Mode,
    pub(super) slots: Vec<Slot>,
    /// In open phases: slots without a request.
    pub(super) free: Vec<u32>,
    pub(super) requests: Vec<Box<[u8]>>,
    pub(super) keep_alive: bool,
    pub(super) connector: Connector,
    pub(super) epoll: OwnedFd,
    pub(super) timers: Timers,
    pub(super) patience: Moment,
    pub(super) buffer: Box<[u8]>,
    pub(super) last_head: LastHead,
    /// Number of the phase.
    pub(super) phase: u32,
    /// Requests of this phase that have not come to an end.
    pub(super) under_way: u32,
    plan: &'a Plan,
    begin: Instant,
    events: Vec<epoll::Event>,
    cancel: &'a Cancel,
    progress: &'a mut Progress<'a>,
    next_progress: Moment,
    phase_begin: Moment,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        target: &Target,
        plan: &'a Plan,
        cancel: &'a Cancel,
        progress: &'a mut Progress<'a>,
    ) -> Result<Self> {
        Ok(Self {
            tally: Tally::new(target, plan),
            mode: Mode::Open,
            slots: Vec::new(),
            free: Vec::new(),
            requests: request::all(target, plan.keep_alive),
            keep_alive: plan.keep_alive,
            connector: Connector::new(target.address, Tls::of(target, &[b"http/1.1"])?),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).context("epoll")?,
            timers: Timers::default(),
            patience: moment(plan.timeout),
            buffer: vec![0; READ].into(),
            last_head: LastHead::default(),
            phase: 0,
            under_way: 0,
            plan,
            begin: Instant::now(),
            events: Vec::with_capacity(EVENTS),
            cancel,
            progress,
            next_progress: 0,
            phase_begin: 0,
        })
    }

    /// Nanoseconds since it began.
    pub(super) fn now(&self) -> Moment {
        Moment::try_from(self.begin.elapsed().as_nanos()).unwrap_or(Moment::MAX)
    }

    /// Returns whether the plan is to end: cancelled, or a limit broke.
    pub(super) fn is_over(&self) -> bool {
        self.tally.has_stopped() || self.cancel.load(Ordering::Relaxed)
    }

    /// A phase begins, with at most so many clients.
    pub(super) fn begin(&mut self, mode: Mode, clients: u32) {
        self.phase += 1;
        self.under_way = 0;
        self.patience = self.longest_wait();
        self.phase_begin = self.now();
        self.free.clear();
        if matches!(mode, Mode::Open) {
            self.free.extend((0..self.slots.len()).rev().filter_map(|number| u32::try_from(number).ok()));
        }
        self.mode = mode;
        while self.slots.len() < clients as usize {
            self.add_slot();
        }
    }

    /// Returns how long a request may wait before it is handled as failed. Limits do not apply while warming up.
    fn longest_wait(&self) -> Moment {
        match self.plan.stop {
            Some(Stop::Answer { seconds }) if self.tally.counts() => moment(seconds.min(self.plan.timeout)),
            _ => moment(self.plan.timeout),
        }
    }

    pub(super) fn add_slot(&mut self) -> u32 {
        let number = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(Slot::new(self.plan.seed, number));
        number
    }

    /// Requests of this phase that have not come to an end.
    pub(super) const fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Returns whether a phase of so many requests has had them all.
    pub(super) const fn all_ended(&self) -> bool {
        matches!(self.mode, Mode::Closed { left: Some(0), .. }) && self.under_way == 0
    }

    /// So many clients there are to be now.
    pub(super) fn want(&mut self, clients: u32, now: Moment) -> Result<()> {
        let Mode::Closed { wanted, .. } = &mut self.mode else { return Ok(()) };
        let before = std::mem::replace(wanted, clients);
        self.tally.clients_are(clients);
        if clients < before || before == 0 {
            for slot in self.slots.iter_mut().skip(clients as usize) {
                if slot.state == State::Resting {
                    slot.close();
                }
            }
        }
        for number in before..clients {
            let slot = &self.slots[number as usize];
            if slot.state == State::Resting && slot.wake == 0 {
                self.next(number, now)?;
            }
        }
        Ok(())
    }

    /// Ends all that is under way, without counting it: how much that was.
    pub(super) fn dismiss(&mut self) -> u64 {
        let mut dismissed = 0;
        for slot in &mut self.slots {
            if slot.state != State::Resting {
                dismissed += 1;
                slot.close();
            }
            slot.state = State::Resting;
            slot.armed = false;
            slot.wake = 0;
        }
        self.timers.clear();
        self.under_way = 0;
        dismissed
    }

    /// Does what is due, waits for what comes at most until then, and does it.
    pub(super) fn turn(&mut self, until: Moment) -> Result<()> {
        let mut now = self.now();
        while let Some(due) = self.timers.due(now) {
            self.fire(due, now)?;
            if self.is_over() {
                return Ok(());
            }
        }
        let timer = self.timers.next().unwrap_or(Moment::MAX);
        self.wait(until.min(timer).min(self.next_progress), now)?;
        let events = std::mem::take(&mut self.events);
        for event in &events {
            let (data, flags) = (event.data.u64(), event.flags);
            self.ready(data, flags)?;
        }
        self.events = events;
        now = self.now();
        if now >= self.next_progress {
            self.next_progress = now + PROGRESS;
            self.tally.tick(now);
            let expected = self.expected(now);
            (self.progress)(seconds(now), expected);
        }
        Ok(())
    }

    fn fire(&mut self, due: Due, now: Moment) -> Result<()> {
        match due {
            Due::Wake(number) => {
                let slot = &mut self.slots[number as usize];
                if slot.wake == 0 || slot.wake > now {
                    return Ok(());
                }
                slot.wake = 0;
                let Mode::Closed { wanted, left, .. } = &self.mode else { return Ok(()) };
                if number < *wanted && *left != Some(0) && slot.state == State::Resting {
                    self.ask(number, now, now)?;
                }
                Ok(())
            }
            Due::Expire(number) => self.expire(number, now),
        }
    }

    fn expire(&mut self, number: u32, now: Moment) -> Result<()> {
        let slot = &mut self.slots[number as usize];
        slot.armed = false;
        if slot.state == State::Resting {
            return Ok(());
        }
        if slot.deadline > now {
            slot.armed = true;
            self.timers.set(slot.deadline, Due::Expire(number));
            return Ok(());
        }
        if let Some(Stop::Answer { seconds: limit }) = self.plan.stop
            && limit < self.plan.timeout
            && self.tally.counts()
        {
            self.tally.broke(&format!("an answer took more than {limit} s"));
            return Ok(());
        }
        let connecting = self.slots[number as usize].state == State::Connecting;
        let failure = if connecting { Failure::Connect } else { Failure::Timeout };
        self.finished(number, now, End::Failed(failure))
    }

    /// Waits for events until a moment, to a few microseconds.
    fn wait(&mut self, until: Moment, now: Moment) -> Result<()> {
        let long = until.saturating_sub(now);
        self.events.clear();
        // epoll_wait counts whole milliseconds; the rest is waited for by ppoll, which counts nanoseconds.
        let whole = if long >= SECOND / 500 { long / (SECOND / 1000) - 1 } else { 0 };
        if long > 0 && whole == 0 {
            let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
            match poll(&mut fds, Some(&timespec(long))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e).context("poll"),
            }
        }
        let timeout = timespec(whole * (SECOND / 1000));
        let room = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, room, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(e).context("epoll_wait"),
        }
    }

    /// Sends a request of an open phase, if there is room for it.
    pub(super) fn send(&mut self, at: Moment, now: Moment, number: u64) -> Result<()> {
        let free = self.free.pop();
        let slot = match free {
            Some(slot) => slot,
            None if self.slots.len() < MOST_CLIENTS as usize => self.add_slot(),
            None => {
                self.tally.ended(now, RequestKind { at, client: 0 }, End::Failed(Failure::Connect));
                return Ok(());
            }
        };
        let kinds = self.requests.len() as u64;
        self.slots[slot as usize].request = usize::try_from(number % kinds).unwrap_or(0);
        self.ask(slot, at, now)
    }

    /// Seconds that the plan will have taken, as far as that can be told.
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
    fn expected(&self, now: Moment) -> Option<f64> {
        if let Some(seconds) = self.plan.seconds() {
            return Some(seconds);
        }
        let Mode::Closed { left: Some(left), .. } = self.mode else { return None };
        let done = self.tally.ended_in_phase() as f64;
        let all = done + left as f64 + f64::from(self.under_way);
        let this = seconds(now - self.phase_begin) * all / done.max(1.0);
        let counted = self.phase.saturating_sub(u32::from(self.plan.warm_up > 0.0)) as usize;
        let later =
            self.plan.phases.iter().skip(counted).filter_map(crate::load::Phase::seconds).sum::<f64>();
        (done > 0.0).then_some(seconds(self.phase_begin) + this + later)
    }
}

fn timespec(moment: Moment) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(moment / SECOND).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(moment % SECOND).unwrap_or(0),
    }
}
