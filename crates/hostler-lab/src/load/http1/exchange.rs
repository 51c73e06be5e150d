//! One request: sent, answered, counted; and what its client does next.

use super::answer::Progress;
use super::engine::{Engine, Mode};
use super::slot::{Attempt, State, interest};
use crate::load::tally::{End, Failure, RequestKind};
use crate::load::timers::{Due, Moment};
use anyhow::{Context, Result};
use rustix::event::epoll;
use rustix::io::Errno;

impl Engine<'_> {
    /// Sends a slot's request, which was to be sent `at`.
    pub(super) fn ask(&mut self, number: u32, at: Moment, now: Moment) -> Result<()> {
        let kinds = self.requests.len();
        let slot = &mut self.slots[number as usize];
        if let Mode::Closed { left, .. } = &mut self.mode {
            *left = left.map(|left| left.saturating_sub(1));
            slot.request = number as usize % kinds;
        } else {
            self.tally.clients_are(self.under_way + 1);
        }
        slot.asked = at;
        slot.phase = self.phase;
        slot.retried = false;
        slot.deadline = now + self.patience;
        if !slot.armed {
            slot.armed = true;
            self.timers.set(slot.deadline, Due::Expire(number));
        }
        self.under_way += 1;
        self.transmit(number, now)
    }

    /// Sends it on the connection that there is, or on a new one.
    fn transmit(&mut self, number: u32, now: Moment) -> Result<()> {
        let slot = &mut self.slots[number as usize];
        slot.sent = 0;
        slot.answer.reset();
        if slot.socket.is_some() {
            slot.state = State::Asking;
            return self.push(number, now);
        }
        slot.state = State::Connecting;
        self.tally.connected();
        let socket = match self.connector.connect()? {
            Attempt::Begun(socket) => socket,
            Attempt::Refused => return self.finished(number, now, End::Failed(Failure::Connect)),
        };
        slot.generation = slot.generation.wrapping_add(1);
        let data = u64::from(slot.generation) << 32 | u64::from(number);
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(data), interest()).context("epoll_ctl")?;
        slot.socket = Some(socket);
        self.push(number, now)
    }

    /// Sends what the connection takes of the request.
    fn push(&mut self, number: u32, now: Moment) -> Result<()> {
        let slot = &mut self.slots[number as usize];
        let Some(socket) = &mut slot.socket else { return Ok(()) };
        let request = &self.requests[slot.request];
        while slot.sent < request.len() {
            match socket.send(&request[slot.sent..]) {
                Ok(sent) => {
                    slot.sent += sent;
                    slot.state = State::Asking;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::NOTCONN) if slot.state == State::Connecting => break,
                Err(Errno::INTR) => {}
                Err(_) => return self.lost(number, now),
            }
        }
        Ok(())
    }

    /// The kernel has news of a connection.
    pub(super) fn ready(&mut self, data: u64, flags: epoll::EventFlags) -> Result<()> {
        let number = u32::try_from(data & 0xFFFF_FFFF).unwrap_or(0);
        let Some(slot) = self.slots.get_mut(number as usize) else { return Ok(()) };
        let generation = u32::try_from(data >> 32).unwrap_or(0);
        let Some(socket) = slot.socket.as_mut().filter(|_| slot.generation == generation) else {
            return Ok(());
        };
        // What fails here fails again when it is read.
        let _ = socket.flush();
        if slot.state != State::Resting && slot.sent < self.requests[slot.request].len() {
            let now = self.now();
            self.push(number, now)?;
        }
        let slot = &self.slots[number as usize];
        if slot.generation != generation || slot.state == State::Connecting {
            return Ok(());
        }
        // Only edges are told, so an end that is told with the last bytes is not told again.
        let ends =
            flags.intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        self.pull(number, ends)
    }

    /// Reads what has come; `ends`: and the connection's end after it.
    fn pull(&mut self, number: u32, ends: bool) -> Result<()> {
        loop {
            let slot = &mut self.slots[number as usize];
            let Some(socket) = &mut slot.socket else { return Ok(()) };
            let drained = !ends && !socket.in_records();
            let read = match socket.recv(&mut self.buffer) {
                Ok(read) => read,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(_) => 0,
            };
            if slot.state == State::Resting {
                // Closed by the server between two requests, as it may; or bytes that nobody asked for.
                slot.close();
                return Ok(());
            }
            if read == 0 {
                let now = self.now();
                let slot = &self.slots[number as usize];
                return if slot.answer.ends_here() {
                    self.whole(number, now, false)
                } else {
                    self.lost(number, now)
                };
            }
            match slot.answer.read(&self.buffer[..read], &mut self.last_head) {
                Progress::More if read < self.buffer.len() && drained => return Ok(()),
                Progress::More => {}
                Progress::Whole { used } if used < read => {
                    // More than its length: not what the server said.
                    let now = self.now();
                    return self.finished(number, now, End::Failed(Failure::Wrong));
                }
                Progress::Whole { .. } => {
                    let now = self.now();
                    return self.whole(number, now, true);
                }
                Progress::Wrong => {
                    let now = self.now();
                    return self.finished(number, now, End::Failed(Failure::Wrong));
                }
            }
        }
    }

    /// A whole answer was read; `keep`: the connection stands.
    fn whole(&mut self, number: u32, now: Moment, keep: bool) -> Result<()> {
        let slot = &mut self.slots[number as usize];
        let Some(head) = slot.answer.head() else { return self.lost(number, now) };
        slot.answers += 1;
        // An answer before the whole request leaves the connection in between.
        if !keep || !head.keep || !self.keep_alive || slot.sent < self.requests[slot.request].len() {
            slot.close();
        }
        let bytes = slot.answer.bytes();
        self.finished(number, now, End::Answered { status: head.status, bytes })
    }

    /// The connection went while a request was under way.
    fn lost(&mut self, number: u32, now: Moment) -> Result<()> {
        let slot = &mut self.slots[number as usize];
        if slot.state == State::Connecting {
            return self.finished(number, now, End::Failed(Failure::Connect));
        }
        // RFC 9112 §9.3.1: a kept connection may be closed at any time, so that says nothing about this request.
        if slot.answers > 0 && !slot.answer.has_begun() && !slot.retried {
            slot.retried = true;
            slot.close();
            self.tally.retried();
            return self.transmit(number, now);
        }
        self.finished(number, now, End::Failed(Failure::Broken))
    }

    /// A request came to its end: counted, and its client goes on.
    pub(super) fn finished(&mut self, number: u32, now: Moment, end: End) -> Result<()> {
        let slot = &mut self.slots[number as usize];
        slot.state = State::Resting;
        if matches!(end, End::Failed(_)) {
            slot.close();
            slot.failures = slot.failures.saturating_add(1);
        } else {
            slot.failures = 0;
        }
        let ours = slot.phase == self.phase;
        if ours {
            self.under_way -= 1;
        }
        let (client, counts) = match &self.mode {
            // So many requests are exactly those that this phase sent.
            Mode::Closed { left, .. } => (number, ours || left.is_none()),
            Mode::Open => (0, true),
        };
        if counts {
            self.tally.ended(now, RequestKind { at: slot.asked, client }, end);
        }
        self.next(number, now)
    }

    /// Chooses the next step of a slot without a request.
    pub(super) fn next(&mut self, number: u32, now: Moment) -> Result<()> {
        let slot = &mut self.slots[number as usize];
        let Mode::Closed { wanted, left, think } = &self.mode else {
            self.free.push(number);
            self.tally.clients_are(self.under_way);
            return Ok(());
        };
        if number >= *wanted {
            slot.close();
            return Ok(());
        }
        if *left == Some(0) {
            return Ok(());
        }
        let pause = match slot.back_off() {
            Some(pause) => Some(pause),
            None if slot.answer.head().is_some() => slot
                .random
                .pause(think)
                .map(|pause| Moment::try_from(pause.as_nanos()).unwrap_or(Moment::MAX)),
            None => None,
        };
        match pause {
            Some(pause) => {
                slot.wake = now + pause;
                self.timers.set(slot.wake, Due::Wake(number));
                Ok(())
            }
            None => self.ask(number, now, now),
        }
    }
}
