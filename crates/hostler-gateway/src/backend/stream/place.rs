//! A request's connection, while nobody speaks over it: before its conversation begins, and when it is abandoned.

use super::connection::Unsent;
use super::link::Links;
use super::seat::Seat;
use super::socket::Socket;
use super::{Protocol, Streams, Work};
use crate::backend::{AbandonedState, Place};
use bytes::Bytes;
use rustix::io::Errno;
use std::sync::Arc;

/// Bytes that are passed over whenever it is looked: a program that says ever more holds nobody up.
const LOOKED_AT: usize = 512 << 10;
/// Bytes read at once.
const PIECE: usize = 32 << 10;

/// The connection, taken out of its seat.
pub struct OpenSeat<P: Protocol> {
    pub(super) seat: Arc<Seat>,
    /// `None`: it is closed.
    pub(super) socket: Option<Socket>,
    pub(super) unsent: Unsent,
    pub(super) answer: P::Answer,
    /// Bytes that have arrived and were not interpreted yet.
    pub(super) pending: Bytes,
    /// Nothing of the request has been sent.
    pub(super) untouched: bool,
    /// All of the request is in [`Self::unsent`] or has gone.
    pub(super) whole: bool,
}

impl<P: Protocol> OpenSeat<P> {
    pub(super) fn begin(seat: &Arc<Seat>, work: &Work<P::Ask>) -> Self {
        let socket = seat.take();
        let is_greeted = socket.as_ref().is_some_and(|socket| socket.is_greeted);
        let sent = if is_greeted { P::GREETING.len().min(work.head.len()) } else { 0 };
        Self {
            socket,
            seat: seat.clone(),
            unsent: Unsent::head(work.head.slice(sent..)),
            answer: P::answer(&work.ask),
            pending: Bytes::new(),
            untouched: true,
            whole: !work.has_body,
        }
    }

    /// The connection is the next request's, or closed; whether it is closed.
    pub(super) fn give_back(&mut self) -> bool {
        let is_clean =
            self.whole && self.unsent.is_empty() && self.pending.is_empty() && P::is_over(&self.answer);
        let may_stay = self.untouched || is_clean && self.seat.has_served();
        let socket = self.socket.take().filter(|_| may_stay);
        match socket {
            Some(mut socket) => {
                if !self.untouched {
                    socket.note_user(P::memory_user(&self.answer));
                }
                self.seat.put_back(socket);
                false
            }
            None if P::is_answered(&self.answer) || self.untouched => {
                self.seat.tell_closed();
                true
            }
            None => {
                self.seat.tell_broken();
                true
            }
        }
    }

    /// Reads on and drops what it reads; whether the answer has ended, if only with the connection.
    fn pass_over(&mut self) -> bool {
        let mut bytes = 0;
        while bytes < LOOKED_AT {
            let next = P::next(&mut self.answer, &mut self.pending);
            P::reply(&mut self.answer, self.unsent.buffer());
            if self.unsent.is_too_much() {
                return true;
            }
            match next {
                Ok(Some(super::Event::End { .. })) => return true,
                Ok(Some(_)) => continue,
                Ok(None) => {}
                Err(_) => return true,
            }
            let Some(socket) = &mut self.socket else { return true };
            match socket.receive(PIECE) {
                Ok(piece) if !piece.is_empty() => {
                    bytes += piece.len();
                    self.pending = piece;
                }
                Err(Errno::AGAIN) => return false,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return true,
            }
        }
        false
    }
}

impl<P: Protocol> Place<Streams<P>> for OpenSeat<P> {
    fn take_back(&mut self) -> bool {
        if self.untouched && self.socket.is_some() {
            self.give_back();
            return true;
        }
        false
    }

    fn abandon(&mut self, runs_on: bool) {
        self.untouched = false;
        if runs_on {
            return;
        }
        // What has begun to be sent would have to be sent to its end before anything else.
        if !self.whole || !self.unsent.is_empty() || P::abort(&mut self.answer, self.unsent.buffer()).is_err()
        {
            self.socket = None;
        }
    }

    fn look(&mut self, _: &Links) -> AbandonedState {
        let broken = match &mut self.socket {
            Some(socket) => self.unsent.flush(|bytes| socket.send(bytes)).is_err(),
            None => true,
        };
        if broken || self.pass_over() {
            return AbandonedState::Ended { exits: self.give_back() };
        }
        AbandonedState::Runs
    }
}
